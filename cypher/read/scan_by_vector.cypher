// The key elements of a corpus, or of a scope in it, nearest to each of some vectors, by comparison with
// all of them. A merged one is replaced by its target.
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  CALL () {
    WITH 1 AS whole
    WHERE $scope IS NULL
    MATCH (k:KeyElement {corpus: $corpus})
    WHERE k.embedding IS NOT NULL
    RETURN k
  UNION ALL
    UNWIND $scope AS id
    MATCH (:Document {id: id, corpus: $corpus})-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->()
          -[:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(k)
    WITH DISTINCT k
    WHERE k.embedding IS NOT NULL
    RETURN k
  }
  WITH k, vector.similarity.cosine(k.embedding, $vectors[place]) AS score
  ORDER BY score DESC, k.key
  LIMIT $wide
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
