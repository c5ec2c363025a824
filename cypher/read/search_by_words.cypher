// The key elements of a corpus whose names hold words of each of some full-text queries. One that is
// merged stands for what it went into.
UNWIND range(0, size($queries) - 1) AS place
CALL (place) {
  CALL db.index.fulltext.queryNodes('graphreader_key_element_words', $queries[place],
       {limit: $wide})
  YIELD node AS k, score
  WHERE k.corpus = $corpus
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH coalesce(a, k) AS k, max(score) AS score
  WITH k.id AS id, k.name AS name, score
  ORDER BY score DESC, id
  LIMIT $limit
  RETURN collect({id: id, name: name}) AS rows
}
RETURN rows
ORDER BY place
