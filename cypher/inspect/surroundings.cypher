// surroundings: one key element with its facts and their chunks
// The Table view adds the other key elements of each fact, and how many facts the limit leaves out
// :param corpus => 'demo'
// :param name => 'Charles VII'
// :param limit => 20
MATCH (k:KeyElement {corpus: $corpus})
WHERE $name IN k.aliases
MATCH (c:Chunk)-[has_fact:HAS_ATOMIC_FACT]->(f:AtomicFact)-[names:HAS_KEY_ELEMENT]->(k)
WITH k, names, f, has_fact, c, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS facts
ORDER BY c.title, c.document, c.index, f.index
LIMIT $limit
RETURN k, names, f, has_fact, c,
       COLLECT { MATCH (f)-[:HAS_KEY_ELEMENT]->(n) WHERE n <> k RETURN n.name ORDER BY n.name }
         AS others,
       CASE WHEN facts > $limit THEN toString(facts - $limit) + ' of ' ELSE 'none of ' END
         + toString(facts) + ' facts' AS left_out;
