// Vectors of the key elements. This version cannot filter by corpus inside the index.
CREATE VECTOR INDEX graphreader_key_element_embeddings IF NOT EXISTS
FOR (n:KeyElement) ON n.embedding
OPTIONS {indexConfig: {`vector.dimensions`: $dimension, `vector.similarity_function`: 'cosine'}}
