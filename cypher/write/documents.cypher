// Begins documents: each is incomplete until it is said to be complete. One that is being deleted
// takes nothing; what is returned are those that were begun.
UNWIND $documents AS row
MERGE (d:Document {id: row.id})
ON CREATE SET d.created = datetime()
WITH d, row WHERE d.deleting IS NULL
SET d.corpus = $corpus, d.title = row.title, d.source = row.source, d.sha256 = row.sha256,
    d.language = row.language, d.metadata = row.metadata, d.page_starts = row.page_starts,
    d.headings = row.headings, d.heading_starts = row.heading_starts,
    d.chunk_tokens = $chunk_tokens, d.complete = false, d.updated = datetime()
RETURN d.id AS id
