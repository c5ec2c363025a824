// Writes chunks; `error` is the reason why one has no facts. A deleted document, or one that is
// being deleted, takes no chunks. Returns the chunks that have no facts yet.
UNWIND $chunks AS row
MATCH (d:Document {id: row.document})
WHERE d.deleting IS NULL
MERGE (c:Chunk {id: row.id})
ON CREATE SET c.corpus = $corpus, c.document = row.document, c.title = d.title, c.text = row.text,
              c.tokens = row.tokens, c.pending = row.pending
MERGE (d)-[:HAS_CHUNK]->(c)
WITH c, row WHERE NOT EXISTS { (c)-[:HAS_ATOMIC_FACT]->() }
SET c.index = row.index, c.start = row.start, c.end = row.end, c.error = row.error
RETURN c.id AS id
