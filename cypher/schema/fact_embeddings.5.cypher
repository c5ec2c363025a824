// Vectors of the facts, as those of the key elements.
CREATE VECTOR INDEX graphreader_fact_embeddings IF NOT EXISTS
FOR (n:AtomicFact) ON n.embedding
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}
