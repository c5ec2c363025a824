// One key element with its facts, their chunks, and the other key elements in these facts. The Table
// view says how many facts the limit leaves out
// :param corpus => 'demo'
// :param name => 'Saint Michael'
// :param limit => 20
MATCH (k:KeyElement {corpus: $corpus})
WHERE $name IN k.aliases
MATCH (d:Document)-[has_chunk:HAS_CHUNK]->(c:Chunk)-[has_fact:HAS_ATOMIC_FACT]->(f:AtomicFact)-[names:HAS_KEY_ELEMENT]->(k)
WITH d, has_chunk, c, has_fact, f, names, k
ORDER BY d.title, c.index, f.index
LIMIT $limit
MATCH (f)-[also:HAS_KEY_ELEMENT]->(neighbor:KeyElement)
WITH *, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS facts
RETURN d, has_chunk, c, has_fact, f, names, k, also, neighbor,
       CASE WHEN facts > $limit THEN toString($limit) + ' of ' ELSE 'all ' END + toString(facts)
         + ' facts' AS drawn;
