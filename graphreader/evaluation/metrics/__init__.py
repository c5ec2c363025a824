"""The papers' metrics, each exact to its published code; no model is asked, nothing is fetched."""
