// The key elements of a corpus that hold words of each of some full-text queries, and in which wordings,
// in no order: Lucene's scores depend on other corpora, too. What is merged counts as what it went into.
UNWIND range(0, size($queries) - 1) AS place
CALL (place) {
  CALL db.index.fulltext.queryNodes('graphreader_key_element_words', $queries[place],
       {limit: $wide})
  YIELD node AS k
  WHERE k.corpus = $corpus
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH coalesce(a, k) AS node, k
  WITH node, collect(k.aliases) AS wordings
  RETURN collect(node {.id, .name, wordings: wordings}) AS rows
}
RETURN rows
ORDER BY place
