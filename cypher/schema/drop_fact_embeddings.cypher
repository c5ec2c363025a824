// Drops the vector index of the facts before one of another dimension is created.
DROP INDEX graphreader_fact_embeddings IF EXISTS
