// Chunks with their facts, the wording in which each fact names its key elements, and the vectors of
// passages. Merges are left out, since they can be computed again.
UNWIND range(0, size($ids) - 1) AS place
MATCH (c:Chunk {id: $ids[place], corpus: $corpus})
RETURN c {.*} AS chunk,
       COLLECT {
         MATCH (c)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
         WITH f ORDER BY f.index, f.id
         RETURN {text: f.text,
                 place: f {.start, .end, .heading, .speaker, .when}, names: COLLECT {
           MATCH (f)-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(k:KeyElement)
           WHERE r.from IS NULL
           RETURN [r.surface, k.key] ORDER BY r.surface, k.key
         }}
       } AS facts,
       COLLECT {
         MATCH (c)-[:HAS_PASSAGE]->(p)
         WHERE p.embedding IS NOT NULL
         RETURN p {.start, .end, .embedding} ORDER BY p.start
       } AS passages
ORDER BY place
