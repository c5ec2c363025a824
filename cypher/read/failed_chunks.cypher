// One document and its chunks without facts.
MATCH (d:Document {id: $document, corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
WHERE c.error IS NOT NULL AND c.retired IS NULL
WITH d, c ORDER BY c.index
RETURN d {.id, .title, .source, .sha256, .language} AS document, d.chunk_tokens AS chunk_tokens,
       COUNT { (d)-[:HAS_CHUNK]->() } AS chunks,
       collect(c {.*, document: d.title, document_id: d.id, source: d.source}) AS failed
