// Deletes the kept runs of a corpus without documents. Runs in a transaction of its own.
MATCH (r:Run {corpus: $corpus})
WHERE NOT EXISTS { MATCH (:Document {corpus: $corpus}) }
CALL (r) {
  OPTIONAL MATCH (r)-[:HAS_PATH]->()-[:NEXT_STEP*0..]->(step)
  DETACH DELETE r, step
} IN TRANSACTIONS OF 500 ROWS
