// The facts of a document, by chunk, with what is known of their sentences.
MATCH (d:Document {id: $document, corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
WHERE c.pending IS NULL AND c.retired IS NULL
MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
WITH d, c, f ORDER BY c.index, f.index
RETURN c {.id, .index, .start, .heading_path, document: d.title, document_id: d.id} AS chunk,
       collect(f {.id, .index, .text, .start, .end, .heading, .speaker, .when}) AS facts
