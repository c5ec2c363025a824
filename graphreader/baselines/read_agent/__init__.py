"""ReadAgent: pages of a text, a gist of each, and pages looked up again for a question.

After "A Human-Inspired Reading Agent with Gist Memory of Very Long Contexts" (Lee et al., 2024):
`pagination` and `gisting` make the gist memory (section 3.1), `look_up` chooses pages of it in
parallel or one after the other (3.2), `steps` and `graph` are the run of one question, `reader` is
ReadAgent itself. Its adaptation to web navigation (appendix) is not in it, on purpose: what is read
here are texts.
"""
