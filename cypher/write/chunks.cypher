// Writes chunks of one document; `error` says why a chunk has no facts yet.
MATCH (d:Document {id: $document})
UNWIND $chunks AS row
MERGE (c:Chunk {id: row.id})
SET c.corpus = $corpus, c.document = $document, c.index = row.index, c.text = row.text,
    c.tokens = row.tokens, c.start = row.start, c.end = row.end, c.error = row.error
MERGE (d)-[:HAS_CHUNK]->(c)
