"""One command each; what they print are ratios of things measured side by side in one run."""
