"""Counting text in tokens of a model's encoding, with ranks that ship with the package.

tiktoken would download its ranks at run time; here nothing is fetched, and what is not needed is
not read. Two encodings are here: o200k_base, and cl100k_base for older models of OpenAI. Which
encoding other providers' models have is not known: they are counted in o200k_base. Not counted is
the framing of chat messages: that belongs to whoever sends them.
"""

import re
from base64 import b64decode
from functools import cache
from importlib.resources import files
from itertools import pairwise

import tiktoken
from tiktoken.model import encoding_name_for_model

DEFAULT = "o200k_base"
"""The encoding of OpenAI's models since gpt-4o, and ours wherever a model's own is not known."""

# How the encodings cut text into words before merging bytes, as tiktoken defines it.
_WORDS = {
    "o200k_base": "|".join(
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
    ),
    "cl100k_base": "|".join(
        (
            r"'(?i:[sdmt]|ll|ve|re)",
            r"[^\r\n\p{L}\p{N}]?+\p{L}++",
            r"\p{N}{1,3}+",
            r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
            r"\s++$",
            r"\s*[\r\n]",
            r"\s+(?!\S)",
            r"\s",
        )
    ),
}

_SAME_WORDS = {"o200k_harmony": "o200k_base"}  # they differ in special tokens only

# tiktoken panics on some 400,000 spaces in a row: such runs are counted in parts.
_MUCH_SPACE = re.compile(r"\s{100000}")


def count(text: str, encoding: str = DEFAULT) -> int:
    """How many tokens `text` has. Text that looks like a special token counts as plain text.

    The first count in an encoding reads its ranks (about 0.4 s).
    """
    encode = _opened(encoding).encode_ordinary
    cuts = [0, *(match.end() for match in _MUCH_SPACE.finditer(text)), len(text)]
    return sum(len(encode(text[a:b])) for a, b in pairwise(cuts))


@cache
def encoding_for(model: str) -> str:
    """The encoding of a model ("openai:gpt-4o", "gpt-4"), as far as tiktoken knows and we have it.

    Provider, organization and the marks of a fine-tuned model are looked past.
    """
    for part in re.split("[:/]", model):
        try:
            name = encoding_name_for_model(part)
        except KeyError:
            continue
        name = _SAME_WORDS.get(name, name)
        return name if name in _WORDS else DEFAULT
    return DEFAULT


@cache
def _opened(name: str) -> tiktoken.Encoding:
    """An encoding, read from the package once a process."""
    lines = (files("graphreader") / "tiktoken_ranks" / f"{name}.tiktoken").read_bytes()
    ranks = {
        b64decode(token): int(rank)
        for token, rank in (line.split() for line in lines.splitlines() if line)
    }
    return tiktoken.Encoding(name, pat_str=_WORDS[name], mergeable_ranks=ranks, special_tokens={})
