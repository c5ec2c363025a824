// The passages of documents that have no vector yet, as (id, start, end), with their chunks.
UNWIND $documents AS document
MATCH (d:Document {id: document, corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_PASSAGE]->(p)
WHERE p.embedding IS NULL
WITH d, c, p ORDER BY c.index, p.start
RETURN c {.*, document: d.title, document_id: d.id} AS chunk,
       collect([p.id, p.start, p.end]) AS passages
