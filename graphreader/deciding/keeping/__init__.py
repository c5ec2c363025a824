"""Decisions that were paid for once are kept, and asked for once however many ask."""
