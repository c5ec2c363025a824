// Stores vectors of facts as lists of floats, and that the corpus has some.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.fact_vectors = true, corpus.updated = datetime()
WITH corpus
UNWIND $rows AS row
MATCH (f:AtomicFact {id: row.id})
CALL db.create.setNodeVectorProperty(f, 'embedding', row.vector)
