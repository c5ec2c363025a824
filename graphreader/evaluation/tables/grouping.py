"""Lines in groups, and groups and readers in the order in which the papers' tables have them."""

import re
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from graphreader.evaluation.tables.lines import NATIVE, Line

_Key = TypeVar("_Key", bound=Hashable)

_ORDER = (
    "rag-bm25",
    "rag-embedding",
    "rag-pages-bm25",
    "rag-pages-embedding",
    "full-text",
    "chunk-read",
    "gistmem",
    "read-agent-p",
    "read-agent-s",
    "search-agent",
    "graphreader",
)
_STUDIED = re.compile(
    r"^graphreader-(no-|random-|one-path|nodes-|chunk-)",
)
PAPER, DEFAULT, GOLDEN = "graphreader-paper", "graphreader", "golden"


def grouped(lines: Iterable[Line], key: Callable[[Line], _Key]) -> dict[_Key, list[Line]]:
    """The lines by a key, in the order in which each key comes up first."""
    found: dict[_Key, list[Line]] = {}
    for line in lines:
        found.setdefault(key(line), []).append(line)
    return found


def by_set(lines: Iterable[Line]) -> dict[tuple[str, str], list[Line]]:
    """By dataset and length: by names, and from short to long."""
    found = grouped(lines, lambda line: (line.dataset, line.length))
    return {key: found[key] for key in sorted(found, key=lambda key: (key[0], size(key[1])))}


def by_reader(lines: Iterable[Line]) -> dict[tuple[str, str], list[Line]]:
    """By reader and model, in the order of the papers' tables."""
    found = grouped(lines, lambda line: (line.reader, line.model))
    return {key: found[key] for key in sorted(found, key=lambda key: (place(key[0]), key[1]))}


def by_name(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """By reader alone, all its models together, in the same order."""
    found = grouped(lines, lambda line: line.reader)
    return {reader: found[reader] for reader in sorted(found, key=place)}


def place(reader: str) -> tuple[int, str, tuple[int, ...]]:
    """Where a reader stands: retrieval, whole texts, ReadAgent, agents, GraphReader, golden."""
    numbers = tuple(int(found[:9]) for found in re.findall(r"\d+", reader))
    if reader == GOLDEN:
        return len(_ORDER) + 1, reader, numbers
    kind = max((name for name in _ORDER if reader.startswith(name)), key=len, default="")
    at = _ORDER.index(kind) if kind else len(_ORDER)
    # The paper's mode stands before our default, next to the paper's figures.
    words = "" if reader == PAPER else re.sub(r"\d+", "", reader)
    return at, words, numbers


def is_studied(reader: str) -> bool:
    """Whether a reader is GraphReader with one thing changed, which has tables of its own."""
    return bool(_STUDIED.match(reader))


def size(length: str) -> tuple[int, str]:
    """The length as a number to sort by; native texts come first."""
    found = re.fullmatch(r"(\d{1,9})(k?)", length)
    if length == NATIVE or not found:
        return -1, length
    return int(found[1]) * (1000 if found[2] else 1), length


def window(tokens: int) -> str | None:
    """`4k` for 4,096, `128k` for 128,000, as the paper writes it; None if it is not known."""
    if tokens < 1000:
        return str(tokens) if tokens else None
    unit = 1000 if tokens % 1000 == 0 else 1024
    return f"{tokens / unit:g}k"


def set_name(dataset: str, length: str) -> str:
    """`hotpotqa` or `hotpotqa, 64k`."""
    return dataset if length == NATIVE else f"{dataset}, {length}"
