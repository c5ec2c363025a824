// Chunks of documents whose deletion has begun.
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
WHERE d.deleting
RETURN c.id AS id
LIMIT $limit
