"""Styles of Word documents, and the numbers that Word writes before paragraphs.

See ISO 29500, part 1, sections 17.7 (styles) and 17.9 (numbering).
"""

import re
from dataclasses import dataclass, field, replace

from graphreader.ingestion.loading.lists import BULLET, number_of, numeral
from graphreader.ingestion.loading.office import Element, W, is_on, with_symbols

_LEVELS = 9
_LONGEST_LABEL = 100  # characters
_HEADING = re.compile(r"heading\s?([1-9])", re.IGNORECASE)
_TABLE_OF_CONTENTS = re.compile(r"toc\s?\d|table of figures", re.IGNORECASE)
_BOXES = {  # bullets that are ticked
    **dict.fromkeys(("[ ]", "☐", "□", "❏", "❑"), "[ ]"),
    **dict.fromkeys(("[x]", "☑", "☒"), "[x]"),
}
_BODY_TEXT = 9  # outline level of a paragraph that is no heading


@dataclass(frozen=True, slots=True)
class Style:
    """A style with the properties that it inherits; `level` is a heading's from 1.

    `number` and `number_level` are its list and the level in it from 0.
    """

    id: str = ""
    level: int = 0
    number: str | None = None
    number_level: int | None = None
    is_contents: bool = False
    is_hidden: bool = False
    is_struck: bool = False
    position: str = ""  # "superscript" or "subscript"


class Styles:
    """The styles of a document by their ids."""

    def __init__(self, root: Element | None) -> None:
        self._elements: dict[str, Element] = {}
        self._styles: dict[str, Style] = {"": Style()}
        for one in () if root is None else root.iterfind(f"{W}style"):
            self._elements[one.get(f"{W}styleId", "")] = one
            if one.get(f"{W}type") == "paragraph" and one.get(f"{W}default") in ("1", "true"):
                self._styles[""] = self.style(one.get(f"{W}styleId", ""))

    def of(self, properties: Element | None, tag: str) -> Style:
        """The style that the properties of a paragraph (`pStyle`) or run (`rStyle`) name."""
        named = None if properties is None else properties.find(f"{W}{tag}")
        if named is None:
            return self._styles[""] if tag == "pStyle" else _PLAIN
        return self.style(named.get(f"{W}val", ""))

    def style(self, name: str) -> Style:
        """The style of an id. A style that is based on itself in a circle ends there."""
        chain: dict[str, None] = {}
        while name not in self._styles and name in self._elements and name not in chain:
            chain[name] = None
            based_on = self._elements[name].find(f"{W}basedOn")
            name = "" if based_on is None else based_on.get(f"{W}val", "")
        style = self._styles.get(name, _PLAIN) if name else _PLAIN
        for one in reversed(chain):
            style = self._styles[one] = _derived(style, one, self._elements[one])
        return style


_PLAIN = Style()


def _derived(base: Style, name: str, element: Element) -> Style:
    """A style with what its own element changes."""
    title = element.find(f"{W}name")
    title = "" if title is None else title.get(f"{W}val", "")
    paragraph, run = element.find(f"{W}pPr"), element.find(f"{W}rPr")
    level = outline_level(paragraph)
    if level is None:
        heading = _HEADING.fullmatch(title)
        level = int(heading[1]) if heading else 1 if title == "Title" else base.level
    number, number_level = number_properties(paragraph)
    contents = bool(_TABLE_OF_CONTENTS.fullmatch(title))
    return replace(
        base if run is None else with_run(base, run),
        id=name,
        level=level,
        number=base.number if number is None else number,
        number_level=base.number_level if number_level is None else number_level,
        is_contents=contents or base.is_contents,
    )


def with_run(base: Style, run: Element) -> Style:
    """A style with the properties of a run (`rPr`)."""
    hidden, struck = is_on(run.find(f"{W}vanish")), is_on(run.find(f"{W}strike"))
    struck = is_on(run.find(f"{W}dstrike")) or struck
    position = run.find(f"{W}vertAlign")
    if hidden is None and struck is None and position is None:
        return base
    return replace(
        base,
        is_hidden=base.is_hidden if hidden is None else hidden,
        is_struck=base.is_struck if struck is None else struck,
        position=base.position if position is None else position.get(f"{W}val", ""),
    )


def outline_level(properties: Element | None) -> int | None:
    """The level of a heading from 1, 0 for a text, None if the properties name none."""
    level = None if properties is None else _value(properties, "outlineLvl")
    return None if level is None else level + 1 if 0 <= level < _BODY_TEXT else 0


def number_properties(properties: Element | None) -> tuple[str | None, int | None]:
    """The list of a paragraph and the level in it, None where they are not given."""
    own = None if properties is None else properties.find(f"{W}numPr")
    if own is None:
        return None, None
    number = own.find(f"{W}numId")
    return None if number is None else number.get(f"{W}val", ""), _value(own, "ilvl")


def _value(element: Element, tag: str) -> int | None:
    child = element.find(f"{W}{tag}")
    return None if child is None else number_of(child.get(f"{W}val"))


@dataclass(slots=True, eq=False)
class _Level:
    """A level of a list: its first number, and the text around the numbers."""

    start: int = 1
    format: str = "none"
    text: str = ""
    restart: int | None = None  # after this level from 1; 0: never
    is_decimal: bool = False  # all levels, as in legal texts
    is_upper: bool = False
    style: str = ""


@dataclass(slots=True, eq=False)
class _Numbers:
    """The levels of a list, and its counters, which lists of one definition share."""

    levels: dict[int, _Level] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)  # at which the list begins anew


class Numbering:
    """The lists of a document, which count paragraphs in their order."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        children = list(() if root is None else root)
        self._styles = styles
        self._definitions = {
            one.get(f"{W}abstractNumId", ""): one
            for one in children
            if one.tag == f"{W}abstractNum"
        }
        self._elements = {one.get(f"{W}numId", ""): one for one in children if one.tag == f"{W}num"}
        self._counts: dict[str, dict[int, int]] = {}  # by definition
        self._lists: dict[str, _Numbers | None] = {}

    def label(self, properties: Element | None, style: Style) -> str:
        """Count a paragraph; return its number or bullet with a space behind it, "" for none."""
        number, level = number_properties(properties)
        is_own = number is not None
        number = number if is_own else style.number
        numbers = self._numbers(number) if number else None
        if numbers is None:
            return ""
        if level is None and not is_own:
            own = (at for at, one in numbers.levels.items() if one.style == style.id)
            level = next(own, style.number_level)
        level = min(max(level or 0, 0), _LEVELS - 1)
        if level not in numbers.levels:
            return ""
        return _counted(numbers, level)

    def _numbers(self, number: str) -> _Numbers | None:
        if number not in self._lists:
            self._lists[number] = self._made(number)
        return self._lists[number]

    def _made(self, number: str) -> _Numbers | None:
        """Read a list; a definition may point to a style, which names another list."""
        own = self._elements.get(number)
        seen = set()
        name, definition, element = "", None, own
        while element is not None and number not in seen:
            seen.add(number)
            pointer = element.find(f"{W}abstractNumId")
            name = "" if pointer is None else pointer.get(f"{W}val", "")
            definition = self._definitions.get(name)
            link = None if definition is None else definition.find(f"{W}numStyleLink")
            if link is None:
                break
            number = self._styles.style(link.get(f"{W}val", "")).number or ""
            element = self._elements.get(number)
        if own is None or definition is None:
            return None
        numbers = _Numbers(counts=self._counts.setdefault(name, {}))
        numbers.levels.update(_levels(definition))
        for one in own.iterfind(f"{W}lvlOverride"):
            numbers.levels.update(_levels(one))
            at, start = number_of(one.get(f"{W}ilvl")) or 0, _value(one, "startOverride")
            if start is not None and at in numbers.levels:
                numbers.starts[at] = start
                numbers.levels[at] = replace(numbers.levels[at], start=start)
        return numbers


def _levels(element: Element) -> dict[int, _Level]:
    levels = map(_level, element.iterfind(f"{W}lvl"))
    return {at: level for at, level in levels if 0 <= at < _LEVELS}


def _level(element: Element) -> tuple[int, _Level]:
    """Read a level of a list and its place among the levels."""
    formats = element.find(f".//{W}numFmt")
    text, run = element.find(f"{W}lvlText"), element.find(f"{W}rPr")
    style, start = element.find(f"{W}pStyle"), _value(element, "start")
    level = _Level(
        start=0 if start is None else start,
        format="decimal" if formats is None else formats.get(f"{W}val", "decimal"),
        text="" if text is None else text.get(f"{W}val", "")[:_LONGEST_LABEL],
        restart=_value(element, "lvlRestart"),
        is_decimal=bool(is_on(element.find(f"{W}isLgl"))),
        is_upper=run is not None and bool(is_on(run.find(f"{W}caps"))),
        style="" if style is None else style.get(f"{W}val", ""),
    )
    fonts = None if run is None else run.find(f"{W}rFonts")
    if fonts is not None:
        level.text = with_symbols(level.text, fonts.get(f"{W}ascii", ""))
    return number_of(element.get(f"{W}ilvl")) or 0, level


def _counted(numbers: _Numbers, at: int) -> str:
    """Count a paragraph at a level, and write its label."""
    level, counts = numbers.levels[at], numbers.counts
    if at in numbers.starts:
        counts[at] = numbers.starts.pop(at)
    else:
        counts[at] = counts[at] + 1 if at in counts else level.start
    for upper in range(at):  # a level that is passed over counts as begun
        if upper in numbers.levels:
            counts.setdefault(upper, numbers.levels[upper].start)
    for deeper in [one for one in counts if one > at]:
        restart = numbers.levels[deeper].restart if deeper in numbers.levels else None
        if at < (deeper if restart is None else restart):
            del counts[deeper]
    if level.format == "bullet":
        return f"{_BOXES[level.text]} " if level.text in _BOXES else BULLET

    def shown(match: re.Match[str]) -> str:
        one = int(match[1]) - 1
        upper = numbers.levels.get(one, level)
        kind = "decimal" if level.is_decimal and upper.format != "none" else upper.format
        return written(counts.get(one, upper.start), kind) if one <= at else ""

    label = " ".join(re.sub(r"%([1-9])", shown, level.text)[:_LONGEST_LABEL].split())
    label = label.upper() if level.is_upper else label
    return f"{label} " if label else ""


_ALPHABETS = {
    "lowerLetter": "abcdefghijklmnopqrstuvwxyz",
    "upperLetter": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "russianLower": "абвгдежзиклмнопрстуфхцчшщэюя",
    "russianUpper": "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЭЮЯ",
    "ideographTraditional": "甲乙丙丁戊己庚辛壬癸",
    "ganada": "가나다라마바사아자차카타파하",
}
_CIRCLES = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
_CHINESE = "〇一二三四五六七八九"
_CHINESE_FORMATS = (
    *("chineseCounting", "chineseCountingThousand", "japaneseCounting"),
    *("taiwaneseCounting", "taiwaneseCountingThousand", "koreanCounting"),
)
_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = {
    **{"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth"},
    **{"nine": "ninth", "twelve": "twelfth"},
}
_MOST_LETTERS = 30  # repeated for a number, as in "aaa"


def written(number: int, kind: str) -> str:
    """Write a number in a format of Word (ISO 29500, part 1, section 17.18.59)."""
    match kind:
        case "none":
            return ""
        case "lowerRoman" | "upperRoman":
            return numeral(number, f"{kind[:5]}-roman")
        case "decimalZero":
            return f"{number:02}"
        case "ordinal":
            ending = (
                "th"
                if 10 < number % 100 < 14
                else ["th", "st", "nd", "rd"][min(number % 10, 4) % 4]
            )
            return f"{number}{ending}"
        case "cardinalText" | "ordinalText" if 0 <= number < 100:
            return _in_words(number, is_ordinal=kind == "ordinalText")
        case _ if kind.startswith("decimalEnclosedCircle") and 0 < number <= len(_CIRCLES):
            return _CIRCLES[number - 1]
        case _ if kind in _CHINESE_FORMATS and 0 < number < 100:
            tens, units = divmod(number, 10)
            ten = ("" if tens < 2 else _CHINESE[tens]) + ("十" if tens else "")
            return ten + (_CHINESE[units] if units else "")
        case _ if kind in _ALPHABETS and number > 0:
            times, at = divmod(number - 1, len(_ALPHABETS[kind]))
            if times < _MOST_LETTERS:
                return _ALPHABETS[kind][at] * (times + 1)
    return str(number)


def _in_words(number: int, is_ordinal: bool) -> str:
    """A number below 100 in English words: "Twenty-first"."""
    tens, units = divmod(number, 10)
    words = [_WORDS[number]] if number < 20 else [_TENS[tens - 2]] + [_WORDS[units]] * (units > 0)
    if is_ordinal:
        last = _ORDINALS.get(words[-1], f"{words[-1]}th")
        words[-1] = f"{words[-1][:-1]}ieth" if words[-1].endswith("y") else last
    return "-".join(words).capitalize()
