// Drops the vector index of the passages before it is created anew.
DROP INDEX graphreader_passage_embeddings IF EXISTS
