// Stores the terms by which facts are searched.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.updated = datetime()
WITH corpus
UNWIND $rows AS row
MATCH (f:AtomicFact {id: row.id})
SET f.terms = row.terms
