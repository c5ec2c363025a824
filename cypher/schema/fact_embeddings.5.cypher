// Vectors of the facts. This version cannot filter by corpus inside the index.
CREATE VECTOR INDEX graphreader_fact_embeddings IF NOT EXISTS
FOR (n:AtomicFact) ON n.embedding
OPTIONS {indexConfig: {`vector.dimensions`: $dimension, `vector.similarity_function`: 'cosine'}}
