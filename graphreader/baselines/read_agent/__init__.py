"""ReadAgent: pages of a text, a gist of each page, and a look-up of pages for a question.

After "A Human-Inspired Reading Agent with Gist Memory of Very Long Contexts" (Lee et al., 2024),
without its web navigation, since only texts are read here.
"""
