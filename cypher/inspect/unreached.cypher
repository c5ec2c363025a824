// What no run has reached: facts in chunks that no run has read, of key elements that no run has
// visited (the first 100)
// :param corpus => 'demo'
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
WHERE NOT EXISTS { (c)<-[:STEP|CITED]-(:Run) }
  AND NOT EXISTS { (f)-[:HAS_KEY_ELEMENT]->(:KeyElement)<-[:STEP]-(:Run) }
RETURN d.title AS document, c.index AS chunk, f.text AS fact,
       COLLECT { MATCH (f)-[:HAS_KEY_ELEMENT]->(k) RETURN k.name ORDER BY k.name } AS key_elements
ORDER BY document, chunk, f.index
LIMIT 100;
