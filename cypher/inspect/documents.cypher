// documents: the documents of a corpus: their status, size and number of facts
// :param corpus => 'demo'
MATCH (d:Document {corpus: $corpus})
OPTIONAL MATCH (d)-[:HAS_CHUNK]->(c:Chunk)
WITH d, count(c) AS chunks, sum(c.tokens) AS tokens,
     sum(COUNT { (c)-[:HAS_ATOMIC_FACT]->() }) AS facts,
     count(c['error']) AS failed
RETURN d.title AS document, d.complete AS complete, d.language AS language, chunks, tokens, facts,
       failed, d.source AS source
ORDER BY document;
