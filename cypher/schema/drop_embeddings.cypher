// Drops the vector index of the key elements before it is created anew.
DROP INDEX graphreader_key_element_embeddings IF EXISTS
