// The key elements of a corpus nearest to each of some vectors, filtered inside the index. A merged
// one is replaced by its target. A corpus without vectors is not searched: Neo4j 2026.08.1 fails
// there on an index of an older version of GraphReader if vectors of other corpora were deleted.
CYPHER 25
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  WITH $vectors[place] AS vector
  WHERE EXISTS { MATCH (k:KeyElement {corpus: $corpus}) WHERE k.embedding IS NOT NULL }
  MATCH (k:KeyElement)
  SEARCH k IN (
    VECTOR INDEX graphreader_key_element_embeddings FOR vector WHERE k.corpus = $corpus LIMIT $wide
  ) SCORE AS score
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH coalesce(a, k) AS k, max(score) AS score
  WHERE EXISTS {
    (k)<-[:HAS_KEY_ELEMENT]-(f)
    WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
  }
  ORDER BY score DESC, k.key
  LIMIT $limit
  RETURN collect(k {.id, .name, cosine: 2 * score - 1}) AS rows
}
RETURN rows
ORDER BY place
