// The key elements nearest to each of some vectors out of all corpora; the caller keeps those of its
// own and asks for more where too few are left. One that is merged stands for what it went into.
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  CALL db.index.vector.queryNodes('graphreader_key_element_embeddings', $wide, $vectors[place])
  YIELD node AS k, score
  WHERE k.corpus = $corpus
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH coalesce(a, k) AS k, max(score) AS score
  ORDER BY score DESC, k.key
  LIMIT $limit
  RETURN collect(k {.id, .name}) AS rows
}
RETURN rows
ORDER BY place
