// Chunks with their facts and the vectors of these, and the wording in which each fact names its key elements. Merges are
// left out, since they can be computed again.
UNWIND range(0, size($ids) - 1) AS place
MATCH (c:Chunk {id: $ids[place], corpus: $corpus})
RETURN c {.*} AS chunk,
       COLLECT {
         MATCH (c)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
         WITH f ORDER BY f.index, f.id
         RETURN {text: f.text, embedding: f.embedding,
                 place: f {.start, .end, .heading, .speaker, .when}, names: COLLECT {
           MATCH (f)-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(k:KeyElement)
           WHERE r.from IS NULL
           RETURN [r.surface, k.key] ORDER BY r.surface, k.key
         }}
       } AS facts
ORDER BY place
