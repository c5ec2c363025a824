// The chunks of a document with their status.
MATCH (:Document {id: $document, corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
RETURN c.id AS id, CASE
  WHEN c.retired THEN 'retired'
  WHEN c.error IS NOT NULL THEN 'failed'
  ELSE 'extracted'
END AS status
ORDER BY c.index, c.id
