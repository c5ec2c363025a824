// The facts of documents that have no vector yet, with the documents' titles.
UNWIND $documents AS document
MATCH (d:Document {id: document, corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_ATOMIC_FACT]->(f)
WHERE f.embedding IS NULL
RETURN c {.id, .index, .start, document: d.title, document_id: d.id} AS chunk,
  collect(f {.id, .index, .text}) AS facts
