"""What counts as a word where pages are measured.

Words stand between white space, as the paper counts them. Chinese and Japanese have none: each of
their characters counts, their punctuation does not. What runs on for more than 40 characters, such
as a long address or a text without any space, counts a word for each 40: else it would be a page
without end.
"""

import re

LONGEST = 40

_SIGNS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_MARKS = "\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65“”…—"
WORD = re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}{_MARKS}]{{1,{LONGEST}}}")


def words_in(text: str) -> int:
    """How many words `text` has."""
    return sum(1 for _ in WORD.finditer(text))
