"""Turns of the speakers of a transcript, an interview, a play or a chat, by their form.

A text is one of these if many of its lines begin with speakers that recur: "MR. HOLT: ...",
"[10:15] Ann: ...", "10:15 <ann> ...", "HAMLET. ...", "Q. ...", "Ann Lee  10:15" above her words;
or if messages begin as in an export of WhatsApp: "12/03/2024, 10:15 - Ann: ...".
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from graphreader.documents import Heading
from graphreader.text.blocks import lines_with_code
from graphreader.text.headings import DATE, SECTION
from graphreader.text.lines import SAMPLE, STAMP, lines_of
from graphreader.text.scripts import HAN, KANA
from graphreader.text.words import word_list

LONGEST_NAME = 40  # characters
LEAST_TURNS = 4
LEAST_MESSAGES = 2
LEAST_SHARE = 0.2  # turns to a paragraph of the text

_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s?[AaPp]\.?[Mm]\.?)?"
_STAMP = rf"[\[(]?(?:\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}},?\s+)?{_TIME}[\])]?"
_ENCRYPTED = (
    r"(?i:end-to-end encrypt|ende-zu-ende-versch|bout en bout|extremo a extremo|端到端|端對端)"
)
_NAME = rf"[^\W\d][^\n:：<>\[\](){{}}|*\"“”,;!?。，]{{0,{LONGEST_NAME - 1}}}"
_TURN = re.compile(
    rf"\u200e?(?P<stamp>{_STAMP})\s*[-–—|]?\s*(?:"  # [10:15] Ann: hi; 10:15 <ann> hi; [10:15] Ann
    rf"(?P<stamped>[^\n:<>]{{1,{LONGEST_NAME}}}):(?=\s|$)"
    rf"|<(?P<nick>[^<>\n]{{1,{LONGEST_NAME}}})>|(?P<above>{_NAME})$)"
    rf"|(?:\*\*|__)?(?P<name>{_NAME}?|[A-Z][A-Z'’., -]{{1,{LONGEST_NAME}}}[A-Z.])"
    r"(?:\s*[\[(][^\])\n]{1,30}[\])])?(?:\*\*|__)?\s*"
    r"(?::(?:\*\*|__)?(?=\s|$)|：(?:\*\*|__)?(?![“「『\"]))"
    rf"|<v(?:\.[\w.]+)? (?P<voice>{_NAME})>"
    r"|(?P<capitals>(?:(?:Mrs?|Ms|Dr|The|Sir|Lord|Lady)\.? )?[A-Z][A-Z'’. -]{0,38}[A-Z]"
    r"|(?:Mr|Mrs|Ms|Dr|Chairman|Senator|Secretary)\.? [A-Z][\w'’-]{2,20})"
    r"(?:\s[\[(][^\])\n]{1,30}[\])])?\.(?=\s|$)"
    r"|(?:\d{1,2}\s+)?(?P<letter>[QA])\.(?=\s)"
    rf"|(?P<before>{_NAME}?)(?:[ \t]{{2,}}|\t|[ \t]+[\[(])(?P<time>{_TIME})[\])]?$"
)
# The name behind the stamp of a message; there is none in a notice of the program.
_SENDER = re.compile(
    rf"(?!.{{0,80}}{_ENCRYPTED})[\s~\u200e\u202a]*(?P<name>[^\n:\"“”„«]{{1,{LONGEST_NAME}}}?)"
    r"[\s\u202c]*:(?=\s|$)"
)
_NO_NAME = word_list("labels")
_PARTICLES = frozenset({"of", "the", "de", "la", "da", "van", "von", "der", "al", "bin", "and"})
_SAYS = tuple("道说說曰问問答笑云叫喊想喝骂罵是有为為")  # "宝玉道：" stands in a novel
_EAST_ASIAN = re.compile(f"[{HAN}{KANA}]")
_LONGEST_EAST_ASIAN_NAME = 10
_MOST_NAMES = 10_000
_SENTENCE_END = tuple('.!?。！？…)]”"')
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
    is_stamped: bool
    is_sure: bool


def turns_of(text: str, headings: Sequence[Heading] = ()) -> Iterator[SpeakerTurn]:
    """Yield the turns of a transcript or chat in order; nothing from another text.

    A turn ends at the next turn, or before a heading of a format, a chapter or a date.
    """
    is_chat = _is_chat(text)
    speakers = frozenset() if is_chat else _speakers(text)
    if not (is_chat or speakers):
        return
    starts = (
        _messages(text) if is_chat else (one for one in _starts(text) if one.speaker in speakers)
    )
    ends = (one.start for one in headings if one.level <= SECTION or one.level == DATE)
    stops = chain(ends, [len(text)])
    stop = next(stops)
    previous: _Start | None = None
    for start in starts:
        if previous and previous.speaker:
            yield _turn(text, previous, min(start.at, stop))
        while stop <= start.at:
            stop = next(stops)
        previous = start
    if previous and previous.speaker:
        yield _turn(text, previous, stop)


def _is_chat(text: str) -> bool:
    """Whether many of the first lines begin with the stamps of messages."""
    messages = lines = 0
    for (start, end), after_blank in islice(lines_of(text), SAMPLE):
        lines += after_blank or not lines
        messages += bool(_stamp(text, start, end))
    return messages >= LEAST_MESSAGES and messages >= LEAST_SHARE * lines


def _messages(text: str) -> Iterator[_Start]:
    """Yield the beginnings of the messages of a chat, and of notices, which have no speaker."""
    for (start, end), _ in lines_of(text):
        if stamp := _stamp(text, start, end):
            sender = _SENDER.match(text, stamp.end(), end)
            name = sender["name"].strip("~@+ \t\u202f") if sender else ""
            yield _Start(start, name, is_stamped=True, is_sure=True)


def _stamp(text: str, start: int, end: int) -> re.Match[str] | None:
    return STAMP.match(text, start, min(end, start + 3 * LONGEST_NAME))


def _turn(text: str, start: _Start, end: int) -> SpeakerTurn:
    return SpeakerTurn(start.at, start.at + len(text[start.at : end].rstrip()), start.speaker)


def _speakers(text: str) -> frozenset[str]:
    """The speakers of a transcript; none if a text is no transcript.

    Records have more than two names that always follow in one order: "Serves: ... Prep: ...".
    """
    turns, stamped = Counter[str](), set[str]()
    pairs = set[tuple[str, str]]()
    previous, sure = "", 0
    for start in _starts(text):
        name = start.speaker
        if name in turns or len(turns) < _MOST_NAMES:
            turns[name] += 1
            sure += start.is_sure
            if start.is_stamped:
                stamped.add(name)
            if len(pairs) < _MOST_NAMES:
                pairs.add((previous, name))
            previous = name
    number = turns.total()
    recurring = frozenset(name for name, times in turns.items() if times > 1)
    among = [pair for pair in pairs if recurring.issuperset(pair)]
    if len(recurring) < 2 or (len(recurring) > 2 and len(among) <= len(recurring)):
        return frozenset()
    enough = number >= LEAST_TURNS and number >= LEAST_SHARE * _paragraphs(text)
    return recurring | stamped if enough and 2 * sure >= number else frozenset()


def _paragraphs(text: str) -> int:
    return sum(after_blank for _, after_blank in lines_of(text)) + 1


def _starts(text: str) -> Iterator[_Start]:
    """Yield the lines that may begin a turn, outside of code."""
    before = ""  # the end of the line before, "" after a blank line
    for (at, stop), after_blank, code in lines_with_code(text):
        before = "" if after_blank else before
        match = None if code else _TURN.match(text, at, min(stop, at + 3 * LONGEST_NAME))
        if match and (start := _start(text, match, stop, before)):
            yield start
        before = text[stop - 1 : stop]


def _start(text: str, match: re.Match[str], end: int, before: str) -> _Start | None:
    kinds = ("stamped", "nick", "above", "name", "voice", "capitals", "letter", "before")
    speaker = next(filter(None, match.group(*kinds))).strip("~@+ \t")
    is_stamped = bool(match["stamp"] or match["voice"])
    if match["capitals"] and before and before not in _SENTENCE_END:
        return None  # a line of a text in capitals
    if not speaker or not (is_stamped or _is_name(speaker)):
        return None
    words = text[match.end() : min(end, match.end() + 200)].strip()
    if not words:  # they stand below the name
        words = text[end : end + 300].strip().partition("\n")[0]
    is_sentence = words.endswith(_SENTENCE_END) or words.count(" ") >= _WORDS_OF_SENTENCE - 1
    is_long = len(_EAST_ASIAN.findall(words)) >= _WORDS_OF_SENTENCE
    is_sure = is_stamped or bool(match["time"]) or is_sentence or is_long
    return _Start(match.start(), speaker, is_stamped, is_sure)


def _is_name(name: str) -> bool:
    """Whether the beginning of a line may name a speaker."""
    if name.casefold() in _NO_NAME:
        return False
    if _EAST_ASIAN.search(name):
        is_said = len(name) > 1 and name.endswith(_SAYS)
        return len(name) <= _LONGEST_EAST_ASIAN_NAME and not is_said
    words = name.split()
    return len(words) <= 6 and all(not one[0].islower() or one in _PARTICLES for one in words)
