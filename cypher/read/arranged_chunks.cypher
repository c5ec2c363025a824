// The chunks of a document's stored text, in order.
MATCH (:Document {id: $document, corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
WHERE c.pending IS NULL
RETURN c.start AS start, c.text AS text, c.tokens AS tokens
ORDER BY start
