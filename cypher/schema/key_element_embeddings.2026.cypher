// Vectors of the key elements. The index contains the corpus, so that a search filters inside it.
CYPHER 25
CREATE VECTOR INDEX graphreader_key_element_embeddings IF NOT EXISTS
FOR (n:KeyElement) ON n.embedding
WITH [n.corpus]
OPTIONS {indexConfig: {`vector.dimensions`: $dimension, `vector.similarity_function`: 'cosine'}}
