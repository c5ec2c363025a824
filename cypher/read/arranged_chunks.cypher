// The chunks of a document's stored text, in order.
MATCH (d:Document {id: $document, corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
WHERE c.pending IS NULL
RETURN c {.*, document: d.title, document_id: d.id} AS chunk
ORDER BY c.start
