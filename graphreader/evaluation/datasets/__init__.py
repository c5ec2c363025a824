"""Question sets of published formats, which `load` reads as records."""
