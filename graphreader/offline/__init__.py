"""Decisions and vectors without a model: word overlap, names and rules."""
