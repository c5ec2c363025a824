// Vectors of the passages, as those of the key elements.
CYPHER 25
CREATE VECTOR INDEX graphreader_passage_embeddings IF NOT EXISTS
FOR (n:Passage) ON n.embedding
WITH [n.corpus]
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}
