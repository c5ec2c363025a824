// The documents of a corpus with chunks without facts, with the number and size of these chunks.
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
WHERE c.error IS NOT NULL AND c.retired IS NULL AND d.deleting IS NULL
RETURN d.id AS id, d.title AS title, count(c) AS failed, sum(c.tokens) AS tokens
ORDER BY title, id
