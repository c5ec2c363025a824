"""Readers without a graph, to compare GraphReader with; all implement the `Reader` protocol."""
