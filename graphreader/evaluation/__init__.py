"""Readers measured on questions whose answers are known, as the papers do it."""
