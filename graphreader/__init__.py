"""GraphReader: questions about texts far larger than a model's window."""
