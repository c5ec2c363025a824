"""GraphReader as a part of what people already have."""
