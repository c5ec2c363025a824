// The key elements of a corpus nearest to each of some vectors, filtered inside the index. A merged
// one is replaced by its target.
CYPHER 25
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  WITH $vectors[place] AS vector
  MATCH (k:KeyElement)
  SEARCH k IN (
    VECTOR INDEX graphreader_key_element_embeddings FOR vector WHERE k.corpus = $corpus LIMIT $wide
  ) SCORE AS score
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH coalesce(a, k) AS k, max(score) AS score
  ORDER BY score DESC, k.key
  LIMIT $limit
  RETURN collect(k {.id, .name}) AS rows
}
RETURN rows
ORDER BY place
