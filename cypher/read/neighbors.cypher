// The key elements that share a fact with a key element: those that share most, then the rarest.
MATCH (k:KeyElement {id: $id, corpus: $corpus})<-[:HAS_KEY_ELEMENT]-(f:AtomicFact)
WITH k, f LIMIT $facts
MATCH (f)-[:HAS_KEY_ELEMENT]->(n:KeyElement)
WHERE n <> k AND NOT n.id IN $visited
WITH n, count(f) AS shared
RETURN n.id AS id, n.name AS name, shared, COUNT { (n)<-[:HAS_KEY_ELEMENT]-() } AS facts
ORDER BY shared DESC, facts, name
LIMIT $limit
