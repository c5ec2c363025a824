"""Turns of the speakers of a transcript, an interview, a play or a chat, by their form.

A text is one of these if many of its lines begin with speakers that recur: "MR. HOLT: ...",
"[10:15] Ann: ...", "<ann> ...", "HAMLET. ...", "Q. ...", "Ann Lee  10:15" above her words.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from graphreader.documents import Heading
from graphreader.text.headings import line_spans
from graphreader.text.scripts import HAN, KANA
from graphreader.text.words import word_list

LONGEST_NAME = 40  # characters
LEAST_TURNS = 4
LEAST_SHARE = 0.2  # turns to a paragraph of the text

_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s?[AaPp]\.?[Mm]\.?)?"
_STAMP = rf"[\[(]?(?:\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}},?\s+)?{_TIME}[\])]?"
_NAME = rf"[^\W\d][^\n:：<>\[\](){{}}|*\"“”,;!?。，]{{0,{LONGEST_NAME - 1}}}"
_TURN = re.compile(
    rf"(?:(?P<stamp>{_STAMP})\s*[-–—|]?\s*)?(?:"
    rf"(?:\*\*|__)?(?P<name>{_NAME}?)(?:\s*[\[(][^\])\n]{{1,30}}[\])])?(?:\*\*|__)?\s*"
    r"(?::(?:\*\*|__)?(?=\s|$)|：(?:\*\*|__)?(?![“「『\"]))"
    rf"|<(?:v(?:\.[\w.]+)? |[@+~ ])?(?P<nick>{_NAME})>"
    r"|(?P<capitals>(?:(?:Mrs?|Ms|Dr|The|Sir|Lord|Lady)\.? )?[A-Z][A-Z'’. -]{0,38}[A-Z])\.(?=\s|$)"
    r"|(?P<letter>[QA])\.(?=\s)"
    rf"|(?P<before>{_NAME}?)[ \t]+[\[(]?(?P<time>{_TIME})[\])]?$)"
)
_NO_NAME = word_list("labels")
_PARTICLES = frozenset({"of", "the", "de", "la", "da", "van", "von", "der", "al", "bin", "and"})
_SAYS = tuple("道说說曰问問答笑云叫喊想喝骂罵是有为為")  # "宝玉道：" stands in a novel
_EAST_ASIAN = re.compile(f"[{HAN}{KANA}]")
_LONGEST_EAST_ASIAN_NAME = 10
_MOST_NAMES = 10_000
_SENTENCE_END = tuple(".!?。！？…")
_WORDS_OF_SENTENCE = 5


class SpeakerTurn(NamedTuple):
    """A turn in a transcript: its span in characters, and its speaker as the text names him."""

    start: int
    end: int
    speaker: str


class _Start(NamedTuple):
    """A line that may begin a turn; `is_sure`: it has a time, or is a sentence behind a name."""

    at: int
    speaker: str
    is_sure: bool


def turns_of(text: str, headings: Sequence[Heading] = ()) -> Iterator[SpeakerTurn]:
    """Yield the turns of a transcript or chat in order; nothing from another text.

    A turn ends at the next turn, or before a heading.
    """
    speakers = _speakers(text)
    if not speakers:
        return
    stops = iter([*(heading.start for heading in headings), len(text)])
    stop = next(stops)
    previous: _Start | None = None
    for start in (one for one in _starts(text) if one.speaker in speakers):
        if previous:
            yield _turn(text, previous, min(start.at, stop))
        while stop <= start.at:
            stop = next(stops)
        previous = start
    if previous:
        yield _turn(text, previous, stop)


def _turn(text: str, start: _Start, end: int) -> SpeakerTurn:
    return SpeakerTurn(start.at, start.at + len(text[start.at : end].rstrip()), start.speaker)


def _speakers(text: str) -> frozenset[str]:
    """The speakers of a transcript; none if a text is no transcript."""
    turns, sure = Counter[str](), 0
    for start in _starts(text):
        if start.speaker in turns or len(turns) < _MOST_NAMES:
            turns[start.speaker] += 1
            sure += start.is_sure
    number = turns.total()
    recurring = [name for name, times in turns.items() if times > 1]
    enough = len(recurring) > 1 and number >= LEAST_TURNS and 2 * sure >= number
    return frozenset(turns) if enough and number >= LEAST_SHARE * _paragraphs(text) else frozenset()


def _paragraphs(text: str) -> int:
    end, number = 0, 0
    for start, after in line_spans(text):
        number += not end or text.count("\n", end, start) > 1
        end = after
    return number


def _starts(text: str) -> Iterator[_Start]:
    for at, end in line_spans(text):
        match = _TURN.match(text, at, min(end, at + 3 * LONGEST_NAME))
        if not match:
            continue
        stamp = match["stamp"] or match["time"]
        speaker = next(filter(None, match.group("name", "nick", "capitals", "letter", "before")))
        speaker = speaker.strip()
        if _is_name(speaker, bool(stamp or match["nick"])):
            words = text[match.end() : min(end, match.end() + 200)]
            is_sentence = (
                words.endswith(_SENTENCE_END) or words.count(" ") >= _WORDS_OF_SENTENCE - 1
            )
            is_long = len(_EAST_ASIAN.findall(words)) >= _WORDS_OF_SENTENCE
            yield _Start(at, speaker, bool(stamp or match["nick"]) or is_sentence or is_long)


def _is_name(name: str, is_marked: bool) -> bool:
    """Whether a beginning of a line may name a speaker; `is_marked` by a time or brackets."""
    if name.casefold() in _NO_NAME:
        return False
    if _EAST_ASIAN.search(name):
        return len(name) <= _LONGEST_EAST_ASIAN_NAME and not name.endswith(_SAYS)
    words = name.split()
    return len(words) <= 5 and (
        is_marked or all(not one[0].islower() or one in _PARTICLES for one in words)
    )
