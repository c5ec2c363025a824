"""Readers without a graph, to compare GraphReader with: all answer behind the `Reader` protocol."""
