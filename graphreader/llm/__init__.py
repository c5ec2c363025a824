"""Models: what a decision is, how a chat model is asked for it, and what it costs."""
