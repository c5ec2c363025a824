// Drops the vector index before one of another dimension is created.
DROP INDEX graphreader_key_element_embeddings IF EXISTS
