// All corpora, with their numbers of documents and chunks. The properties of a corpus that another
// transaction deletes meanwhile are null: its name is read first, and it is left out without one.
MATCH (c:Corpus)
WITH c.name AS corpus, c.decider AS decider, c.embedding AS embedding
WHERE corpus IS NOT NULL
OPTIONAL MATCH (d:Document {corpus: corpus})
WITH corpus, decider, embedding, count(d) AS documents,
     sum(COUNT { (d)-[:HAS_CHUNK]->() }) AS chunks,
     sum(CASE WHEN d.complete THEN 0 WHEN d IS NULL THEN 0 ELSE 1 END) AS incomplete
RETURN corpus, documents, chunks, incomplete, decider, embedding
ORDER BY corpus
