"""From files to a graph: loading, chunking, extraction, normalization, writing."""
