"""The context of a chunk in its document: headings, speaker, time, and what a prompt shows besides.

All of it is found by rule in the whole document, so chunks are extracted in parallel. It is no part
of a chunk's id: an edit elsewhere in the document changes it, and no chunk is read again.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, takewhile
from pathlib import PurePath

from graphreader.documents import AtomicFact, Document, Heading, heading_paths
from graphreader.outline import shortened
from graphreader.text.blocks import blocks_of
from graphreader.text.dates import date_of, names_time, when_of
from graphreader.text.document_names import document_names
from graphreader.text.lines import one_line
from graphreader.text.sentences import sentence_spans
from graphreader.text.turns import turns_of
from graphreader.text.words import occurs
from graphreader.tokens import count

NAMES_TOKENS = 200
"""Most tokens of the list of names in a prompt."""

SENTENCES_BEFORE, LOOK_BACK = 2, 600  # sentences of the chunk before, in the characters before it
LONGEST_LINE = 400  # characters of each part of a context in a prompt
_OPENING = 1000  # characters in which the first heading may be the title
_WORD = re.compile(r"[^\W_]+")
_MARKED = 6  # levels of headings that a format marks; others are recognized by their form


class DocumentContext:
    """The context of all chunks of one document; `for_model` also collects what prompts show."""

    def __init__(self, document: Document, *, for_model: bool = True) -> None:
        self.document = document
        self._for_model = for_model
        text, headings = document.text, document.headings
        self._date = date_of(document.metadata)
        self._heading_starts = [one.start for one in headings]
        # The headings over the text before the first heading, and over the text below each.
        self._paths = [(), *heading_paths(headings, self._heading_starts)]
        self._heading_times = list(_times(headings, self._paths[1:], self._date))
        self._turn_starts, self._turn_ends = array("q"), array("q")  # a chat has millions of turns
        self._speakers: list[str] = []
        for turn in turns_of(text, headings):
            self._turn_starts.append(turn.start)
            self._turn_ends.append(turn.end)
            self._speakers.append(turn.speaker)
        self._tables = [one for one in blocks_of(text) if one.kind == "table"] if for_model else []
        self._table_ends = [one.end for one in self._tables]
        self._names: Mapping[str, str] = {}
        if for_model:
            self._names = document_names(f"{self.title}\n\n{text}")
        # There may be thousands: a text without the words of a name is not searched for it.
        self._words_of_names = {
            short: set(filter(str.isascii, _WORD.findall(short))) for short in self._names
        }

    @property
    def title(self) -> str:
        """The title for prompts: of the metadata or the format, else the first heading."""
        document = self.document
        if given := document.metadata.get("title"):
            return str(given)
        first = next(iter(document.headings), None)
        is_marked = first is not None and first.start < _OPENING and first.level <= _MARKED
        is_file_name = document.title == PurePath(document.source).stem
        return first.title if first and is_marked and is_file_name else document.title

    def placed(self, fact: AtomicFact) -> AtomicFact:
        """Add heading, speaker and time to a fact whose sentences are known.

        Its time is that of its own words; where its sentences name none either, that of the heading
        above, else of the metadata where somebody speaks.
        """
        if not fact.span:
            return fact
        start, end = fact.span
        place = bisect_right(self._heading_starts, start) - 1
        is_inside = place >= 0 and self._heading_starts[place] >= fact.chunk.start
        heading = self.document.headings[place].title if is_inside else ""
        speaker = self._speaker(start) or self._speaker(end - 1)
        if speaker and self._asks(start, end):
            speaker = self._speaker(end - 1)  # of a question and its answer: who answers
        when, above = "", self._heading_times[place] if place >= 0 else ""
        if names_time(fact.text):
            when = when_of(fact.text, above or self._date)
        elif not names_time(self.document.text[start:end]):
            when = above or (self._date if speaker else "")
        return replace(fact, heading=heading, speaker=speaker, when=when)

    def _speaker(self, position: int) -> str:
        """The speaker of the turn at a position; "" outside of turns."""
        place = bisect_right(self._turn_starts, position) - 1
        return self._speakers[place] if place >= 0 and position < self._turn_ends[place] else ""

    def _asks(self, start: int, end: int) -> bool:
        """Whether the first turn of some sentences ends before they do, with a question mark."""
        place = bisect_right(self._turn_starts, start) - 1
        turn_end = self._turn_ends[place] if place >= 0 else end
        return turn_end < end and self.document.text[start:turn_end].rstrip().endswith(("?", "？"))

    def shown(self, start: int, end: int) -> str:
        """The context of the text from `start` to `end` for a prompt, a line for each part.

        Empty unless the context was collected for a model.
        """
        if not self._for_model:
            return ""
        text = self.document.text
        begin = end - len(text[start:end].lstrip())
        over = self._paths[bisect_right(self._heading_starts, begin)]
        path = [heading for heading in over if heading.start < start]
        place = bisect_left(self._heading_starts, path[-1].start) if path else -1
        date = self._heading_times[place] if path else ""
        turn = bisect_left(self._turn_starts, begin)
        goes_on = begin not in self._turn_starts[turn : turn + 1]
        parts = {
            "Date": date or ("" if any(self._heading_times) else self._date),
            "Section": " › ".join(one.title for one in path if one.title != self.title),
            "Right before": self._before(start, path[-1].start if path else 0),
            "It begins in a turn of": self._speaker(begin) if goes_on else "",
            "Header of the table": self._header(begin),
            "Names": self._names_in(text[start:end]),
        }
        return "\n".join(
            f"{name}: {shortened(line, 4 * NAMES_TOKENS if name == 'Names' else LONGEST_LINE)}"
            for name, line in parts.items()
            if line
        )

    def _before(self, start: int, heading: int) -> str:
        """The last sentences before a text, below the heading over it."""
        text, begin = self.document.text, max(0, start - LOOK_BACK)
        if begin <= heading:
            begin = text.find("\n", heading, start) if heading else 0
        if begin < 0 or heading >= start:
            return ""
        spans = list(sentence_spans(text[begin:start]))[-SENTENCES_BEFORE:]
        sentences = [one_line(text[begin + first : begin + last]) for first, last in spans]
        speaker = self._speaker(begin + spans[0][0]) if spans else ""
        said = speaker and not sentences[0].startswith(speaker)
        return f"{speaker}: " * bool(said) + " ".join(sentences)[-LONGEST_LINE:]

    def _header(self, position: int) -> str:
        """The header row of a table that goes on at a position."""
        place = bisect_right(self._table_ends, position)
        table = self._tables[place] if place < len(self._tables) else None
        return table.label if table and table.start < position < table.end else ""

    def _names_in(self, text: str) -> str:
        """The short names in a text with their full names, which it lacks; frequent names first."""
        words = set(_WORD.findall(text))
        present = [
            short
            for short, full in self._names.items()
            if words >= self._words_of_names[short] and occurs(short, text) and full not in text
        ]
        present.sort(key=text.count, reverse=True)
        lines = [f"{short} = {self._names[short]}" for short in present]
        sizes = accumulate(count(line) + 1 for line in lines)
        fitting = takewhile(lambda one: one[1] <= NAMES_TOKENS, zip(lines, sizes, strict=True))
        return "; ".join(line for line, _ in fitting)


def _times(
    headings: tuple[Heading, ...], paths: Iterable[tuple[Heading, ...]], date: str
) -> Iterator[str]:
    """Yield the time under each heading: its own, else of the nearest heading above it.

    A day without a year is near to the time before it.
    """
    own: dict[Heading, str] = {}
    for heading, path in zip(headings, paths, strict=True):
        own[heading] = when_of(heading.title, date)
        date = own[heading] or date
        yield next(filter(None, (own[one] for one in reversed(path))), "")
