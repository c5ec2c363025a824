// Vectors of the facts. The index contains the corpus, so that a search filters inside it.
CYPHER 25
CREATE VECTOR INDEX graphreader_fact_embeddings IF NOT EXISTS
FOR (n:AtomicFact) ON n.embedding
WITH [n.corpus]
OPTIONS {indexConfig: {`vector.dimensions`: $dimension, `vector.similarity_function`: 'cosine'}}
