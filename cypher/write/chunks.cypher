// Writes chunks of one document; `error` says why a chunk has no facts yet. A document that is gone
// or going takes no more.
MATCH (d:Document {id: $document})
WHERE d.deleting IS NULL
UNWIND $chunks AS row
MERGE (c:Chunk {id: row.id})
SET c.corpus = $corpus, c.document = $document, c.index = row.index, c.text = row.text,
    c.tokens = row.tokens, c.start = row.start, c.end = row.end, c.error = row.error
MERGE (d)-[:HAS_CHUNK]->(c)
