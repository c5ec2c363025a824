// Chunks in full, by their ids, with the number of chunks of their documents.
UNWIND $ids AS id
MATCH (d:Document)-[:HAS_CHUNK]->(c:Chunk {id: id, corpus: $corpus})
RETURN collect(c {
  .id, .index, .tokens, .text,
  document: d.title, document_id: d.id, chunks: COUNT { (d)-[:HAS_CHUNK]->() }
}) AS rows
