// Moves facts of merged key elements to the targets, up to a limit. The extracted relationship is
// kept as MERGED_KEY_ELEMENT. A fact that names several elements of one group is moved by the first
// of them.
UNWIND $ids AS id
MATCH (b:KeyElement {id: id})<-[r:HAS_KEY_ELEMENT]-(f:AtomicFact)
MATCH (a:KeyElement {id: b.merged_into})
WITH a, b, r, f LIMIT $limit
CALL (a, b, r, f) {
  WITH a, b, r, f WHERE r.from IS NULL
  MERGE (f)-[m:MERGED_KEY_ELEMENT]->(b)
  SET m.surface = r.surface
  MERGE (f)-[s:HAS_KEY_ELEMENT]->(a)
  WITH b, r, s WHERE s.surface IS NULL OR s.from > b.id
  SET s.surface = r.surface, s.from = b.id
}
DELETE r
RETURN count(*) AS moved
