"""Ranges of Chinese, Japanese and Korean characters, for the character classes of patterns.

Terms, ids of key elements and ends of chunks depend on these ranges, so each purpose keeps its own.
"""

import re

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Han characters of the basic plane, by which terms and keys are made."""

ALL_HAN = HAN + "\U00020000-\U0003fffd"
"""Han characters with the rare characters of the further planes, for words."""

EAST_ASIAN = "\u3400-\u4dbf\u4e00-\ufaff\U00020000-\U0003fffd"
"""Han characters and all between them and their compatibility forms, such as Hangul and Yi: here
sentences end without a space."""

HAN_BLOCK = "\u3400-\u9fff"
"""Han characters without compatibility forms, and the hexagrams among them, for quotes."""

KANA = "\u3040-\u30ff"
HANGUL = "\uac00-\ud7af"
FULL_WIDTH_SIGNS = "\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65“”…—"
"""Punctuation that Chinese and Japanese write between their characters."""

HAN_RUN = re.compile(f"[{HAN}]+")


def han_characters(text: str) -> list[str]:
    """List all Han characters of the text, in order."""
    return [character for run in HAN_RUN.findall(text) for character in run]


def han_pairs(text: str) -> list[str]:
    """List all pairs of adjacent Han characters; a single character stands for itself."""
    pairs: list[str] = []
    if text.isascii():
        return pairs
    for run in HAN_RUN.findall(text):
        pairs.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return pairs
