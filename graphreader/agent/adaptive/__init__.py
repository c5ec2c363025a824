"""Mode `adaptive`: search first, and explore only what is missing."""
