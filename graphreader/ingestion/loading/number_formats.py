"""Numbers and dates of spreadsheets as a person sees them: "12.5%", "$1,250.00", "2023-06-16".

Format codes are as in ECMA-376, part 1, section 18.8.31. Dates are written by ISO 8601, whatever
the order of their parts in the cell.
"""

import re
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import NamedTuple

BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
    12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy",
    18: "h:mm", 19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm",
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    41: "#,##0", 42: "$#,##0", 43: "#,##0.00", 44: "$#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss",
    47: "mm:ss", 48: "0.0E+0", 49: "@",
}  # fmt: skip
"""The codes of the formats that files name by a number only."""

_MOST_PLACES = 30  # decimal places, as in Excel
_TOKEN = re.compile(
    r'"([^"]*)"?'  # 1: words as they are
    r"|\\(.)"  # 2: a character as it is
    r"|\[\$([^\]-]*)(?:-[^\]]*)?\]"  # 3: the sign of a currency, with its country
    r"|\[([<>=]{1,2})(-?[\d.]+)\]"  # 4, 5: numbers that the section is for
    r"|(\[[hms]+\])"  # 6: hours, minutes or seconds beyond 24 and 60
    r"|\[[^\]]*\]"  # a color
    r"|_.|\*."  # spaces
    r"|([E][+-])"  # 7
    r"|(?P<general>general)"
    r"|(?P<date>y+|m+|d+|h+|s+|e+|am/pm|a/p|上午/下午)"
    r"|(?P<digits>[0#?]+)"
    r"|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)


class _Section(NamedTuple):
    """A section of a format code: its tokens, their kinds, and the numbers that it is for."""

    tokens: tuple[tuple[str, str], ...]  # each as (kind, text)
    kinds: str  # a letter for each token
    condition: tuple[str, float] | None


def shown_number(value: float, code: str, epoch_1904: bool = False) -> str:
    """Return a number as its cell shows it; a code that is not understood gives the plain number.

    `epoch_1904` says that day 0 is 1904-01-01, as in old files of Macintosh.
    """
    sections = _sections(code)
    section, value = _chosen(sections, value)
    if section is None or not section.tokens:
        return plain_number(value)
    kinds = section.kinds
    if "d" in kinds:
        return _date(value, section, epoch_1904)
    if "0" not in kinds:
        words = "".join(
            plain_number(value) if kind == "@" else text for kind, text in section.tokens
        )
        return words if code != "@" else plain_number(value)
    most = 1e21 if kinds in ("0", "0,0") else 1e15  # "0" and "#,##0" are often numbers of cards
    if "/" in kinds or abs(value) >= most:
        return plain_number(value)
    return _number(value, section)


def plain_number(value: float) -> str:
    """Return a number without a format: up to 12 digits, without the noise of binary fractions."""
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return f"{value:.12g}".replace("e+", "E+").replace("e-", "E-")


@lru_cache(maxsize=1000)
def _sections(code: str) -> tuple[_Section, ...]:
    """Parse a format code; "General" has no tokens."""
    if code.strip().lower() in ("general", "", "standard"):
        return ()
    sections: list[_Section] = []
    tokens: list[tuple[str, str]] = []
    condition: tuple[str, float] | None = None
    for match in [*_TOKEN.finditer(code[:255]), None]:
        if match is None or match["other"] == ";":
            kinds = "".join(kind for kind, _ in tokens)
            sections.append(_Section(tuple(tokens), kinds, condition))
            tokens, condition = [], None
        elif match["general"]:
            tokens.append(("@", ""))
        elif match[4]:
            condition = (match[4], float(match[5]) if match[5].count(".") < 2 else 0.0)
        elif part := match[6] or match["date"]:
            tokens.append(("d", part.lower()))
        elif match[7]:
            tokens.append(("E", match[7]))
        elif match["digits"]:
            tokens.append(("0", match["digits"]))
        elif other := match["other"]:
            tokens.append((other if other in ".,%/@" else "-", other))
        elif words := match[1] or match[2] or match[3]:
            tokens.append(("-", words))
    return tuple(sections)


def _chosen(sections: tuple[_Section, ...], value: float) -> tuple[_Section | None, float]:
    """The section for a number, and the number that it shows: without a minus in the second."""
    if not sections:
        return None, value
    for one in sections[:2]:
        if one.condition:
            sign, limit = one.condition
            tests = {"<": value < limit, ">": value > limit, "=": value == limit}
            if any(tests.get(char, False) for char in sign) != (sign == "<>" and value == limit):
                return one, value
    plain = [one for one in sections[:3] if not one.condition]
    if not plain:
        return None, value
    if any(one.condition for one in sections):
        return plain[0], value
    if value < 0 and len(plain) > 1:
        return plain[1], -value
    return (plain[2], value) if value == 0 and len(plain) > 2 else (plain[0], value)


def _number(value: float, section: _Section) -> str:
    """Write a number into the places of its digits, with the words around them."""
    tokens = list(section.tokens)
    kinds = section.kinds
    first, last = kinds.index("0"), kinds.rindex("0")
    while last + 1 < len(kinds) and kinds[last + 1] == ",":  # each trailing comma is a thousand
        value /= 1000
        del tokens[last + 1]
        kinds = kinds[: last + 1] + kinds[last + 2 :]
    value *= 100 ** kinds.count("%")
    body = kinds[first : last + 1]
    point = body.find(".")
    whole, _, fraction = "".join(text for _, text in tokens[first : last + 1]).partition(".")
    before, behind = ("".join(t for _, t in part) for part in (tokens[:first], tokens[last + 1 :]))
    if "E" in body:
        places = len(re.match(r"[0#?]*", fraction)[0])  # type: ignore[index]
        number = f"{value:.{min(places, _MOST_PLACES)}E}"
        return f"{before}{number}{behind}".strip()
    if "-" in body and point < 0:
        return f"{before}{_in_places(value, tokens[first : last + 1])}{behind}".strip()
    digits = "".join(char for char in fraction if char in "0#?")[:_MOST_PLACES]
    smallest = Decimal(1).scaleb(-len(digits))
    rounded = Decimal(repr(value)).quantize(smallest, ROUND_HALF_UP, Context(prec=60))
    number = f"{abs(rounded):{',' if ',' in whole else ''}f}"
    number, _, decimals = number.partition(".")
    least = sum(char == "0" for char in digits)
    while len(decimals) > least and decimals.endswith("0"):
        decimals = decimals[:-1]
    fewest = whole.count("0")
    if number == "0" and not fewest:
        number = ""
    number = number.rjust(fewest, "0") + (f".{decimals}" if decimals else "")
    sign = "-" if rounded < 0 else ""
    return f"{sign}{before}{number}{behind}".strip()


def _in_places(value: float, tokens: list[tuple[str, str]]) -> str:
    """Write a whole number into places that words part, from the right: "(555) 123-4567"."""
    left = str(abs(round(value)))
    pieces: list[str] = []
    for kind, text in reversed(tokens):
        if kind != "0":
            pieces.append(text)
            continue
        count = len(text)
        piece, left = left[-count:], left[:-count]
        pieces.append(piece.rjust(text.count("0"), "0"))
    return ("-" if value < 0 else "") + (left + "".join(reversed(pieces))).lstrip()


def _date(value: float, section: _Section, epoch_1904: bool) -> str:
    """Write a number of days as an ISO date, a time of day, or a duration."""
    parts = [text for kind, text in section.tokens if kind == "d"]
    if elapsed := next((part for part in parts if part.startswith("[")), ""):
        return _duration(value, elapsed[1], any(part[0] == "s" for part in parts))
    letters = "".join(dict.fromkeys(part[0] for part in parts))
    has_seconds, has_hours = "s" in letters, "h" in letters
    has_day = "d" in letters
    has_month = "m" in letters and (has_day or "y" in letters or not (has_hours or has_seconds))
    days = value + (1462 if epoch_1904 else 0)
    if not 0 <= days < 2_958_466:
        return plain_number(value)
    days += days < 60  # Excel counts a 29 February 1900
    moment = datetime(1899, 12, 30) + timedelta(
        seconds=round(days * 86_400, 0 if has_seconds else 3)
    )
    if not has_seconds:
        moment += timedelta(milliseconds=500)
    time = ""
    if has_hours or has_seconds:
        time = moment.strftime("%H:%M:%S" if has_seconds and has_hours else "%H:%M")
        if has_seconds and not has_hours:
            time = moment.strftime("%M:%S")
    if not ("y" in letters or "e" in letters or has_day or has_month or not time):
        return time
    date = moment.strftime("%Y-%m-%d").rjust(10, "0")
    if not has_day and not time:
        date = date[:7] if has_month else date[:4]
    return f"{date} {time}".strip()


def _duration(value: float, unit: str, has_seconds: bool) -> str:
    seconds = round(abs(value) * 86_400)
    sign = "-" if value < 0 else ""
    if unit == "s":
        return f"{sign}{seconds}"
    minutes, rest = divmod(seconds, 60)
    first, minutes = divmod(minutes, 60) if unit == "h" else (minutes, -1)
    pieces = [str(first), *([f"{minutes:02}"] if minutes >= 0 else [])]
    return sign + ":".join([*pieces, *([f"{rest:02}"] if has_seconds else [])])
