// All corpora, with their numbers of documents and chunks.
MATCH (c:Corpus)
OPTIONAL MATCH (d:Document {corpus: c.name})
WITH c, count(d) AS documents,
     sum(COUNT { (d)-[:HAS_CHUNK]->() }) AS chunks,
     sum(CASE WHEN d.complete THEN 0 WHEN d IS NULL THEN 0 ELSE 1 END) AS incomplete
RETURN c.name AS corpus, documents, chunks, incomplete, c.decider AS decider,
       c.embedding AS embedding
ORDER BY corpus
