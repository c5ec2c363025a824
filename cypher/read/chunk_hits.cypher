// Chunks in full, by their ids.
UNWIND $ids AS id
MATCH (d:Document)-[:HAS_CHUNK]->(c:Chunk {id: id, corpus: $corpus})
RETURN collect(c {.*, document: d.title, document_id: d.id, source: d.source}) AS rows
