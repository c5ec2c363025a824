// The chunks of a document, and whether their facts are still missing.
MATCH (:Document {id: $document})-[:HAS_CHUNK]->(c:Chunk)
RETURN c.id AS id, c.error AS error, coalesce(c.retired, false) AS retired
ORDER BY c.index, c.id
