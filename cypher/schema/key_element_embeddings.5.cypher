// Vectors of the key elements, of any length: each search compares those of its own. This version cannot
// filter by corpus inside the index.
CREATE VECTOR INDEX graphreader_key_element_embeddings IF NOT EXISTS
FOR (n:KeyElement) ON n.embedding
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}
