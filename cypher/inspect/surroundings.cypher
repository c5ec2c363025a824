// surroundings: one key element with its facts and their chunks
// The Table view begins with how many facts the limit leaves out, and with the other key elements of
// each fact that is drawn
// :param corpus => 'demo'
// :param name => 'Charles VII'
// :param limit => 20
MATCH (k:KeyElement {corpus: $corpus})
WHERE $name IN k.aliases
MATCH (c:Chunk)-[has_fact:HAS_ATOMIC_FACT]->(f:AtomicFact)-[names:HAS_KEY_ELEMENT]->(k)
WITH k, names, f, has_fact, c
ORDER BY c.title, c.document, c.index, f.index
LIMIT $limit
WITH k, names, f, has_fact, c,
     COLLECT { MATCH (f)-[:HAS_KEY_ELEMENT]->(n) WHERE n <> k RETURN n.name ORDER BY n.name } AS others
WITH k, collect({fact: f.text, document: c.title, chunk: c.index, others: others}) AS facts,
     collect([names, f, has_fact, c]) AS drawn, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS found
RETURN toString(found - size(facts)) + ' of ' + toString(found) + ' facts' AS left_out, facts, k, drawn;
