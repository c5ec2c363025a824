// Links the chunks of each document by NEXT in their order, if all of them exist. `version`
// identifies the text and the chunking. Earlier links must have been removed before.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.updated = datetime()
WITH corpus
UNWIND $documents AS row
MATCH (d:Document {id: row.id})-[:HAS_CHUNK]->(c:Chunk)
WHERE c.pending IS NULL
WITH d, row, c ORDER BY c.index
WITH d, row, collect(c) AS chunks
WHERE size(chunks) = row.chunks
SET d.arranged = row.version
WITH chunks
UNWIND range(1, size(chunks) - 1) AS i
WITH chunks[i - 1] AS a, chunks[i] AS b
MERGE (a)-[:NEXT]->(b)
