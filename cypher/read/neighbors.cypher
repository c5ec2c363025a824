// The key elements that share a fact with a key element: first those with facts in chunks that are
// not read yet, then those that share most, then the rarest.
MATCH (k:KeyElement {id: $id, corpus: $corpus})<-[:HAS_KEY_ELEMENT]-(f:AtomicFact)
WITH k, f LIMIT $facts
MATCH (f)-[:HAS_KEY_ELEMENT]->(n:KeyElement)
WHERE n <> k AND NOT n.id IN $visited
WITH n, count(f) AS shared
WITH n, shared, COUNT { (n)<-[:HAS_KEY_ELEMENT]-() } AS facts, EXISTS {
  MATCH (n)<-[:HAS_KEY_ELEMENT]-()<-[:HAS_ATOMIC_FACT]-(c:Chunk) WHERE NOT c.id IN $read
} AS unread
ORDER BY unread DESC, shared DESC, facts, n.name
LIMIT $limit
RETURN n.id AS id, n.name AS name, unread
