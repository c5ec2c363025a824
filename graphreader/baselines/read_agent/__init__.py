"""ReadAgent: pages of a text, a gist of each, and pages looked up again for a question.

After "A Human-Inspired Reading Agent with Gist Memory of Very Long Contexts" (Lee et al., 2024).
`pages` cuts the text and `gists` makes the gist memory (section 3.1); `look_up` chooses pages of
it, in parallel or one after the other (3.2); `reader` answers a question. The paper's web
navigation (appendix) is left out, since only texts are read here.
"""
