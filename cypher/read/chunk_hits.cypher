// Chunks in full, by their ids, each with some of its facts by their indexes.
UNWIND $chunks AS row
MATCH (d:Document)-[:HAS_CHUNK]->(c:Chunk {id: row.id, corpus: $corpus})
RETURN collect({
  chunk: c {.*, document: d.title, document_id: d.id, source: d.source},
  facts: COLLECT {
    MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
    WHERE f.index IN row.facts
    RETURN f {.id, .index, .text, .start, .end, .heading, .speaker, .when}
  }
}) AS rows
