"""Makes wordings of one key element one node: by rules, similarity and association."""
