"""Experiments that measure readers on questions with known answers, as in the papers."""
