// Stores by which version of the terms a corpus is indexed, and that all its chunks have passages.
MATCH (c:Corpus {name: $corpus})
SET c.terms = $terms, c.passages = true
REMOVE c.fact_vectors  // of earlier versions
