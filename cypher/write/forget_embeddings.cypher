// Removes every vector of a corpus and its similar pairs, in batches. Runs in a transaction of its
// own.
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
