// Writes documents with the status incomplete, and chunks with their facts and key elements, while
// no other writer of the corpus works. A document that is being deleted is left as it is and takes
// no chunks. A new title is also that of the chunks, whose passages are to be indexed again. `error` is the reason why a chunk has no facts.
// Chunks are written with their facts and key elements if all of them are new, else none: a chunk
// that had neither facts nor an error would count as read. A fact refers to key elements by their
// place in $elements, with its wording of each. Key elements of many facts are marked for
// normalization. Returns the new chunks, which had no facts before, and the key elements without a
// vector.
//
// Then links the chunks of each document of $whole by NEXT in their order, if all of them exist;
// earlier links must have been removed. `version` identifies the text and the chunking. Returns the
// documents that are linked. The names of a document with new chunks are to be joined again.
MERGE (corpus:Corpus {name: $corpus})
ON CREATE SET corpus += $record, corpus.created = datetime()
SET corpus.updated = datetime()
WITH corpus
CALL () {
  UNWIND $documents AS row
  MERGE (d:Document {id: row.id})
  ON CREATE SET d.created = datetime()
  WITH d, row WHERE d.deleting IS NULL
  SET d.corpus = $corpus, d.title = row.title, d.terms = row.terms, d.source = row.source,
      d.sha256 = row.sha256, d.language = row.language, d.metadata = row.metadata,
      d.encoding = row.encoding, d.tags = CASE WHEN d.tagged THEN d.tags ELSE row.tags END,
      d.date = CASE WHEN d.tagged THEN d.date ELSE row.date END,
      d.page_starts = row.page_starts, d.headings = row.headings,
      d.heading_starts = row.heading_starts, d.heading_levels = row.heading_levels,
      d.chunk_tokens = $chunk_tokens, d.complete = false,
      d.updated = datetime()
  WITH d
  CALL (d) {
    MATCH (d)-[:HAS_CHUNK]->(c)
    WHERE coalesce(c.title, '') <> d.title
    SET c.title = d.title
    WITH c
    MATCH (c)-[:HAS_PASSAGE]->(p)
    REMOVE p.terms, p.embedding
  }
  RETURN count(*) AS documents
}
CALL () {
  UNWIND $chunks AS row
  MATCH (d:Document {id: row.document})
  WHERE d.deleting IS NULL
    AND NOT EXISTS { (:Chunk {id: row.properties.id})-[:HAS_ATOMIC_FACT]->() }
  RETURN collect({document: d, row: row}) AS new
}
WITH new, size(new) = size($chunks) AS all_new
CALL (new, all_new) {
  UNWIND CASE WHEN all_new THEN new ELSE [] END AS one
  WITH one.document AS d, one.row AS row
  MERGE (c:Chunk {id: row.properties.id})
  ON CREATE SET c.corpus = $corpus, c.document = row.document, c.title = d.title,
                c.pending = row.pending
  MERGE (d)-[:HAS_CHUNK]->(c)
  SET c += row.properties, d.named = null
  RETURN collect({chunk: c, facts: row.facts, passages: row.passages}) AS written
}
CALL (written) {
  UNWIND written AS row
  WITH row.chunk AS c, row.passages AS passages
  UNWIND passages AS passage
  MERGE (p:Passage {id: passage[0]})
  SET p.corpus = $corpus, p.start = passage[1], p.end = passage[2], p.terms = passage[3]
  MERGE (c)-[:HAS_PASSAGE]->(p)
}
CALL (all_new) {
  UNWIND CASE WHEN all_new THEN $elements ELSE [] END AS row
  MERGE (k:KeyElement {id: row[0]})
  ON CREATE SET k.corpus = $corpus, k.corpus_word = $corpus_word, k.key = row[1],
                k.name = row[2][0], k.aliases = row[2],
                k.stale = CASE WHEN size(row[2]) > 1 THEN true END
  ON MATCH SET k.stale = CASE
    WHEN size(k.aliases) > 1 OR k.aliases <> row[2] OR k.merged_into IS NOT NULL THEN true
    ELSE k.stale
  END
  RETURN collect(k) AS elements
}
CALL (written, elements) {
  UNWIND written AS row
  WITH elements, row.chunk AS c, row.facts AS facts
  UNWIND facts AS fact
  CREATE (c)-[:HAS_ATOMIC_FACT]->
         (f:AtomicFact {id: fact[0], corpus: $corpus, text: fact[1], terms: fact[2],
                        index: fact[3]})
  SET f += fact[5]
  WITH elements, f, fact
  UNWIND fact[4] AS name
  WITH f, elements[name[0]] AS k, name[1] AS surface
  CREATE (f)-[:HAS_KEY_ELEMENT {surface: surface}]->(k)
  RETURN count(*) AS names
}
CALL (names, elements) {
  UNWIND elements AS k
  WITH k
  WHERE k.frequent IS NULL
    AND COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } + COUNT { (k)<-[:MERGED_KEY_ELEMENT]-() } >= $frequent
  SET k.frequent = true
  RETURN count(k) AS marked
}
CALL (marked) {
  UNWIND $whole AS row
  MATCH (d:Document {id: row.id})-[:HAS_CHUNK]->(c:Chunk)
  WHERE c.pending IS NULL
  WITH d, row, c ORDER BY c.index
  WITH d, row, collect(c) AS chunks
  WHERE size(chunks) = row.chunks
  SET d.arranged = row.version
  WITH d, chunks
  CALL (chunks) {
    UNWIND range(1, size(chunks) - 1) AS i
    WITH chunks[i - 1] AS a, chunks[i] AS b
    MERGE (a)-[:NEXT]->(b)
  }
  RETURN collect(d.id) AS arranged
}
RETURN [one IN new | one.row.properties.id] AS new, arranged,
       [k IN elements WHERE k.embedding IS NULL | k.id] AS lacking
