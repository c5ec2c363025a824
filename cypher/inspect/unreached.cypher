// unreached: facts that no run has come near (the first 100)
// Their chunks were not read, and their key elements not visited
// :param corpus => 'demo'
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
WHERE NOT EXISTS { (c)<-[:AT|CITED]-() }
  AND NOT EXISTS { (f)-[:HAS_KEY_ELEMENT]->()<-[:AT]-() }
RETURN d.title AS document, c.index AS chunk, f.text AS fact,
       COLLECT { MATCH (f)-[:HAS_KEY_ELEMENT]->(k) RETURN k.name ORDER BY k.name } AS key_elements
ORDER BY document, chunk, f.index
LIMIT 100;
