"""Deciding without a model, by word overlap: real, modest, and honest about it."""
