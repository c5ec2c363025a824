// Drops the vector index of facts of earlier versions.
DROP INDEX graphreader_fact_embeddings IF EXISTS
