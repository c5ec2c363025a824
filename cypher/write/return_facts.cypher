// Gives merged key elements their facts back, up to a limit; a fact that names another element of
// the same group goes to that one.
UNWIND $ids AS id
MATCH (b:KeyElement {id: id})<-[m:MERGED_KEY_ELEMENT]-(f:AtomicFact)
WITH b, m, f LIMIT $limit
CALL (b, m, f) {
  CREATE (f)-[:HAS_KEY_ELEMENT {surface: m.surface}]->(b)
  DELETE m
}
CALL (b, f) {
  MATCH (f)-[s:HAS_KEY_ELEMENT]->(:KeyElement {id: b.merged_into})
  WHERE s.from = b.id
  OPTIONAL MATCH (f)-[o:MERGED_KEY_ELEMENT]->(c:KeyElement)
  WHERE c.merged_into = b.merged_into AND c <> b
  WITH s, o, c ORDER BY c.id LIMIT 1
  SET s.from = c.id, s.surface = o.surface
  WITH s, c WHERE c IS NULL
  DELETE s
}
RETURN count(*) AS moved
