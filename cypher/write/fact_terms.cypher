// Stores the terms by which facts are searched, and what is known of their sentences, if it is given.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.updated = corpus.updated  // only locks the corpus: its texts stay
WITH corpus
UNWIND $rows AS row
MATCH (f:AtomicFact {id: row.id})
SET f.terms = row.terms
FOREACH (place IN CASE WHEN row.place IS NULL THEN [] ELSE [row.place] END | SET f += place)
