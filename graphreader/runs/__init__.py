"""Runs that are kept: which there were, how far they are, what was decided in them."""
