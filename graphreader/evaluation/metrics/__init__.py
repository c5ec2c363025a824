"""Metrics of the papers as in their published code, without a model and without downloads."""
