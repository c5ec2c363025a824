"""Ingestion of texts into the graph: loading, chunking, extraction, embedding, normalization."""
