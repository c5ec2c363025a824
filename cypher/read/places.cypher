// The first chunks of a corpus in the order of their documents' titles, without their text, as lists:
// id, document's id, index, tokens. Only of the documents $documents, if it is a list.
MATCH (d:Document {corpus: $corpus})
WHERE ($documents IS NULL OR d.id IN $documents) AND ($scope IS NULL OR d.id IN $scope)
WITH d ORDER BY d.title, d.source
MATCH (d)-[:HAS_CHUNK]->(c:Chunk)
WHERE c.pending IS NULL AND c.retired IS NULL
WITH d, c ORDER BY d.title, d.source, c.index LIMIT $limit
RETURN collect([c.id, d.id, c.index, c.tokens]) AS rows
