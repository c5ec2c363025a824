// Stores which embedder a corpus uses from now on.
MATCH (c:Corpus {name: $corpus})
SET c.embedding = $embedding, c.dimension = $dimension,
    c.fact_vectors = CASE WHEN $with_facts THEN c.fact_vectors END
