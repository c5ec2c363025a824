// Marks documents as complete if every chunk of this version exists, in order and with facts; the
// caller has written the vectors. Returns the complete ones.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.updated = datetime()
WITH corpus
UNWIND $documents AS row
MATCH (d:Document {id: row.id})
WHERE d.deleting IS NULL AND d.arranged = row.version
  AND d.sha256 + '/' + toString(d.chunk_tokens) = row.version
  AND COUNT { (d)-[:HAS_CHUNK]->(c:Chunk) WHERE c.error IS NULL } = row.chunks
  AND COUNT { (d)-[:HAS_CHUNK]->() } = row.chunks
SET d.complete = true, d.updated = datetime()
RETURN d.id AS id
