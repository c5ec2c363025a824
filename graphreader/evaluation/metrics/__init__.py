"""The papers' metrics, each exact to its published code, without a model and without downloads."""
