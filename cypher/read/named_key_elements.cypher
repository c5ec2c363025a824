// For each of some full-text queries the key elements that match it, and the key element with the id
// beside it, with all their wordings and the number of their facts. A merged one is replaced by its
// target.
UNWIND range(0, size($queries) - 1) AS place
CALL (place) {
  CALL (place) {
    CALL db.index.fulltext.queryNodes('graphreader_key_element_words', $queries[place],
         {limit: coalesce($wide, $limit)})
    YIELD node AS k
    OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
    WITH k, coalesce(a, k) AS node
    WHERE k.corpus = $corpus AND ($scope IS NULL OR EXISTS {
      (node)<-[:HAS_KEY_ELEMENT]-()<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope
    })
    RETURN k LIMIT $limit
  UNION
    MATCH (k:KeyElement {id: $ids[place]})
    RETURN k
  }
  WITH k
  WHERE k.corpus = $corpus
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH DISTINCT coalesce(a, k) AS k
  WHERE EXISTS {
    (k)<-[:HAS_KEY_ELEMENT]-(f)
    WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
  }
  RETURN collect(k {.id, .name, .aliases, facts: COUNT { (k)<-[:HAS_KEY_ELEMENT]-() }}) AS rows
}
RETURN rows
ORDER BY place
