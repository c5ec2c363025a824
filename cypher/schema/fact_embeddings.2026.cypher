// Vectors of the facts, as those of the key elements.
CYPHER 25
CREATE VECTOR INDEX graphreader_fact_embeddings IF NOT EXISTS
FOR (n:AtomicFact) ON n.embedding
WITH [n.corpus]
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}
