// The key elements of a corpus nearest to each of some vectors, by comparison with all of them. A
// merged one is replaced by its target.
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  MATCH (k:KeyElement {corpus: $corpus})
  WHERE k.embedding IS NOT NULL
  WITH k, vector.similarity.cosine(k.embedding, $vectors[place]) AS score
  ORDER BY score DESC, k.key
  LIMIT $wide
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH coalesce(a, k) AS k, max(score) AS score
  WHERE EXISTS { (k)<-[:HAS_KEY_ELEMENT]-() }
  ORDER BY score DESC, k.key
  LIMIT $limit
  RETURN collect(k {.id, .name, cosine: 2 * score - 1}) AS rows
}
RETURN rows
ORDER BY place
