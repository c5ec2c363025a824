"""Decisions and embeddings without a language model: by word overlap, names and rules."""
