"""Models: decisions, requests to chat models, and their cost."""
