// Chunks of documents whose delete was begun.
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
WHERE d.deleting
RETURN c.id AS id
LIMIT $limit
