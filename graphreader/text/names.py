"""Names, titles, dates and numbers by their look: capitals, quotation marks, digits.

In Chinese, which has no capitals, a name is what stands in 《》 or joins parts with a middle dot.
"""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from graphreader.text.words import (
    CHINESE_ASKING,
    CHINESE_PARTICLES,
    HAN,
    HAN_RUN,
    MONTHS,
    fold,
    is_common,
    is_stop_word,
    stem,
    words_of,
)

_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀ-ŽА-Я]"

_CAPITALISED = (
    rf"(?:{_CAPITAL}\.(?:{_CAPITAL}\.)*"
    rf"|{_CAPITAL}[^\W_{HAN}]*(?:['’\-–.&][^\W_{HAN}]+)*(?:s['’](?= [A-Z]))?)"
)

_INSIDE = (
    r"(?:of the|of|and the|de la|de las|de los|de|del|della|di|da|do|dos|du|la|le|les|von|van"
    r"|der|den|ter|bin|ibn|al|el|OF THE|OF|DE|&)"
)

_NAME = re.compile(rf"(?<![^\W_]){_CAPITALISED}(?: (?:{_INSIDE} )?(?:d['’])?{_CAPITALISED})*")
_OWNER = re.compile(r"(.+?)['’]s\b")

_TITLE = re.compile(
    r"《([^》\n]{1,60})》|「([^」\n]{2,40})」|“([^”\n]{2,60})”|(?<!\w)\"([^\"\n]{2,60})\"(?!\w)"
)

_DOTTED = re.compile(rf"[{HAN}]{{1,8}}(?:[·・•‧][{HAN}]{{1,8}})+")
_MONTH = "(?:" + "|".join(MONTHS) + ")"

_DATE = re.compile(
    rf"\b\d{{1,2}} {_MONTH}(?:,? \d{{3,4}})?\b|\b{_MONTH} \d{{1,2}}(?:, \d{{3,4}})?\b"
    rf"|\b{_MONTH} \d{{4}}\b|\b\d{{1,2}}(?:st|nd|rd|th) century\b"
    r"|(?:前|公元前|公元)?\d{1,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日|\d{1,2}世纪(?:\d0年代)?"
)

_YEAR = re.compile(r"(?<![\d.,])(?:1\d{3}|20\d{2})(?![\d,]|\.\d)")

_NUMBER = re.compile(
    r"(?<![\w.,])[$€£]?\d+(?:[.,]\d+)*"
    r"(?:%| ?(?:percent|million|billion|km|miles|metres|meters|kg)\b)?"
    rf"(?:[万亿千百]?[%％]?[{HAN}]{{0,1}})?"
)

_INITIAL = re.compile(rf"(?:{_CAPITAL}\.)+")
_INITIALS_ONLY = re.compile(r"[A-Z]\.?$|[IVX]+\.?$")


def names_of(text: str) -> list[str]:
    """Runs of capitalised words ("Siege of Orléans"), titles, Chinese names with a middle dot.

    White space must be single spaces.
    Stop words at a run's ends are left out ("The", "In"), initials stay ("D. Rao"). A sentence's
    first word alone is taken for a name here if it is capitalised and no stop word: whoever asks
    must weigh that.
    """
    found = chain.from_iterable(_parts(match.group()) for match in _NAME.finditer(text))
    return list(dict.fromkeys(chain(found, _DOTTED.findall(text), titles_of(text))))


def titles_of(text: str) -> list[str]:
    """What stands in quotation marks or 《》 and is short enough for a title."""
    found = ("".join(match.groups(default="")).strip(" ,.，。") for match in _TITLE.finditer(text))
    return [title for title in found if len(title) > 1]


def dates_of(text: str) -> list[str]:
    """Dates and centuries as written, and years."""
    return list(dict.fromkeys(chain(_DATE.findall(text), _YEAR.findall(text))))


def numbers_of(text: str) -> list[str]:
    """Numbers as written, with the unit that follows."""
    return list(dict.fromkeys(_NUMBER.findall(text)))


def _parts(run: str) -> list[str]:
    """A run without stop words at its ends; before it whose it is, where it says that."""
    owner = _OWNER.match(run)
    parts = [owner.group(1), run] if owner else [run]
    return [name for part in parts if (name := _trimmed(part))]


def _trimmed(part: str) -> str:
    words = part.strip(" &").split(" ")
    while words and is_stop_word(words[0]) and not (words[1:] and _INITIAL.fullmatch(words[0])):
        del words[0]
    while words and is_stop_word(words[-1]):
        del words[-1]
    name = re.sub(r"['’]s$", "", " ".join(words)).rstrip("-–&'’")
    if "." in name[-1:] and not re.search(
        rf"(?:^|[ .]){_CAPITAL}\.$|\b(?:Jr|Sr|Inc|Ltd|Co)\.$", name
    ):
        name = name[:-1]
    return "" if _INITIALS_ONLY.fullmatch(name) else name


LONGEST_ELEMENT = 200  # characters
MOST_ELEMENTS = 12
_JOINING = re.compile("|".join([*CHINESE_ASKING, f"[{''.join(sorted(CHINESE_PARTICLES))}]"]))


def key_elements_of(fact: str, recurring: frozenset[str] = frozenset()) -> list[str]:
    """What a fact is about, at most 12: names, dates, numbers, then its rarer words.

    `recurring` are runs of Han characters that stand more than once in the text and so are
    probably words.
    """
    dates = dates_of(fact)
    left = _without(fact, dates)
    special = [*names_of(left), *dates, *numbers_of(left)]
    left = _without(left, special)
    chosen: dict[str, str] = {}
    for element in (*special, *_han_words(left, recurring), *_content_words(left)):
        if (1 < len(element) <= LONGEST_ELEMENT or element.isdigit()) and element in fact:
            chosen.setdefault(fold(element), element)
    return list(chosen.values())[:MOST_ELEMENTS]


def _without(fact: str, elements: list[str]) -> str:
    """The fact without what is taken already; a sign in its place keeps the rest apart."""
    for element in sorted(elements, key=len, reverse=True):
        fact = fact.replace(element, "|")
    return fact


def _content_words(fact: str) -> list[str]:
    """Nouns, verbs and adjectives by elimination, the rarer ones first."""
    words = [w for w in words_of(fact) if len(w) > 2 and w[0].isalpha() and not is_stop_word(w)]
    words = [re.sub(r"['’]s$", "", word) for word in words]
    return sorted(dict.fromkeys(words), key=lambda word: is_common(stem(fold(word))))


def recurring_han(text: str) -> frozenset[str]:
    """Runs of two to six Han characters that recur and are not just parts of a longer such run."""
    pieces = [p for run in HAN_RUN.findall(text) for p in _JOINING.split(run) if len(p) > 1]
    counts: Counter[str] = Counter()
    for size in range(2, 7):
        counts.update(p[i : i + size] for p in pieces for i in range(len(p) - size + 1))
    often = {run: n for run, n in counts.items() if n > 1}
    parts = {
        part for run, n in often.items() for part in (run[1:], run[:-1]) if often.get(part, 0) <= n
    }
    return frozenset(often) - parts


def _han_words(fact: str, recurring: frozenset[str]) -> Iterable[str]:
    """Pieces between function words; longer ones cut where a recurring run begins or ends."""
    for run in HAN_RUN.findall(fact):
        for piece in _JOINING.split(run):
            yield from _segmented(piece, recurring)


def _segmented(piece: str, recurring: frozenset[str]) -> list[str]:
    words: list[str] = []
    rest = start = 0
    while start < len(piece):
        size = next((n for n in range(6, 1, -1) if piece[start : start + n] in recurring), 0)
        if size:
            words += [*_quarters(piece[rest:start]), piece[start : start + size]]
            rest = start + size
        start += size or 1
    return [word for word in [*words, *_quarters(piece[rest:])] if len(word) > 1]


def _quarters(piece: str) -> list[str]:
    """A piece whose words nothing tells apart, in parts of at most four characters."""
    return [piece[i : i + 4] for i in range(0, len(piece), 4)]
