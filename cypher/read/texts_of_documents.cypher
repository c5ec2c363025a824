// The texts of the chunks of documents, in their order.
UNWIND $documents AS document
MATCH (d:Document {id: document, corpus: $corpus})-[:HAS_CHUNK]->(c)
WHERE c.retired IS NULL
WITH document, c.text AS text ORDER BY c.index
RETURN document, collect(text) AS texts
