// shared_facts: the facts that two key elements share, which make them neighbors
// :param corpus => 'demo'
// :param name => 'Charles VII'
// :param other => 'Reims'
MATCH (a:KeyElement {corpus: $corpus})<-[:HAS_KEY_ELEMENT]-(f:AtomicFact)-[:HAS_KEY_ELEMENT]->(b:KeyElement)
WHERE $name IN a.aliases AND $other IN b.aliases
MATCH (d:Document)-[:HAS_CHUNK]->(c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
RETURN f.text AS fact, d.title AS document, c.index AS chunk
ORDER BY document, chunk, f.index;
