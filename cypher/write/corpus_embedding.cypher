// Stores which embedder a corpus uses from now on.
MATCH (c:Corpus {name: $corpus})
SET c.embedding = $embedding, c.dimension = $dimension
REMOVE c.passage_vectors
