"""Two wordings of one key element become one node: by rule, frequency, likeness, association."""
