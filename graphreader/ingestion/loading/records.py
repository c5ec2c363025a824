"""The parser of JSON, by the standard library."""

import json
import re

from graphreader.ingestion.loading.content import Content, read_text

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|.)"
)


def read_json(data: bytes, shown: str) -> Content:
    r"""Read JSON as plain text, with letters in place of their escapes (`\u00e9`)."""
    plain = read_text(data, shown)
    text = _ESCAPE.sub(_unescaped, plain.text)
    return Content(text, skipped=plain.skipped, encoding=plain.encoding, notes=plain.notes)


def _unescaped(match: re.Match[str]) -> str:
    if match[0][1] != "u":
        return match[0]
    char = str(json.loads(f'"{match[0]}"'))
    return char if char.isprintable() and char not in '"\\' else match[0]
