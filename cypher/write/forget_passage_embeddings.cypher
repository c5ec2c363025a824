// Removes every vector of the passages of a corpus, in batches. Runs in a transaction of its own.
MATCH (:Document {corpus: $corpus})-[:HAS_CHUNK]->()-[:HAS_PASSAGE]->(p)
WHERE p.embedding IS NOT NULL
CALL (p) {
  OPTIONAL MATCH (c:Corpus {name: $corpus})
  SET c.updated = datetime()
  WITH p
  SET p.embedding = null
} IN TRANSACTIONS OF 5000 ROWS
