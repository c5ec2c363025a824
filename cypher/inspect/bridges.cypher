// bridges: the key elements that connect distant chunks (the first 50)
// :param corpus => 'demo'
MATCH (k:KeyElement {corpus: $corpus})<-[:HAS_KEY_ELEMENT]-(f:AtomicFact)
MATCH (d:Document)-[:HAS_CHUNK]->(c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
WITH k, count(DISTINCT d) AS documents, count(DISTINCT c) AS chunks, count(f) AS facts
WHERE chunks > 1
RETURN k.name AS key_element, documents, chunks, facts
ORDER BY documents DESC, chunks DESC, facts, key_element
LIMIT 50;
