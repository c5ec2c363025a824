// Chunks in full, by their documents and their indexes in them.
UNWIND $documents AS asked
MATCH (d:Document {id: asked.document, corpus: $corpus})-[:HAS_CHUNK]->(c)
WHERE c.index IN asked.chunks AND c.pending IS NULL AND c.retired IS NULL
  AND ($scope IS NULL OR d.id IN $scope)
RETURN collect(c {.*, document: d.title, document_id: d.id, source: d.source}) AS rows
