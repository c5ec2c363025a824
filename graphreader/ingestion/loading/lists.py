"""Numbers of list items as HTML counts and writes them: 4, d, D, iv, IV."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

BULLET = "- "
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s{0,9}:[^;]{0,60}?\b(none|(?:lower|upper)-\w+)")
_STYLES = {
    **{"a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman"},
    **{"lower-latin": "lower-alpha", "upper-latin": "upper-alpha"},
}
_ROMAN = {
    **{1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl"},
    **{10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"},
}


@dataclass(slots=True, eq=False)
class Item:
    """The start of a list item or note, with its bullet, number or mark."""

    label: str
    is_note: bool = False


@dataclass(slots=True, eq=False)
class List:
    """An open list; `number` is the next item's, None for bullets.

    `countdown` are the items of a reversed list without a start, whose first number is their count.
    """

    number: int | None = None
    step: int = 1
    style: str = ""
    countdown: list[Item] | None = None

    @classmethod
    def of(cls, tag: str, attributes: Mapping[str, str]) -> "List":
        """Open the list of a start tag."""
        style = _LIST_STYLE.search(attributes.get("style", ""))
        kind = style[1] if style else attributes.get("type", "")
        if tag != "ol" or kind == "none":
            return cls()
        start = number_of(attributes.get("start"))
        if "reversed" not in attributes:
            return cls(1 if start is None else start, style=_STYLES.get(kind, kind))
        items: list[Item] | None = [] if start is None else None
        return cls(start or 0, -1, _STYLES.get(kind, kind), items)

    def item(self, attributes: Mapping[str, str]) -> Item:
        """Begin the next item."""
        if self.number is None:
            return Item(BULLET)
        value = number_of(attributes.get("value"))
        number = self.number if value is None else value
        self.number = number + self.step
        item = Item(f"{numeral(number, self.style)}. ")
        if self.countdown is not None:
            self.countdown.append(item)
        return item

    def close(self) -> None:
        """Number the items of a reversed list."""
        items = self.countdown or []
        for place, item in enumerate(items):
            item.label = f"{numeral(len(items) - place, self.style)}. "


def number_of(written: str | None) -> int | None:
    """The number of an attribute, at most nine digits, or None."""
    match = re.match(r"\s*([-+]?[0-9]{1,9})(?![0-9])", written or "")
    return int(match[1]) if match else None


def numeral(number: int, style: str) -> str:
    """A number as letters (a, ..., z, aa) or as a Roman numeral, where its style says so."""
    written = ""
    if style.endswith("-alpha"):
        while number > 0:
            number, letter = divmod(number - 1, 26)
            written = chr(97 + letter) + written
    elif style.endswith("-roman") and 0 < number < 4000:
        for value, letters in _ROMAN.items():
            times, number = divmod(number, value)
            written += letters * times
    written = written or str(number)
    return written.upper() if style.startswith("upper") else written
