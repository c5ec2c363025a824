// neighbors: the key elements that one key element shares facts with (the first 50)
// :param corpus => 'demo'
// :param name => 'Charles VII'
MATCH (k:KeyElement {corpus: $corpus})<-[:HAS_KEY_ELEMENT]-(f:AtomicFact)-[:HAS_KEY_ELEMENT]->(n)
WHERE $name IN k.aliases
RETURN n.name AS neighbor, count(f) AS shared_facts, collect(f.text)[0] AS example
ORDER BY shared_facts DESC, neighbor
LIMIT 50;
