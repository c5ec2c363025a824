// The ids of the chunks with a fact of one of some key elements, or with a fact or passage that
// matches one of some full-text queries.
CALL () {
  UNWIND $elements AS id
  MATCH (k:KeyElement {id: id, corpus: $corpus})<-[:HAS_KEY_ELEMENT]-(f)<-[:HAS_ATOMIC_FACT]-(c:Chunk)
  WHERE $scope IS NULL OR c.document IN $scope
  RETURN c
UNION
  UNWIND $queries AS query
  CALL db.index.fulltext.queryNodes('graphreader_fact_terms', query, {limit: coalesce($wide, $limit)})
  YIELD node AS f
  MATCH (c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
  WHERE f.corpus = $corpus AND ($scope IS NULL OR c.document IN $scope)
  RETURN c
UNION
  UNWIND $queries AS query
  CALL db.index.fulltext.queryNodes('graphreader_passage_terms', query, {limit: coalesce($wide, $limit)})
  YIELD node AS p
  MATCH (c:Chunk)-[:HAS_PASSAGE]->(p)
  WHERE p.corpus = $corpus AND ($scope IS NULL OR c.document IN $scope)
  RETURN c
}
WITH DISTINCT c
WHERE c.pending IS NULL AND c.retired IS NULL
RETURN collect(c.id) AS rows
