// Key elements by id, with all wordings and the number of facts. A merged one is replaced by its
// target. The rows follow the order of the ids, each once.
UNWIND range(0, size($ids) - 1) AS place
MATCH (k:KeyElement {id: $ids[place], corpus: $corpus})
OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
WITH coalesce(a, k) AS k, min(place) AS place
WITH k, place ORDER BY place
RETURN collect(k {.id, .name, .aliases, facts: COUNT { (k)<-[:HAS_KEY_ELEMENT]-() }}) AS rows
