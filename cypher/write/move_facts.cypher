// Moves facts of merged key elements, so many at most. What extraction said is kept beside, as
// MERGED_KEY_ELEMENT; a fact that names several elements of one group is led there by the first.
UNWIND $ids AS id
MATCH (b:KeyElement {id: id})<-[r:HAS_KEY_ELEMENT]-(f:AtomicFact)
MATCH (a:KeyElement {id: b.merged_into})
WITH a, b, r, f LIMIT $limit
CALL (a, b, r, f) {
  WITH a, b, r, f WHERE r.from IS NULL AND r.linked IS NULL
  MERGE (f)-[m:MERGED_KEY_ELEMENT]->(b)
  SET m.surface = r.surface
  MERGE (f)-[s:HAS_KEY_ELEMENT]->(a)
  WITH b, r, s WHERE s.surface IS NULL OR s.linked OR s.from > b.id
  SET s.surface = r.surface, s.from = b.id
  REMOVE s.linked
}
DELETE r
RETURN count(*) AS moved
