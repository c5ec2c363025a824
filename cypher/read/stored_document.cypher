// One document and its chunks in order, after an interrupted edit with new ones.
MATCH (d:Document {id: $document, corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
WHERE c.retired IS NULL
WITH d, c ORDER BY c.index
RETURN d {.id, .title, .source, .sha256, .language, .metadata} AS document,
       d.chunk_tokens AS chunk_tokens,
       coalesce(d.headings, []) AS headings, coalesce(d.heading_starts, []) AS heading_starts,
       coalesce(d.heading_levels, [heading IN coalesce(d.headings, []) | 1]) AS heading_levels,
       collect(c {.*, document: d.title, document_id: d.id, source: d.source}) AS chunks
