"""Finding a quoted passage in the text that it is said to come from."""

import re

_ELLIPSIS = re.compile(r"^[\s.…\"'“”‘’]+|[\s…\"'“”‘’]+$")
_SAME = {
    "'": "['‘’]",
    "‘": "['‘’]",
    "’": "['‘’]",
    '"': '["“”]',
    "“": '["“”]',
    "”": '["“”]',
    "-": "[-–—]",
    "–": "[-–—]",
    "—": "[-–—]",
}


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Where `quote` stands in `text` as (start, end), or None.

    White space and the shape of quotation marks and dashes may differ, nothing else: what a model
    made up is not found.
    """
    bare = _ELLIPSIS.sub("", quote)
    if not bare:
        return None
    for exact in (quote.strip(), bare):
        start = text.find(exact)
        if start >= 0:
            return start, start + len(exact)
    pattern = r"\s+".join(
        "".join(_SAME.get(sign, re.escape(sign)) for sign in word) for word in bare.split()
    )
    found = re.search(pattern, text)
    return found.span() if found else None
