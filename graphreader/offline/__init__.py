"""Decisions and vectors without a language model: word overlap, names and rules."""
