"""Words, sentences and names of English and Chinese text."""
