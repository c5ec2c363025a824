// Writes the passages of chunks with the terms by which they are searched.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.updated = corpus.updated  // only locks the corpus: its texts stay
WITH corpus
UNWIND $rows AS row
MATCH (c:Chunk {id: row.chunk})
UNWIND row.passages AS passage
MERGE (p:Passage {id: passage[0]})
SET p.corpus = $corpus, p.start = passage[1], p.end = passage[2], p.terms = passage[3]
MERGE (c)-[:HAS_PASSAGE]->(p)
