"""Sources become documents, or a sentence about why not."""
