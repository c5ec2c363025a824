// The frequent key elements that occur in the first facts of some key elements, with a limit of facts
// for each.
UNWIND $ids AS id
CALL (id) {
  MATCH (:KeyElement {id: id, corpus: $corpus})<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-(f:AtomicFact)
  WHERE r.from IS NULL
  RETURN f LIMIT $facts
}
MATCH (f)-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(k:KeyElement)
WHERE r.from IS NULL AND k.frequent AND k.id <> id
RETURN DISTINCT id, k.id AS other
