// Makes room for a vector index of another dimension.
DROP INDEX graphreader_key_element_embeddings IF EXISTS
