// The facts of some chunks of a document, a row a chunk: what each fact names, where it is linked to.
MATCH (:Document {id: $document})-[:HAS_CHUNK]->(c:Chunk)
WITH c ORDER BY c.id SKIP $skip LIMIT $limit
RETURN COLLECT {
  MATCH (c)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
  RETURN {
    id: f.id, text: f.text,
    named: [(f)-[r:HAS_KEY_ELEMENT]->(k) WHERE r.linked IS NULL | k.id],
    linked: [(f)-[r:HAS_KEY_ELEMENT]->(k) WHERE r.linked | [k.id, r.surface]]
  }
} AS facts
