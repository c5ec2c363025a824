// Vectors of the passages, as those of the key elements.
CREATE VECTOR INDEX graphreader_passage_embeddings IF NOT EXISTS
FOR (n:Passage) ON n.embedding
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}
