// Key elements by id, with all wordings and the number of facts. A merged one is replaced by its
// target, and one whose facts are all joined to others by the one that has most of them. The rows follow
// the order of the ids, each once.
UNWIND range(0, size($ids) - 1) AS place
MATCH (k:KeyElement {id: $ids[place], corpus: $corpus})
OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
WITH coalesce(a, k) AS k, place
OPTIONAL CALL (k) {
  WITH k
  WHERE NOT EXISTS { (k)<-[:HAS_KEY_ELEMENT]-() }
  MATCH (k)<-[:MERGED_KEY_ELEMENT]-()-[s:HAS_KEY_ELEMENT]->(n)
  WHERE s.from = k.id
  WITH n, count(*) AS facts
  ORDER BY facts DESC, n.id
  RETURN n LIMIT 1
}
WITH coalesce(n, k) AS k, min(place) AS place
WITH k, place ORDER BY place
RETURN collect(k {.id, .name, .aliases, facts: COUNT { (k)<-[:HAS_KEY_ELEMENT]-() }}) AS rows
