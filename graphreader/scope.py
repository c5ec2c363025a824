"""The scope of a question: a choice of the documents from which it may be answered.

It is written as a list of terms, each a document (its id, title or path), a folder, a tag
(`tag:contract`) or a range of dates (`2023-01..2023-06`, open at one side: `2023..`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from graphreader.errors import UsageError

MOST_TERMS = 100  # terms of one scope
MOST_TAGS = 100  # tags of one document
MAX_TAG = 100  # characters

_TAG = "tag:"
_DATE = r"\d{4}(?:-\d{1,2}){0,2}"
_RANGE = re.compile(rf"({_DATE})?\s*\.\.\s*({_DATE})?")
_DATE_FORM = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")


@dataclass(frozen=True, slots=True)
class Scope:
    """A choice of documents; an empty field limits nothing.

    A document is in the scope if it is one of the `documents` (by id, title, path or folder), has
    all the `tags`, and its date lies from `since` to `until`, each an ISO date, month or year. A
    date that is only known to the month or year lies in a range that has some day of it.
    """

    documents: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: str = ""
    until: str = ""

    @classmethod
    def of(cls, terms: "Terms") -> "Scope":
        """Parse the terms of a scope. Raises UsageError, which names a wrong term."""
        if isinstance(terms, Scope):
            return terms
        names: list[str] = []
        tags: list[str] = []
        ranges: list[tuple[str, str]] = []
        for term in [terms] if isinstance(terms, str) else terms:
            text = term.strip()
            if text.casefold().startswith(_TAG):
                tags.append(checked_tag(text[len(_TAG) :]))
            elif text != ".." and (found := _RANGE.fullmatch(text)):
                ranges.append((found[1] or "", found[2] or ""))
            elif text:
                names.append(text)
            else:
                raise UsageError(
                    "A part of the scope is empty: name a document, folder/, tag:NAME or FROM..TO."
                )
        if len(ranges) > 1 or len(names) + len(tags) > MOST_TERMS:
            raise UsageError(
                f"A scope has one range of dates and at most {MOST_TERMS} other parts."
            )
        since, until = (one and checked_date(one) for one in (ranges or [("", "")])[0])
        if until and since[: len(until)] > until:
            raise UsageError(f"The range {since}..{until} ends before it begins: turn it round.")
        return cls(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(tags)), since, until)

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms from which `of` makes this scope."""
        dates = (f"{self.since}..{self.until}",) if self.since or self.until else ()
        return (*self.documents, *(_TAG + one for one in self.tags), *dates)


EVERYTHING = Scope()
"""The scope of all documents of a corpus."""

Terms = Scope | str | Sequence[str]
"""A scope, or its terms."""


def checked_date(text: str) -> str:
    """Return an ISO date, month or year if it exists. Raises UsageError."""
    year, month, day = (*text.strip().split("-"), "01", "01")[:3]
    try:
        if not _DATE_FORM.fullmatch(text.strip()):
            raise ValueError
        date(int(year), int(month), int(day))
    except ValueError:
        raise UsageError(
            f"{text.strip()!r} is no date: write a day as 2023-05-17, a month as 2023-05, a year "
            "as 2023."
        ) from None
    return text.strip()


def checked_tag(text: str) -> str:
    """Return a tag in the form in which tags are compared. Raises UsageError if it is none."""
    if tag := _folded(text):
        return tag
    raise UsageError(
        f"{text.strip()[:MAX_TAG]!r} is no tag: it has 1 to {MAX_TAG} characters and no comma."
    )


def tags_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The tags of a document by its metadata `tags`: a list, or a text with commas."""
    value = next((value for key, value in metadata.items() if key.casefold() == "tags"), ())
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple):
        return ()
    tags = (_folded(str(one)) for one in words if isinstance(one, str | int | float))
    return tuple(dict.fromkeys(filter(None, tags)))[:MOST_TAGS]


def _folded(text: str) -> str:
    """A tag without #, in small letters; empty if it is too long, or several."""
    tag = " ".join(text.split()).removeprefix("#").casefold()
    return tag if len(tag) <= MAX_TAG and "," not in tag and tag.isprintable() else ""
