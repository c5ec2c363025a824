"""Token counts of texts in the encodings of models, whose ranks ship with the package."""

import re
from binascii import a2b_base64
from functools import cache
from importlib.resources import files
from itertools import pairwise

import tiktoken
from tiktoken.model import encoding_name_for_model

DEFAULT = "o200k_base"
"""The encoding of OpenAI's models since gpt-4o, and of every model whose encoding is not known."""

# The encodings cut text into words by these patterns of tiktoken before they merge bytes.
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

_EQUIVALENT = {"o200k_harmony": "o200k_base"}  # they differ in special tokens only

# tiktoken panics on about 400,000 spaces in a row: such runs are counted in parts.
_LONG_SPACE = re.compile(r"\s{100000}")


def count(text: str, encoding: str = DEFAULT) -> int:
    """Count the tokens of a text; special tokens count as text. The first call takes 0.2 s."""
    encode = load_encoding(encoding).encode_ordinary
    cuts = [0, *(match.end() for match in _LONG_SPACE.finditer(text)), len(text)]
    return sum(len(encode(text[a:b])) for a, b in pairwise(cuts))


@cache
def encoding_for(model: str) -> str:
    """Name the encoding of a model, whatever its provider and suffix; DEFAULT if not known."""
    for part in re.split("[:/]", model):
        try:
            name = encoding_name_for_model(part)
        except KeyError:
            continue
        name = _EQUIVALENT.get(name, name)
        return name if name in _WORDS else DEFAULT
    return DEFAULT


@cache
def load_encoding(name: str) -> tiktoken.Encoding:
    """Load an encoding by its name from the package, without a download."""
    file = files("graphreader") / "tiktoken_ranks" / f"{name}.tiktoken"
    words = file.read_bytes().split()  # each line is a token in base64 and its rank
    ranks = dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
    return tiktoken.Encoding(name, pat_str=_WORDS[name], mergeable_ranks=ranks, special_tokens={})
