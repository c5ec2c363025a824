// The key elements of all corpora nearest to each of some vectors; the caller keeps those of its
// corpus and asks for more if too few remain. A merged one is replaced by its target.
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  CALL db.index.vector.queryNodes('graphreader_key_element_embeddings', $wide, $vectors[place])
  YIELD node AS k, score
  WHERE k.corpus = $corpus
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
