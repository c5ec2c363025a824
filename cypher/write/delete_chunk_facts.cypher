// Deletes the facts of the given chunks, and in the same transaction each key element that no fact
// names any more; the others are to be counted again. To be run in a transaction of its own.
UNWIND $chunks AS id
MATCH (:Chunk {id: id})-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
CALL (f) {
  OPTIONAL MATCH (f)-[:HAS_KEY_ELEMENT]->(k:KeyElement)
  WITH f, collect(k) AS elements
  DETACH DELETE f
  WITH elements
  UNWIND elements AS k
  SET k.stale = true
  WITH k WHERE NOT EXISTS { (k)<-[:HAS_KEY_ELEMENT]-() }
  DELETE k
} IN TRANSACTIONS OF 500 ROWS
