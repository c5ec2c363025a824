"""One model service: how long, how often, how many at once, and what its failures mean."""
