// The number of documents, and of their first chunks the number and the tokens.
MATCH (d:Document {corpus: $corpus})
WHERE $scope IS NULL OR d.id IN $scope
WITH d LIMIT $limit
WITH collect(d) AS ds
CALL (ds) {
  UNWIND ds AS d
  MATCH (d)-[:HAS_CHUNK]->(c:Chunk)
  WHERE c.pending IS NULL AND c.retired IS NULL
  WITH c.tokens AS tokens LIMIT $limit
  RETURN count(tokens) AS chunks, coalesce(sum(tokens), 0) AS tokens
}
RETURN size(ds) AS documents, chunks, tokens
