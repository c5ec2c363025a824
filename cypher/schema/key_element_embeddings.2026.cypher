// Vectors of the key elements, of any length: each search compares those of its own. The index contains
// the corpus, so that a search filters inside it. Vectors are not quantized: with the default of 2026.08.1
// a search fails where all vectors of its length, or of its corpus, were deleted.
CYPHER 25
CREATE VECTOR INDEX graphreader_key_element_embeddings IF NOT EXISTS
FOR (n:KeyElement) ON n.embedding
WITH [n.corpus]
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}
