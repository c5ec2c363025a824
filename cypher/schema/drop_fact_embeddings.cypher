// Drops the vector index of the facts before it is created anew.
DROP INDEX graphreader_fact_embeddings IF EXISTS
