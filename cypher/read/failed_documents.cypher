// The documents of a corpus with chunks without facts.
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
WHERE c.error IS NOT NULL AND c.retired IS NULL AND d.deleting IS NULL
WITH DISTINCT d
RETURN d.id AS id
ORDER BY d.title, id
