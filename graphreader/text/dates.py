"""The time that a sentence, a heading or the metadata of a document names, as ISO 8601.

A time is a day, a month, a year or an interval. A number is a year only by its form or by the words
beside it: "in 1923", "(1923)", "1914–1918", "1923年", but not "1984 pages" or "Room 1408".
Hours and time zones are left out.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from graphreader.text.scripts import compatible, simplified
from graphreader.text.words import MONTHS, word_groups, word_list

_SIGNS = str.maketrans("‐‑‒–—−－～〜○", "---------〇")
_NUMBERS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "元": 1}
for _names in (word_groups("months"), word_groups("foreign_months")):
    _NUMBERS |= {name.lower(): at for names in _names for at, name in enumerate(names, 1)}
_NUMBERS |= {name[:3].lower(): at for at, name in enumerate(MONTHS, 1)} | {"sept": 9}
_MONTH_NAMES = "|".join(
    name.replace("mars", "(?-i:mars)")  # not the planet
    for name in sorted(_NUMBERS, key=len, reverse=True)
    if len(name) > 1
)
_CENTURIES = word_groups("centuries")[0]
_NUMBERS |= {name: number for number, name in enumerate(_CENTURIES, 10)}
_ERAS = {"民国": 1911, "明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}

_YEAR = r"(?:1\d|2[01])\d\d"
_TO = r"(?: ?[-/~至到] ?| (?:to|until|till|through|bis|au|hasta) )"
_AND = r" (?:and|und|et|y) "
_TO_AND = rf"(?:{_TO}|{_AND})"
_BETWEEN = re.compile(r"\b(?:between|zwischen|entre)(?: the)? $", re.IGNORECASE)
_BORDER = r"(?<![\w.,:/$€£¥-])"
_END = r"(?!\w|[.,:]\d|[-/]\d)"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th|er|\.)?(?!\d)"
_MONTH = rf"(?:{_MONTH_NAMES})(?!\w)\.?"
_OF = r"(?: (?:of |del? )?|[-/])"
_BEFORE_YEAR = (
    r"in(?: the)?(?: years?)?|during|since|by|of|from|until|till|before|after|between|years?|early"
    r"|late|mid|summer|spring|autumn|fall|winter|christmas|easter|season|fiscal(?: year)?|fy"
    r"|born|died|founded|established|published"
    r"|im jahre?|seit|von|bis|en|depuis|desde|entre|zwischen"
)
_BORN = r"(?:(?:b|d|c|ca|est)\. ?|(?:born|died|circa|founded) |[*†] ?)"
_ABOUT = r"(?:(?:early|late|about|around|circa|c\.|ca\.|mid) |mid-)?"
_HAN_NUMBER = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_HAN_DAY = rf"(?P<d1>{_HAN_NUMBER}) ?[日号일]"
_HAN_END = (
    rf"(?: ?[-至到~] ?(?={_HAN_NUMBER} ?[月월日号일])"
    rf"(?:(?P<m>{_HAN_NUMBER}) ?[月월] ?)?(?:(?P<d>{_HAN_NUMBER}) ?[日号일])?)?"
)

_CAN_NAME = re.compile(r"\d|century|[年月世]", re.IGNORECASE)
_AMOUNT = re.compile(  # words behind which a number is no time
    rf"\b(?:{'|'.join(sorted(word_list('amounts')))}) (?:of|from) $"
    r"|\b(?:rose|fell|grew|increased|decreased|reduced|raised|up|down) (?:by|from) $"
    rf"|\b(?:{'|'.join(sorted(word_list('numbered')))})[.:]? ?$",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    rf"(?:{_TO_AND}\d[\d.,]{{0,12}})?[ -]?(?:{'|'.join(sorted(word_list('counted')))})(?!\w)"
)
_PLURAL = re.compile(r" (?!(?:was|is|has|his|this|as|its|thus|always)\b)[a-z]{1,20}[^\Ws]s\b")
_DURATION = re.compile(r"来|前|间|多|的?历史")
_NO_MONTHS = frozenset({"may", "mar", "march"})  # alone, in small letters

LONGEST = 3_000
"""The length of the longest text that may name one time, in characters: it is no sentence."""

_Parts = tuple[int, ...]
"""Year, month and day, or the first of these; the year 0 where it is not known."""


class _Time(NamedTuple):
    """A time in a text: its span, and its first and last day, month or year.

    Both are empty for a time that can be read in several ways.
    """

    start: int
    end: int
    first: _Parts = ()
    last: _Parts = ()

    def bounds(self) -> tuple[_Parts, _Parts]:
        """The first and the last day; a month has up to 31."""
        return (*self.first, 1, 1)[:3], (*self.last, *(12, 31)[len(self.last) - 1 :])


def when_of(text: str, earlier: str = "") -> str:
    """The one time that a text names: "2023-06-16", "2023-06", "2023" or "1914/1918".

    Empty if the text names none, an ambiguous one ("06/07/2023") or several that are no interval;
    of times within each other ("in 2023, on 16 June 2023") it is the shortest. A day without a year
    ("16 June") is the one nearest to `earlier`, another time of this form; without it there is
    none. Years before Christ have a minus, as historians count: 221 BC is "-0221". A text of more
    than LONGEST characters names none.
    """
    text, found = _found(text)
    times = [_completed(one, earlier) for one in _joined(text, found)]
    if not times or not all(one.first for one in times):
        return ""
    bounds = [one.bounds() for one in times]
    shortest = (max(low for low, _ in bounds), min(high for _, high in bounds))
    if shortest not in bounds:
        return ""
    time = times[bounds.index(shortest)]
    return "/".join(dict.fromkeys((_iso(time.first), _iso(time.last))))


def names_time(text: str) -> bool:
    """Whether a text names a time, perhaps an ambiguous one, or one of several."""
    return next(_found(text)[1], None) is not None


def _found(text: str) -> tuple[str, Iterator[_Time]]:
    """The text as it is searched, and its times; none in a text that is too long."""
    if len(text) > LONGEST or not _CAN_NAME.search(text):
        return "", iter(())
    text = " ".join(simplified(compatible(text.translate(_SIGNS))).split())
    return text, _times(text)


def _iso(parts: _Parts) -> str:
    year, *rest = parts
    return "-".join(["-" * (year < 0) + f"{abs(year):04d}", *(f"{one:02d}" for one in rest)])


def _completed(time: _Time, earlier: str) -> _Time:
    """A time without a year in the year in which it is nearest to another time."""
    if not time.first or time.first[0]:
        return time
    near = re.match(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", earlier)
    if not near or len(time.first) < 3:
        return time._replace(first=(), last=())
    year = int(near[1])
    month, day = int(near[2] or 7), int(near[3] or 1)

    def distance(one: int) -> int:
        months = 12 * (one - year) + time.first[1] - month
        return abs(31 * months + time.first[2] - day)

    years = [one for one in range(year - 1, year + 2) if _is_day(one, *time.first[1:])]
    if not years:
        return time._replace(first=(), last=())
    year = min(years, key=distance)
    return time._replace(first=(year, *time.first[1:]), last=(year, *time.last[1:]))


def _times(text: str) -> Iterator[_Time]:
    """Yield the times in the text in order; where some overlap, the first and longest."""
    found = [
        (time, match.start() if "after" in form.groupindex else -1)
        for needle, forms in _READERS
        if needle.search(text)
        for form, read in forms
        for match in form.finditer(text)
        if (time := read(match)) and (read is _western_date or not _is_amount(text, time.start))
    ]
    end = 0
    for time, joint in sorted(found, key=lambda one: (one[0].start, -one[0].end)):
        if time.start >= end and joint in (-1, end):
            end = time.end
            yield time


def _joined(text: str, times: Iterable[_Time]) -> Iterator[_Time]:
    """Join two times that are the ends of an interval: "from 1914 to 1918"."""
    previous: _Time | None = None
    for time in times:
        if previous:
            joint = text[previous.end : time.start]
            if _is_before(previous, time) and _is_interval(text, previous.start, joint):
                time = time._replace(start=previous.start, first=previous.first)
            else:
                yield previous
        previous = time
    if previous:
        yield previous


def _is_before(one: _Time, other: _Time) -> bool:
    """Whether a time with a year ends before another begins."""
    return any(one.first[:1]) and any(other.first) and one.bounds()[1] < other.bounds()[0]


def _is_interval(text: str, start: int, joint: str) -> bool:
    """Whether words between two times make an interval; "and" does behind "between"."""
    if re.fullmatch(_AND, joint, re.IGNORECASE):
        return bool(_BETWEEN.search(text[max(0, start - 20) : start]))
    return bool(re.fullmatch(_TO, joint, re.IGNORECASE))


def _numbers(match: re.Match[str]) -> dict[str, int]:
    return {name: _number(value) for name, value in match.groupdict().items() if value}


def _number(word: str) -> int:
    """The number that digits, a month, an ordinal word or Han numerals mean."""
    word = word.casefold().rstrip(".")
    if digits := re.match(r"\d+", word):
        return int(digits[0])
    if word in _NUMBERS:
        return _NUMBERS[word]
    total = value = 0
    for sign in word:
        if unit := {"十": 10, "百": 100}.get(sign):
            total, value = total + (value or 1) * unit, 0
        else:
            value = value * 10 + _NUMBERS.get(sign, 0)
    return total + value


def _date(match: re.Match[str]) -> _Time:
    """Read a day or month, or an interval of two."""
    number = _numbers(match)
    parts = [
        part for part in "ymd" if part == "y" or not number.keys().isdisjoint({part, f"{part}1"})
    ]
    first = tuple(number.get(f"{part}1") or number.get(part, 0) for part in parts)
    last = tuple(number.get(part) or number.get(f"{part}1", 0) for part in parts)
    start, end = match.span()
    is_pair = re.fullmatch(_AND, match.groupdict().get("to") or "", re.IGNORECASE)
    is_known = first <= last and _is_day(*first) and _is_day(*last)
    if not is_known or (is_pair and not _is_interval(match.string, start, match["to"])):
        return _Time(start, end)
    return _Time(start, end, first, last)


def _is_day(year: int, month: int = 1, day: int = 1) -> bool:
    """Whether the calendar has a day; the year 0 stands for any year."""
    return 1 <= month <= 12 and 1 <= day <= monthrange(year or 2000, month)[1]


def _western_date(match: re.Match[str]) -> _Time | None:
    """Read a date with the name of a month, which may be a verb: "5 may come"."""
    if not match["y"] and not _NO_MONTHS.isdisjoint((match["m"], match["m1"])):
        return None
    is_month = "d" not in match.re.groupindex
    if is_month and _is_counted(match.string, match.end(), int(match["y"])):
        return None
    return _date(match)


def _numeric_date(match: re.Match[str]) -> _Time | None:
    """Read "16.06.2023" and "16/06/2023"; ambiguous where both may be the month."""
    day, sign, month, year = int(match[1]), match[2], int(match[3]), int(match[4])
    if sign != "." and day != month and max(day, month) <= 12:
        return _Time(*match.span())
    if sign != "." and month > 12:
        day, month = month, day
    parts = (year + (2000 if year < 100 else 0), month, day)
    return _Time(*match.span(), parts, parts) if _is_day(*parts) else _Time(*match.span())


def _year(match: re.Match[str]) -> _Time | None:
    year, (start, end) = int(match["year"]), match.span("year")
    if _is_counted(match.string, end, year):
        return None
    return _Time(start, end, (year,), (year,))


def _years(match: re.Match[str]) -> _Time | None:
    """Read "1914-1918", "1914-18" and "2022/23"; "2023-06" is a month."""
    (start, end), first, last = match.span(), int(match["y1"]), int(match["y"])
    if _is_counted(match.string, end, last):
        return None
    is_month = len(match["y"]) == 2 and 0 < last <= 12
    if is_month and (last <= first % 100 or match[0] == match.string):
        return _Time(start, end, (first, last), (first, last))
    last += first - first % 100 if last < 100 else 0
    return _Time(start, end, (first,), (last,)) if first < last else None


def _is_amount(text: str, start: int) -> bool:
    """Whether the words before a number say that it is an amount or a name."""
    return bool(_AMOUNT.search(text[max(0, start - 30) : start]))


def _is_counted(text: str, end: int, number: int) -> bool:
    """Whether a number counts the next word; a round number may count any word in the plural."""
    return bool(_COUNTED.match(text, end) or (number % 100 == 0 and _PLURAL.match(text, end)))


def _year_of_era(match: re.Match[str]) -> _Time | None:
    """Read years before and after Christ: "384-322 BC", "79 AD"."""
    number = _numbers(match)
    sign = -1 if match["bc"] else 1
    last = sign * number["y"]
    first = sign * number.get("y1", number["y"])
    return _Time(*match.span(), (first,), (last,)) if first <= last != 0 else None


def _decade(match: re.Match[str]) -> _Time:
    first = int(match["decade"])
    return _Time(*match.span(), (first,), (first + (9 if first % 100 else 99),))


def _century(match: re.Match[str]) -> _Time | None:
    """Read a century, which begins with its year 1, or one of its decades: "20世纪80年代"."""
    number = _numbers(match)
    end = 100 * number["century"]
    if not 100 <= end <= 2100:
        return None
    first, last = end - 99, end
    if match["bc"]:
        first, last = -last, -first
    elif "tens" in number:
        first = end - 100 + number["tens"]
        last = first + 9
    return _Time(*match.span(), (first,), (last,))


def _han_date(match: re.Match[str]) -> _Time | None:
    """Read a Chinese, Japanese or Korean date; None for a number of years ("三年")."""
    number, (start, end) = _numbers(match), match.span()
    year = number["y1"]
    is_short = not re.fullmatch(rf"{_YEAR}|[〇零一二三四五六七八九]{{4}}", match["y1"])
    is_duration = year % 1000 == 0 and _DURATION.match(match.string, end)
    if not (match["bc"] or match["ad"] or match["era"]) and (is_short or is_duration):
        return None
    if match["era"]:
        year += _ERAS[match["era"]]
    if match["bc"]:
        return _Time(start, end, (-year,), (-year,))
    time = _date(match)
    if time.first:
        time = time._replace(first=(year, *time.first[1:]), last=(year, *time.last[1:]))
    return time


# Forms of times by a pattern that a text with any of them matches, with the functions that read
# them. The groups y1, m1, d1 are year, month and day of the first day, y, m, d of the last one:
# parts that one lacks are the other's.
_FORMS: dict[str, list[tuple[str, Callable[[re.Match[str]], _Time | None]]]] = {
    rf"\b(?:{_MONTH_NAMES})(?!\w)": [
        (
            rf"{_BORDER}(?:(?P<d1>{_DAY})(?:{_OF}(?P<m1>{_MONTH}))?(?P<to>{_TO_AND}))?"
            rf"(?P<d>{_DAY})(?: day)?{_OF}(?P<m>{_MONTH})(?:,?{_OF}(?P<y>{_YEAR})(?!\d|,\d))?",
            _western_date,
        ),
        (
            rf"\b(?P<m1>{_MONTH}) (?P<d1>{_DAY})"
            rf"(?:(?P<to>{_TO_AND})(?:(?P<m>{_MONTH}) )?(?P<d>{_DAY}))?"
            rf"(?:,? (?:[\d:]{{5,8}} )?(?P<y>{_YEAR})(?!\d|,\d))?",
            _western_date,
        ),
        (
            rf"\b(?:(?P<m1>{_MONTH})(?P<to>{_TO_AND}))?(?P<m>{_MONTH}),?{_OF}(?P<y>{_YEAR}){_END}",
            _western_date,
        ),
    ],
    r"\d[-./]\d\d?[-./]\d\d?": [
        (
            rf"(?<![\d.,-])(?P<y>{_YEAR})([-/.])(?P<m>\d\d?)\2(?P<d>\d\d?)(?!\d|[-.]\d)",
            _date,
        ),
        (
            r"(?<![\d.,/-])(\d\d?)([-/.])(\d\d?)\2"
            rf"({_YEAR}|\d\d(?=,? \d?\d:\d\d))(?!\d|[-./]\d)",
            _numeric_date,
        ),
    ],
    rf"(?<!\d){_YEAR}(?!\d)": [
        (rf"{_BORDER}(?P<y1>{_YEAR})(?: ?- ?|/)(?P<y>{_YEAR}|\d\d){_END}", _years),
        (rf"(?<!\d)(?P<y1>{_YEAR}) ?[-~至到] ?(?P<y>{_YEAR}) ?[年년](?!代)", _years),
        (rf"\b(?:{_BEFORE_YEAR})[ -]{_ABOUT}(?P<year>{_YEAR}){_END}", _year),
        (rf"\( ?{_BORN}?(?P<year>{_YEAR})\)", _year),
        (rf"\A(?P<year>{_YEAR})(?=[:;]|, (?!\d)| -|\Z| (?:was|saw|began|wurde)\b)", _year),
        (rf"\b(?-i:[A-Z])\w{{1,30}}, (?P<year>{_YEAR})(?=\.?\Z)", _year),
        (rf"(?P<after>{_TO_AND}|, )(?P<year>{_YEAR}){_END}", _year),
        (r"(?<![\d.,$A-Za-z_])(?P<decade>(?:1\d|20)\d0)(?:'?s\b| ?年代)", _decade),
    ],
    r"\b(?:AD|A\. ?D\.|CE|B\.? ?CE?|FY|anno|year)(?![a-z])|\bFY": [
        (rf"\b(?:the year |fy ?|anno |(?-i:A\.? ?D\.?) )(?P<year>\d{{2,4}}){_END}", _year),
        (
            rf"{_BORDER}(?:(?P<y1>\d{{1,4}}){_TO})?(?P<y>\d{{1,4}}) ?"
            r"(?-i:(?P<bc>B\.? ?C\.?(?:E\.?)?)|A\.? ?D\.?|CE)(?!\w)",
            _year_of_era,
        ),
    ],
    "century|世纪": [
        (
            rf"\b(?P<century>\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(_CENTURIES)})[ -]century\b"
            r"(?P<bc> (?-i:B\.?C))?",
            _century,
        ),
        (
            rf"(?P<bc>公元前|前)?(?P<century>{_HAN_NUMBER})世纪"
            r"(?:(?P<tens>\d0|[一二三四五六七八九]十)年代)?",
            _century,
        ),
    ],
    "[年년月월]": [
        (
            r"(?<!\d)(?<!\d[、和及])(?:(?P<bc>(?:公元|西元|(?<![^(至到~-]))前)|(?P<ad>公元|西元)"
            rf"|(?P<era>{'|'.join(_ERAS)}))? ?"
            r"(?P<y1>\d{1,4}|[〇零一二三四五六七八九十百元]{1,4}) ?[年년](?!代)"
            rf"(?: ?(?P<m1>{_HAN_NUMBER}) ?[月월](?: ?{_HAN_DAY})?{_HAN_END})?",
            _han_date,
        ),
        (rf"(?P<m1>{_HAN_NUMBER}) ?[月월] ?{_HAN_DAY}{_HAN_END}", _date),
    ],
}
_READERS = [
    (
        re.compile(needle, re.IGNORECASE),
        [(re.compile(form, re.IGNORECASE), read) for form, read in forms],
    )
    for needle, forms in _FORMS.items()
]


_DATE_KEYS = word_groups("date_keys")[0]
_COMPACT = re.compile(r"\s*(?:D:)?([12]\d{3})([01]\d)([0-3]\d)(?:[\dTtZz+-].*)?\Z", re.DOTALL)


def date_of(metadata: Mapping[str, Any]) -> str:
    """The date of a document by its metadata, in the form of `when_of`; empty if they have none.

    The metadata are those of front matter, an e-mail, a book, a PDF, a page or a record. The date
    of a text is believed before that of its file; a date of a change is none.
    """
    values: dict[str, Any] = {}
    for key, value in metadata.items():
        values.setdefault("".join(filter(str.isalpha, key.casefold())), value)
    dates = (_date_of_value(values[key]) for key in _DATE_KEYS if key in values)
    return next(filter(None, dates), "")


def _date_of_value(value: Any) -> str:
    """The date of a value; of a list the first that has one, of a book's years before 1000 none."""
    if isinstance(value, list):
        return next(filter(None, map(_date_of_value, value)), "")
    text = str(value) if isinstance(value, str | int) else ""
    when = when_of(_COMPACT.sub(r"\1-\2-\3", text))
    return when if when[:1] in ("1", "2") else ""
