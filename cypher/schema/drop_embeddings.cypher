// Drops the vector index of the key elements before one of another dimension is created.
DROP INDEX graphreader_key_element_embeddings IF EXISTS
