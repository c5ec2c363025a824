"""A hook of `mkdocs.yml`: links out of docs/, to files that a site does not have, become text."""

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the text of a page without links out of docs/."""
    return _OUTSIDE.sub(r"\1", markdown)
