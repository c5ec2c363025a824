// Creates documents with the status incomplete. A document that is being deleted is left as it is.
// A new title is also that of the chunks. Returns the documents that were created or updated.
UNWIND $documents AS row
MERGE (d:Document {id: row.id})
ON CREATE SET d.created = datetime()
WITH d, row WHERE d.deleting IS NULL
SET d.corpus = $corpus, d.title = row.title, d.terms = row.terms, d.source = row.source,
    d.sha256 = row.sha256, d.language = row.language, d.metadata = row.metadata,
    d.page_starts = row.page_starts, d.headings = row.headings,
    d.heading_starts = row.heading_starts, d.chunk_tokens = $chunk_tokens, d.complete = false,
    d.updated = datetime()
WITH d
CALL (d) {
  MATCH (d)-[:HAS_CHUNK]->(c)
  WHERE coalesce(c.title, '') <> d.title
  SET c.title = d.title
}
RETURN d.id AS id
