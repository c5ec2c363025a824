// The facts of documents that have no vector yet, with the documents' titles.
UNWIND $documents AS document
MATCH (d:Document {id: document, corpus: $corpus})-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->(f)
WHERE f.embedding IS NULL
RETURN f.id AS id, d.title AS title, f.text AS text
