// What else is named by the first facts of each of some key elements, so many facts of each.
UNWIND $ids AS id
CALL (id) {
  MATCH (:KeyElement {id: id})<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-(f:AtomicFact)
  WHERE r.from IS NULL AND r.linked IS NULL
  RETURN f LIMIT $facts
}
MATCH (f)-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(k:KeyElement)
WHERE r.from IS NULL AND r.linked IS NULL AND k.id <> id
RETURN DISTINCT id, k.id AS other
