// Removes the vectors of facts, which a corpus of an earlier version may have, in batches. Runs in a
// transaction of its own.
MATCH (:Document {corpus: $corpus})-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->(f)
WHERE f.embedding IS NOT NULL
CALL (f) {
  OPTIONAL MATCH (c:Corpus {name: $corpus})
  SET c.updated = datetime()
  WITH f
  SET f.embedding = null
} IN TRANSACTIONS OF 5000 ROWS
