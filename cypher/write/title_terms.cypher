// Stores the terms by which the titles of documents are searched.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.updated = corpus.updated  // only locks the corpus: its texts stay
WITH corpus
UNWIND $rows AS row
MATCH (d:Document {id: row.id})
SET d.terms = row.terms
