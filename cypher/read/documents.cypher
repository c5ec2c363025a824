// The documents of a corpus and how far each one is.
MATCH (d:Document {corpus: $corpus})
OPTIONAL MATCH (d)-[:HAS_CHUNK]->(c:Chunk)
WITH d, count(c) AS chunks, sum(c.tokens) AS tokens,
     sum(CASE WHEN c.error IS NULL THEN 0 ELSE 1 END) AS failed
RETURN d.id AS id, d.title AS title, d.source AS source, d.sha256 AS sha256,
       d.language AS language, d.chunk_tokens AS chunk_tokens, chunks, tokens, failed,
       CASE WHEN d.deleting THEN 'deleting' WHEN d.complete THEN 'complete' ELSE 'incomplete' END
         AS status
ORDER BY title, source
