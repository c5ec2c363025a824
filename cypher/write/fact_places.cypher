// Stores what is known of the sentences of facts, and the terms by which facts are searched.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.updated = corpus.updated  // only locks the corpus: its texts stay
WITH corpus
UNWIND $rows AS row
MATCH (f:AtomicFact {id: row.id})
SET f += row.place, f.terms = row.terms
