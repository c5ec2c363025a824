"""The exploring agent: plan, initial nodes, paths, answer."""
