"""Merging of key elements with the same meaning: by rules, similarity and association."""
