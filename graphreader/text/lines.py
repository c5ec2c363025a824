"""Lines of a text: joined where it is hard-wrapped, and a passage as one line."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

import regex

from graphreader.text.scripts import CJK, FULL_WIDTH_SIGNS
from graphreader.tokens import count

Span = tuple[int, int]
"""The start and the end of a part of a text, in characters."""

CLOSING = r"[\"'”’»)\]}」』）】》〉*_]*+(?:\[(?:\d{1,3}|[a-z]|note \d{1,3})\])*+"
"""A pattern of the signs that may stand between the end of a sentence and the space behind it."""

# Signs that end a sentence wherever they stand, of CJK, Devanagari, Arabic, Burmese, Khmer,
# Armenian, Ethiopic and Tibetan.
FULL_STOPS = "。！？；｡।॥؟۔။។։።།"

ENDS = re.compile(
    rf"(?:(?<![.!?])[.!?]++|(?<!…)…++){CLOSING}(?:[ \xa0\u202f]»)?(?=\s|\Z)"
    rf"|[{FULL_STOPS}]+[{FULL_STOPS}…]*{CLOSING}"
    rf"|…{{2,}}{CLOSING}"
    rf"|(?<=[{CJK}])[.!?．]+{CLOSING}(?=[{CJK}“「『])"
    r"|(?<=[a-z]{2}|\d\d|[0-9a-z][)\]])[.!?](?=[A-Z][a-z]*[ ,])"  # a lost paragraph break
)
"""A pattern of the signs that may end a sentence."""

ITEM = re.compile(
    r"(?:[-*+•◦▪‣]|\d{1,3}[.)]|(?:[a-zа-я]|[ivx]{2,5})\)|\((?:\d{1,3}|[A-Za-zА-Яа-я]|[ivx]{2,5})\)"
    r"|\[[ xX]?\])[ \t]+\S|[☐☑☒✓✔✗✘]"
    r"|[（(][\d一二三四五六七八九十]{1,3}[）)]|[\d一二三四五六七八九十]{1,3}、|[①-⑳]"
    r"|\||[^|\n]{1,100}[ \t]\|[ \t]|[^\t\n]{1,100}\t+\S"
)
"""A pattern of the beginning of a list item or of a row of a table."""

_DAY = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_CLOCK = r"(?:[上下]午|오[전후])?\s?\d{1,2}[:.]\d{2}"
_HALF = r"(?:\s?[AaPp]\.?\s?[Mm]\.?)?"
STAMP = re.compile(
    r"[\u200e\u200f\u202a-\u202c]*"
    rf"(?:\[(?:{_DAY},|(?!.{{0,8}}-){_DAY})\s{_CLOCK}(?::\d{{2}})?{_HALF}\]\s?"
    rf"|{_DAY},?(?: (?:à|um|at|klo))?\s{_CLOCK}{_HALF}(?: Uhr)?\s[-–—]\s)"
)
"""A pattern of the day and time before a message of an exported chat, but not of a log."""

_SPACE = re.compile(r"\s*+")
_MARKED = re.compile(rf"{STAMP.pattern}|#{{1,6}}[ \t]|```|~~~|{ITEM.pattern}")
_ALONE = re.compile(r"#{1,6}[ \t]|\||```|~~~|[-=*_][-=*_ \t]{2,}$")
_FIRST_WORD = re.compile(rf"[{CJK}]|\S{{1,120}}")
_CJK_WITHIN = re.compile(rf"[{CJK}，、：]\Z")
# A word or number that a hyphen, or years that a dash, divides at a line end. A capital follows
# only in a name, since speech that is cut off ends with a hyphen, too: "I th-", "Ada: No".
_CUT_WORD = regex.compile(
    r"(?:(?<=[^\W_])[-\u2010](?=END[\p{Ll}\d])|(?<=\d)–(?=END\d)|(?<=\w[ \t])-(?=END\d)"
    r"|(?<=\b\p{Lu}\p{L}{1,30})[-\u2010](?=END\p{Lu}\p{Ll}(?!.{0,40}:)))".replace(
        "END", r"[^\S\n]*+\n[^\S\n]*+"
    )
)
# A line end between these is no space.
_NO_SPACE = re.compile(
    rf"(?<=[{CJK}{FULL_WIDTH_SIGNS}])[^\S\n]*+\n\s*+(?=[{CJK}{FULL_WIDTH_SIGNS}])"
    r"|(?<=\d–)[^\S\n]*+\n\s*+(?=\d)"
)
_PART = r"\p{L}\p{M}\p{N}"  # characters of a word
_CUT = regex.compile(rf"(?<![{_PART}])([{_PART}]++)([-\u2010])[^\S\n]*+\n[^\S\n]*+([{_PART}]++)")
_WRITTEN = regex.compile(rf"[{_PART}]++(?:[-\u2010][{_PART}]++)?")
_DIGIT = re.compile(r"\d")
_RUN_BEFORE, _RUN_AFTER = re.compile(r"\S{0,100}\Z"), re.compile(r"\S{0,100}")
_ADDRESS = re.compile(r"[/@]|\w\.\w")
_HYPHENS = ("-", "\u2010")
_HYPHENED = re.compile(r"[-\u2010]\w")
# Words of languages that write compounds as one word.
_COMPOUNDING = frozenset(
    ["und", "der", "ist", "wird", "wurde", "och", "att", "og", "ikke", "het", "een", "és", "hogy"]
)
# A hyphen before one of these stands for a word that follows: "Vor- und Nachteile".
_AND = frozenset(["and", "or", "to", "und", "oder", "bis", "en", "of", "et", "ou"])

# The end of a line that no sentence ends with: the next line goes on, also with a name.
_OPEN = re.compile(
    r"(?:,|(?:^|\s)(?:an?|and|as|at|by|for|from|in|of|on|or|than|that|the|to|with|de|der|des|die|du"
    r"|el|la|le|les|und|et|von))\Z"
)

LEAST_WIDTH, LEAST_CJK_WIDTH, MOST_WIDTH = 30, 16, 120  # columns of a hard-wrapped text
LEAST_PROSE = 40  # characters of a line that is no entry of a list
SAMPLE = 4_000
"""The number of lines by which the width of a text is found."""
LINES_AT_ONCE = 500
"""The number of lines of a longer paragraph that are compared with each other."""


def line_spans(text: str) -> Iterator[Span]:
    """Yield the spans of logical lines: hard-wrapped lines are joined, without white space.

    It works line by line, so that neither a long text nor a long line holds up others.
    """
    width = _wrap_width(text)
    begin, previous, is_full = 0, (0, 0), False
    for block, is_first in _blocks(text):
        full = _full_cjk_lines(text, block)
        for place, line in enumerate(block):
            is_new = is_first and place == 0
            if is_new or not (
                is_full
                or _runs_on(text, previous, line, width)
                or _is_indented_part(text, begin, line)
            ):
                if previous[1]:
                    yield begin, previous[1]
                begin = line[0]
            previous, is_full = line, line in full
    if previous[1]:
        yield begin, previous[1]


def lines_of(text: str) -> Iterator[tuple[Span, bool]]:
    """Yield the span of each line that is not blank, and whether it follows a blank line."""
    at = len(text) - len(text.lstrip("\ufeff")) if text.startswith("\ufeff") else 0
    while True:
        start = _space_end(text, at)
        if start == len(text):
            return
        after = text.find("\n", start)
        end = after = len(text) if after < 0 else after
        while text[end - 1].isspace():
            end -= 1
        yield (start, end), text.count("\n", at, start) > 1
        at = after


def _space_end(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _blocks(text: str) -> Iterator[tuple[list[Span], bool]]:
    """Yield the lines of each paragraph, and parts of a long one: only the first has True."""
    block: list[Span] = []
    is_first = True
    for line, after_blank in lines_of(text):
        if block and (after_blank or len(block) == LINES_AT_ONCE):
            yield block, is_first
            block, is_first = [], after_blank
        block.append(line)
    yield block, is_first


def _wrap_width(text: str) -> int | None:
    """The column at which a text is hard-wrapped, or None if it is not."""
    sample = pairwise(islice(lines_of(text), SAMPLE))
    pairs = [(line, following) for (line, _), (following, is_apart) in sample if not is_apart]
    if len(pairs) < 4:
        return None
    lengths = sorted(end - start for (start, end), _ in pairs)
    width = lengths[int(len(lengths) * 0.95)]
    full = sum(_is_full(text, a, b, width) for a, b in pairs)
    return width if LEAST_WIDTH <= width <= MOST_WIDTH and full >= 0.6 * len(pairs) else None


def _full_cjk_lines(text: str, block: Sequence[Span]) -> frozenset[Span]:
    """The lines of a paragraph of hard-wrapped Chinese or Japanese that run on, if it is one.

    Most of its lines but the last have nearly one length, and most of these end within a sentence.
    """
    width = max((end - start for start, end in block), default=0)
    if not LEAST_CJK_WIDTH <= width <= MOST_WIDTH:
        return frozenset()
    full = [line for line in block if line[1] - line[0] >= width - 2]
    within = sum(bool(_CJK_WITHIN.search(text, line[1] - 1, line[1])) for line in full)
    followed = len(full) - (block[-1] in full)
    is_wrapped = followed >= 0.6 * (len(block) - 1) and 2 * within >= len(full) and followed > 0
    return frozenset(full) if is_wrapped else frozenset()


def _is_full(text: str, line: Span, following: Span, width: int) -> bool:
    first = _FIRST_WORD.match(text, *following)
    word = first.end() - first.start() if first else 0
    return line[1] - line[0] + 1 + word > width - 4


def _runs_on(text: str, line: Span, following: Span, width: int | None) -> bool:
    if _ALONE.match(text, *line) or _MARKED.match(text, *following):
        return False
    if _ALONE.match(text, *following):
        return False
    if width and _is_full(text, line, following, width):
        return True
    if _CUT_WORD.match(text, line[1] - 1):
        return True
    is_prose = width is not None and line[1] - line[0] >= LEAST_PROSE
    if is_prose and _OPEN.search(text, max(line[0], line[1] - 8), line[1]):
        return True
    if not text[following[0]].islower() or ENDS.search(text, max(line[0], line[1] - 8), line[1]):
        return False
    if width is not None or line[1] - line[0] >= LEAST_PROSE:
        return True
    # After a short line only what is no entry of a list: a longer line, or the end of a sentence.
    is_phrase = not text[line[0]].islower() and " " in text[line[0] : line[1]]
    goes_on = following[1] - following[0] >= LEAST_PROSE or ENDS.search(text, *following)
    return is_phrase and bool(goes_on)


def _is_indented_part(text: str, item: int, line: Span) -> bool:
    """Whether a line stands deeper than the list item before it, to which it belongs."""
    is_item = ITEM.match(text, item) and not _MARKED.match(text, *line)
    return bool(is_item) and _column(text, line[0]) > _column(text, item)


def _column(text: str, at: int) -> int:
    """The number of characters before a position in its line, at most 100."""
    return at - max(text.rfind("\n", max(0, at - 100), at) + 1, at - 100)


def one_line(text: str, around: str = "") -> str:
    """The text as one line of single spaces, as a fact or a prompt has it.

    Letters of Chinese and Japanese run on over a line end without a space. A word that a hyphen
    divides at a line end becomes whole, or keeps its hyphen, whichever is written elsewhere in the
    text, or `around` it, or is more likely.
    """
    if "\n" in text:
        text = _NO_SPACE.sub("", text)
        if _CUT.search(text):
            written = frozenset(_WRITTEN.findall(around or text))
            own = _WRITTEN.findall(text)
            has_compounds = _COMPOUNDING.isdisjoint(own)
            text = _CUT.sub(lambda match: _joined(match, written, has_compounds), text)
    return " ".join(text.split())


def _joined(match: regex.Match[str], written: frozenset[str], has_compounds: bool) -> str:
    """The two parts of a word; `has_compounds`: the language writes them with a hyphen."""
    first, hyphen, second = match.groups()
    whole, compound = f"{first}{second}", f"{first}{hyphen}{second}"
    if second in _AND:
        return f"{first}{hyphen} {second}"
    if not second.islower() or _DIGIT.search(first) or compound in written:
        return compound
    before, after = _around(match)
    if len(first) == 1 or before.endswith(_HYPHENS) or _HYPHENED.match(after):
        return compound  # "x-ray", "mother-in-law"; not "Eisenbahn- und Hafengesellschaft"
    if _ADDRESS.search(f"{before}{compound}{after}"):
        return compound
    is_name = first[0].isupper() and match.start() > 0  # "Nord-see"
    if whole in written or is_name or not has_compounds or not _is_compound(first, second):
        return whole
    return compound


def _around(match: regex.Match[str]) -> tuple[str, str]:
    """The characters right before and right after a divided word, up to white space."""
    before = _RUN_BEFORE.search(match.string, max(0, match.start() - 100), match.start())
    after = _RUN_AFTER.match(match.string, match.end())
    return before[0] if before else "", after[0] if after else ""


def _is_compound(first: str, second: str) -> bool:
    """Whether two parts are more likely a compound than one word: "well-known", "trans-port".

    The vocabulary of the tokenizer holds frequent words as single tokens with a space before.
    """

    def is_word(word: str) -> bool:
        return 2 < len(word) < 30 and count(f" {word.lower()}") == 1

    is_first = is_word(first) or first.lower() == "ex"
    return is_first and is_word(second) and not is_word(first + second)
