// One key element with its facts, their chunks, and the other key elements in these facts
// :param corpus => 'demo'
// :param name => 'Saint Michael'
MATCH (k:KeyElement {corpus: $corpus})
WHERE $name IN k.aliases
MATCH (d:Document)-[has_chunk:HAS_CHUNK]->(c:Chunk)-[has_fact:HAS_ATOMIC_FACT]->(f:AtomicFact)-[names:HAS_KEY_ELEMENT]->(k)
WITH d, has_chunk, c, has_fact, f, names, k
ORDER BY c.index, f.index
LIMIT 20
MATCH (f)-[also:HAS_KEY_ELEMENT]->(neighbor:KeyElement)
RETURN d, has_chunk, c, has_fact, f, names, k, also, neighbor;
