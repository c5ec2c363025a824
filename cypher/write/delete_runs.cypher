// Deletes the kept runs of a corpus without documents. Runs in a transaction of its own.
MATCH (r:Run {corpus: $corpus})
WHERE NOT EXISTS { MATCH (:Document {corpus: $corpus}) }
CALL (r) {
  DETACH DELETE r
} IN TRANSACTIONS OF 500 ROWS
