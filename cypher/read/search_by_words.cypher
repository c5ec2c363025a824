// The key elements of a corpus that match each of some full-text queries, with the matching
// wordings, in no order, since Lucene's scores depend on other corpora, too. A merged one is
// replaced by its target; one whose facts are all joined to others is left out.
UNWIND range(0, size($queries) - 1) AS place
CALL (place) {
  CALL db.index.fulltext.queryNodes('graphreader_key_element_words', $queries[place],
       {limit: $wide})
  YIELD node AS k
  WHERE k.corpus = $corpus
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH coalesce(a, k) AS node, k
  WHERE EXISTS { (node)<-[:HAS_KEY_ELEMENT]-() }
  WITH node, collect(k.aliases) AS wordings
  RETURN collect(node {.id, .name, wordings: wordings}) AS rows
}
RETURN rows
ORDER BY place
