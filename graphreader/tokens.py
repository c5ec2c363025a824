"""Counting and cutting text in tokens of o200k_base, with ranks that ship with the package.

tiktoken would download its ranks at run time; here nothing is fetched. It does not count the
framing of chat messages: that belongs to whoever sends them.
"""

import re
from base64 import b64decode
from functools import cache
from importlib.resources import files
from itertools import pairwise

import tiktoken

# How o200k_base cuts text into words before merging bytes, as tiktoken defines it.
_WORDS = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)

# tiktoken panics on some 400,000 spaces in a row: such runs are counted in parts.
_MUCH_SPACE = re.compile(r"\s{100000}")


@cache
def encoding() -> tiktoken.Encoding:
    """The o200k_base encoding, read from the package once a process (about 0.4 s)."""
    lines = (files("graphreader") / "tiktoken_ranks" / "o200k_base.tiktoken").read_bytes()
    ranks = {
        b64decode(token): int(rank)
        for token, rank in (line.split() for line in lines.splitlines() if line)
    }
    return tiktoken.Encoding("o200k_base", pat_str=_WORDS, mergeable_ranks=ranks, special_tokens={})


def count(text: str) -> int:
    """How many tokens `text` has. Text that looks like a special token counts as plain text."""
    cuts = [0, *(match.end() for match in _MUCH_SPACE.finditer(text)), len(text)]
    return sum(len(encoding().encode_ordinary(text[a:b])) for a, b in pairwise(cuts))
