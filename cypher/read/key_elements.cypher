// The key elements of a corpus, or of a scope in it, those with the most facts first, without those that
// are joined into others in all of their facts.
CALL () {
  WITH 1 AS whole
  WHERE $scope IS NULL
  MATCH (k:KeyElement {corpus: $corpus})
  WHERE k.merged_into IS NULL AND EXISTS { (k)<-[:HAS_KEY_ELEMENT]-() }
  RETURN k, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS facts
UNION ALL
  UNWIND $scope AS id
  MATCH (:Document {id: id, corpus: $corpus})-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->()
        -[:HAS_KEY_ELEMENT]->(k)
  RETURN k, count(*) AS facts
}
RETURN k.id AS id, k.name AS name, facts
ORDER BY facts DESC, name
LIMIT $limit
