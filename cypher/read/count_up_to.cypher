// The number of key elements of a corpus, or of a scope in it, counted up to a limit and without merged
// ones.
CALL () {
  WITH 1 AS whole
  WHERE $scope IS NULL
  MATCH (k:KeyElement {corpus: $corpus})
  WHERE k.merged_into IS NULL
  RETURN k
UNION ALL
  UNWIND $scope AS id
  MATCH (:Document {id: id, corpus: $corpus})-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->()
        -[:HAS_KEY_ELEMENT]->(k)
  RETURN DISTINCT k
}
WITH k LIMIT $limit
RETURN count(k) AS number
