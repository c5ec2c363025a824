// The facts that name a key element, grouped by chunk, in the order of the texts.
MATCH (k:KeyElement {id: $id, corpus: $corpus})<-[:HAS_KEY_ELEMENT]-(f:AtomicFact)
WITH f LIMIT $limit
MATCH (d:Document)-[:HAS_CHUNK]->(c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
WITH d, c, f ORDER BY f.index
WITH d, c, collect(f.text) AS facts
RETURN c.id AS id, c.index AS index, d.id AS document_id, d.title AS document, facts
ORDER BY document, document_id, index
