// The chunks of a document with their errors, and whether they are retired.
MATCH (:Document {id: $document, corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
RETURN c.id AS id, c.error AS error, coalesce(c.retired, false) AS retired
ORDER BY c.index, c.id
