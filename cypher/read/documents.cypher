// The documents of a corpus with their status, in the order of their titles, as one list.
MATCH (d:Document {corpus: $corpus})
OPTIONAL MATCH (d)-[:HAS_CHUNK]->(c:Chunk)
WITH d, count(c) AS chunks, sum(c.tokens) AS tokens,
     sum(CASE WHEN c.error IS NULL THEN 0 ELSE 1 END) AS failed
ORDER BY d.title, d.source
RETURN collect(d {
  .id, .title, .source, .sha256, .language, .chunk_tokens, chunks: chunks, tokens: tokens, failed: failed,
  encoding: d.encoding, tags: coalesce(d.tags, []), date: coalesce(d.date, ''),
  status: CASE WHEN d.deleting THEN 'deleting' WHEN d.complete THEN 'complete' ELSE 'incomplete' END
}) AS documents
