// Removes every vector of a corpus, and what was found by it, in batches. To be run in a transaction
// of its own.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.embedding IS NOT NULL
CALL (k) {
  OPTIONAL MATCH (c:Corpus {name: $corpus})
  SET c.updated = datetime()
  WITH k
  OPTIONAL MATCH (k)-[l:LIKE]-()
  DELETE l
  SET k.embedding = null
} IN TRANSACTIONS OF 5000 ROWS
