"""A text that is nothing but text."""

from graphreader.ingestion.loading.content import Content
from graphreader.ingestion.loading.encodings import decode


def read_text(data: bytes, shown: str) -> Content:
    """The text as it is: for UTF-8 what `open(path, encoding="utf-8").read()` gives.

    Every line end is a newline, and a byte order mark stays as its first character, so that the
    spans fit what others read. Raises DocumentError where it is binary.
    """
    decoded = decode(data, shown)
    return Content(decoded.text, metadata=decoded.metadata, skipped=decoded.skipped)
