// Stores vectors of passages as lists of floats, and that the corpus has some.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.passage_vectors = true, corpus.updated = datetime()
WITH corpus
UNWIND $rows AS row
MATCH (p:Passage {id: row.id})
CALL db.create.setNodeVectorProperty(p, 'embedding', row.vector)
