// The key elements of a corpus that match each of some full-text queries, with the matching
// wordings, in no order, since Lucene's scores depend on other corpora, too. A merged one is
// replaced by its target; one whose facts are all joined to others is left out.
UNWIND range(0, size($queries) - 1) AS place
CALL (place) {
  CALL db.index.fulltext.queryNodes('graphreader_key_element_words', $queries[place],
       {limit: coalesce($wide, $limit)})
  YIELD node AS k
  WHERE k.corpus = $corpus
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH coalesce(a, k) AS node, k
  WHERE EXISTS {
    (node)<-[:HAS_KEY_ELEMENT]-(f)
    WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
  }
  WITH node, k LIMIT $limit
  WITH node, reduce(all = [], one IN collect(k.aliases) | all + one) AS aliases
  RETURN collect(node {.id, .name, aliases: aliases}) AS rows
}
RETURN rows
ORDER BY place
