"""The outcome of an action: chunks and facts, lines of text, and the page of a long list."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphreader.documents import ChunkFacts, ChunkRef

_PAGE = re.compile(r"[,，;]?\s*\(?(?:page|第)\s*(\d+)\s*页?\)?\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an action: chunks with some of their facts, lines, and a line of text.

    A line is about the document with the id before it, or about none (""). `id` is the id of the
    one key element or chunk that the action was about. The chunks are shown `in_full` if the action
    named them by their numbers.
    """

    hits: Sequence[ChunkFacts[ChunkRef]] = ()
    text: str = ""
    id: str = ""
    in_full: bool = False
    lines: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of `size` items, from page 1."""

    number: int
    size: int

    @classmethod
    def of(cls, argument: str, size: int) -> "tuple[str, ListPage]":
        """Return an argument without the number of the page at its end, and the page."""
        match = _PAGE.search(argument)
        if match is None:
            return argument.strip(), cls(1, size)
        return argument[: match.start()].strip(), cls(max(1, int(match[1])), size)

    @property
    def skip(self) -> int:
        """The number of items before the page."""
        return (self.number - 1) * self.size

    def range(self, total: int) -> str:
        """The numbers of the items of the page among all: "41 to 80 of 600"; empty for all."""
        if total <= self.size and self.number == 1:
            return ""
        if self.skip >= total:
            return f"page {self.number} is empty"
        return f"{self.skip + 1} to {min(self.skip + self.size, total)} of {total}"

    def more(self, function: str, argument: str, total: int) -> str:
        """Name the action that shows the following page, if there is one."""
        if self.skip + self.size >= total:
            return ""
        following = ", ".join(filter(None, [argument, f"page {self.number + 1}"]))
        return f"More by {function}({following})."


def number_of(number: int, noun: str, most: int | None = None) -> str:
    """A number with its noun: "1 fact", "at least 1000 facts" where only `most` are counted."""
    least = "at least " if number == most else ""
    return f"{least}{number} {noun}{'' if number == 1 else 's'}"
