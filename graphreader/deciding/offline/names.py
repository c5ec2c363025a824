"""Names, titles, dates and numbers by their look: capitals, quotation marks, digits.

In Chinese, which has no capitals, a name is what stands in 《》 or joins parts with a middle dot.
"""

import re
from itertools import chain

from graphreader.deciding.offline.vocabulary import MONTHS
from graphreader.deciding.offline.words import HAN, is_stop_word

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
