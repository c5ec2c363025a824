"""From what a model wrote to a decision."""
