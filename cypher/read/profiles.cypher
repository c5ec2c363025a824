// Names and aliases of key elements, and the ids of their facts unless they are too many.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id, corpus: $corpus})
WITH k, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS total
CALL (k, total) {
  MATCH (k)<-[:HAS_KEY_ELEMENT]-(f:AtomicFact)
  WHERE total <= $compared
  RETURN collect(f.id) AS facts
}
RETURN collect(k {.id, .name, .aliases, total, facts}) AS rows
