// Names and aliases of key elements, how many facts they have, the ids of their facts unless they are
// too many, and the titles of the first $titles documents of some facts.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id, corpus: $corpus})
WITH k, CASE WHEN $scope IS NULL THEN COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } ELSE COUNT {
  (k)<-[:HAS_KEY_ELEMENT]-()<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope
} END AS total
CALL (k, total) {
  MATCH (k)<-[:HAS_KEY_ELEMENT]-(f)
  WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
  WITH total, f LIMIT $compared
  MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
  WITH collect(CASE WHEN total <= $compared THEN f.id END) AS fact_ids, collect(DISTINCT c) AS chunks
  CALL (chunks) {
    UNWIND chunks AS c
    WITH DISTINCT c.document AS document
    MATCH (d:Document {id: document})
    WITH DISTINCT d.title AS title
    ORDER BY title LIMIT $titles
    RETURN collect(title) AS titles
  }
  RETURN fact_ids, titles
}
RETURN collect(k {.id, .name, .aliases, total, fact_ids, titles}) AS rows
