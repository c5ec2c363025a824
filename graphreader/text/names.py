"""Names, titles, dates, numbers and key elements of a text, recognized by their form.

English names have capitals, and titles have quotation marks. Chinese has no capitals: a Chinese
name stands in 《》 or joins its parts with a middle dot. There is no list of names.
"""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain

import regex

from graphreader.text.scripts import CJK, HAN, HAN_RUN
from graphreader.text.words import (
    CHINESE_JOINTS,
    MAY,
    MONTHS,
    fold,
    is_common,
    is_stop_word,
    stem,
    unspaced_words,
    word_groups,
    word_list,
    words_of,
)

LONGEST_ELEMENT = 200  # characters
MOST_ELEMENTS = 12
LONGEST_HAN_WORD = 6
LONGEST_UNSPACED = 40  # characters of a key element in Thai, of which only phrases have spaces
_CAPITAL = r"\p{Lu}"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{CJK}]]"
_SAINT = rf"(?:St|Ste|Mt|Ft)\.(?= {_CAPITAL})"  # not behind a name: "Main St. He left."
_CAPITALISED = (
    rf"(?:{_CAPITAL}\.(?:\p{{Ll}}\.)*(?:{_CAPITAL}\.|[lo]\.)*"
    rf"|[AIK]/S\b|Co\.(?= KG)|(?:(?:al|el|ad|an|ar|as|ash|az)-)?"
    rf"{_CAPITAL}{_LETTER}*(?:['’\-–.&]{_LETTER}+)*(?:s['’](?= [A-Z]))?)"
)
_NAME_PARTICLE = (
    r"(?:of the|of|and the|de la|de las|de los|de|del|della|di|da|do|dos|du|la|le|les|von|van"
    r"|der|den|ter|bin|ibn|al|el|OF THE|OF|DE|&"
    # "Charles II the Bald", but not "In Washington the White House"
    rf"|the(?= (?:{'|'.join(word_list('epithets'))})\b(?! {_CAPITAL})))"
)
_LEGAL_FORM = r"(?:e\. ?V|[Ss]\.r\.[lo]|a\.s|p\.l\.c|d\.o\.o)\."  # behind the name of a company
_NAME = regex.compile(
    rf"(?<![\p{{L}}\p{{M}}\p{{N}}])(?:{_SAINT}|{_CAPITALISED})"
    rf"(?: (?:{_NAME_PARTICLE} (?:{_SAINT}|(?:d['’])?{_CAPITALISED})|(?:d['’])?{_CAPITALISED}))*"
    rf"(?: {_LEGAL_FORM})?",
    regex.V1,
)
_OWNER = re.compile(r"(.+?)['’]s\b")
_TITLE = re.compile(
    r"《([^》\n]{1,60})》|「([^」\n]{2,40})」|“([^”\n]{2,60})”|(?<!\w)\"([^\"\n]{2,60})\"(?!\w)"
)
_DOTTED = re.compile(rf"[{HAN}]{{1,8}}(?:[·・•‧][{HAN}]{{1,8}})+")
_FOREIGN_MONTHS = list(chain.from_iterable(word_groups("foreign_months")))
_MONTH = (
    rf"(?:{'|'.join(chain(MONTHS, _FOREIGN_MONTHS, map(str.capitalize, _FOREIGN_MONTHS)))}"
    rf"|(?:{'|'.join(month[:3] for month in MONTHS)}|Sept)\.?)"
)
_DATE = re.compile(
    rf"\b\d{{1,2}}\.? (?:de )?{_MONTH}(?:(?:,| del?)? \d{{3,4}})?(?!\w)"
    rf"|\b{_MONTH} \d{{1,2}}(?:, \d{{3,4}})?\b"
    rf"|\b{_MONTH} \d{{4}}\b|\b\d{{1,2}}(?:st|nd|rd|th) century\b"
    r"|(?<![\d.,/-])(?:\d{4}([/.-])\d{1,2}\1\d{1,2}|\d{1,2}([/.-])\d{1,2}\2(?:\d{4}|\d{2}))(?![\d/-]|\.\d)"
    r"|(?:前|公元前|公元)?\d{1,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日|\d{1,2}世纪(?:\d0年代)?"
    r"|[〇零一二三四五六七八九]{4}年(?:[一二三四五六七八九十]{1,2}月)?(?:[一二三四五六七八九十]{1,3}日)?"
)
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s?[AaPp]\.?\s?[Mm]\b\.?)?"
# The time of a message or of a line of a log: no question asks for it. Other times are elements.
_STAMP = re.compile(
    rf"(?:^|(?<=[\[(|,] )|(?<=[\[(|,])){_CLOCK}(?=[\])]|\s+(?:[-–—<]|-->)|\s+[^\s:]{{1,40}}:\s)"
    r"|(?:\bT|\b)\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,6})?"
    r"(?: ?(?:Z\b|[AP]M\b|[+-]\d{2}:?\d{2}\b))?"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\.?,? (?=\|)"
)
_TIME = re.compile(rf"(?<![\d:]){_CLOCK}(?![\d:])")
_SIGNED = re.compile(
    r"\b[A-Za-z](?:\+\+(?![A-Za-z])|#(?!\w))|(?<![\w.])\.[A-Z]\w+|\b[A-Z]+(?:&[A-Z]+)+\b"
    r"|\b[A-Z]{1,6}-\d+\b"
)
_YEAR = re.compile(r"(?<![\d.,])(?<![A-Z]-)(?:1\d{3}|20\d{2})(?![\d,]|\.\d)")
_HAN_DIGITS = "〇零一二两兩三四五六七八九十百千万萬亿億廿卅"
_HAN_UNITS = sorted(word_list("han_units"), key=len, reverse=True)
_LONG_HAN_UNIT = f"(?:{'|'.join(one for one in _HAN_UNITS if len(one) > 1)})"
_HAN_UNIT = f"(?:{'|'.join(_HAN_UNITS)})"
_NUMBER = re.compile(
    rf"(?<!(?![{CJK}])[\w.,])[$€£]?"
    r"(?:\d{1,3}(?: \d{3}){0,3} 000|(?:\d+ )?\d{1,2}/\d{1,3}(?![\d/])|\d+\^-?\d+|\d*[½¼¾⅓⅔⅛]"
    r"|\d+(?:[.,'’]\d+)*)(?!\d)"
    r"(?:%| ?(?:°[CF]|(?:percent|million|billion|miles|metres|meters|km/h|m/s|[kcm]?m|ha|kg|t"
    r"|[kMG]Wh?)"
    r"(?:\^-?\d|[²³])?(?![\w²³^])))?"
    rf"(?:[万亿千百]?[%％]?{_HAN_UNIT}?)?"
)
# Numerals with their unit, or with 十 and the like: 三十七公里, 三百五十, 百分之五.
_HAN_NUMBER = f"[{_HAN_DIGITS}]{{1,20}}"
_HAN_NUMERAL = re.compile(
    rf"百分之{_HAN_NUMBER}(?:点{_HAN_NUMBER})?|{_HAN_NUMBER}分之{_HAN_NUMBER}"
    rf"|第?(?:[{_HAN_DIGITS}]{{2,20}}|[一二两兩三四五六七八九十半](?={_LONG_HAN_UNIT}))(?:点{_HAN_NUMBER})?"
    rf"[多余餘几]?{_HAN_UNIT}"
    rf"|(?<![{_HAN_DIGITS}])[一二两兩三四五六七八九][百千万萬亿億][{_HAN_DIGITS}]{{0,20}}"
)
_LABEL = re.compile(r"(?:(?<=; )|^)([^\W\d_][^:;|\n]{0,99}): ")
LEAST_LABELS = 2
"""The number of labels from which a fact is a record."""
_USUAL_LABELS = word_list("labels")
_INITIAL = regex.compile(rf"(?:{_CAPITAL}\.)+")
_FINAL_POINT = regex.compile(rf"(?:^|[ .]){_CAPITAL}\.$|\b(?:Jr|Sr|Inc|Ltd|Co)\.$|{_LEGAL_FORM}$")
_FOREIGN_QUESTION_WORDS = word_list("foreign_question_words")
_LIST = re.compile(r"(?<=\bBC|\bAD|\bCE) and the | and the (?=.* of )")
_INITIALS_ONLY = re.compile(r"[A-Z]\.?$|[IVX]+\.?$")


def names_of(text: str) -> list[str]:
    """List runs of capitalised words ("Siege of Orléans"), titles, Chinese names with a middle dot.

    White space in `text` must be single spaces. A name does not begin or end with a stop word.
    """
    matches = (match.group() for match in _NAME.finditer(text))
    parts = chain.from_iterable(_LIST.split(match) for match in matches)
    is_mixed = not text.isupper()
    runs = chain.from_iterable(_names_in_run(part, is_mixed) for part in parts)
    # Chinese names with a middle dot stand right behind and before other words.
    pieces = chain.from_iterable(map(CHINESE_JOINTS.split, _DOTTED.findall(text)))
    return list(dict.fromkeys([*runs, *filter(_DOTTED.fullmatch, pieces), *titles_of(text)]))


def titles_of(text: str) -> list[str]:
    """List the texts in quotation marks or 《》 that are short enough for a title."""
    titles = ("".join(match.groups(default="")).strip(" ,.，。") for match in _TITLE.finditer(text))
    return [title for title in titles if len(title) > 1]


def key_elements_of(fact: str, recurring: frozenset[str] = frozenset()) -> list[str]:
    """List the key elements of an atomic fact, at most 12: names, dates, numbers, then rare words.

    The values of a record ("Station: Voss; Height: 56") come before the names of its columns.
    `recurring` are the probable Chinese words of the whole text, from `recurring_han`.
    """
    labels = _LABEL.findall(fact)
    if len(labels) < LEAST_LABELS:
        labels = [label for label in labels[:1] if label.casefold() in _USUAL_LABELS]
    values = _LABEL.sub(lambda one: "| " if one[1] in labels else one[0], fact) if labels else fact
    names = (label for label in labels if label.casefold() not in _USUAL_LABELS)
    found = [*_elements(values, recurring), *chain.from_iterable(_elements(one) for one in names)]
    # Of a fact of usual labels and times alone, these are better than no element.
    rest = [*labels, *_matches(_TIME, fact)] if any(map(str.isalpha, fact)) else []
    for candidates in (found, rest):
        elements: dict[str, str] = {}
        for element in candidates:
            if (1 < len(element) <= LONGEST_ELEMENT or element.isdigit()) and element in fact:
                elements.setdefault(fold(element), element)
        if elements:
            return list(elements.values())[:MOST_ELEMENTS]
    return []


def _elements(text: str, recurring: frozenset[str] = frozenset()) -> list[str]:
    """List names, dates, numbers and words, also some that are no key elements."""
    dates = _matches(_DATE, text)
    years = _YEAR.findall(text)
    text = _STAMP.sub("|", _mask(text, dates))
    dates += [*_matches(_TIME, text), *years]
    dates += MAY.findall(_mask(text, dates))
    rest = _mask(text, dates)
    signed = _SIGNED.findall(rest)
    names = names_of(_mask(rest, signed))
    titles = titles_of(rest)
    quoted = _mask("|".join(titles), (one for one in names if one not in titles))
    rest = _mask(rest, [*signed, *names])
    numbers = [*_matches(_HAN_NUMERAL, rest), *_matches(_NUMBER, rest)]
    numbers += _matches(_NUMBER, quoted)
    rest = _mask(rest, numbers)
    han_words = (word for one in unspaced_words(rest) for word in _segment(one, recurring))
    return [*signed, *names, *dates, *numbers, *han_words, *_content_words(rest)]


def _matches(pattern: re.Pattern[str], text: str) -> list[str]:
    return [match.group() for match in pattern.finditer(text)]


def recurring_han(text: str) -> frozenset[str]:
    """Runs of 2 to 6 Han characters that occur at least twice, not only inside of a longer run."""
    pieces = list(filter(HAN_RUN.fullmatch, unspaced_words(text)))
    counts: Counter[str] = Counter()
    for size in range(2, LONGEST_HAN_WORD + 1):
        counts.update(p[i : i + size] for p in pieces for i in range(len(p) - size + 1))
    recurring = {run: n for run, n in counts.items() if n > 1}
    parts = {
        part
        for run, n in recurring.items()
        for part in (run[1:], run[:-1])
        if recurring.get(part, 0) <= n
    }
    return frozenset(recurring) - parts


def _names_in_run(run: str, is_mixed: bool) -> list[str]:
    """List the names in a run of capitalised words: "Joan" and "Joan's Army" in "Joan's Army"."""
    owner = _OWNER.match(run)
    candidates = [owner.group(1), run] if owner else [run]
    return [name for part in candidates if (name := _trim(part, is_mixed))]


def _trim(run: str, is_mixed: bool) -> str:
    """Remove stop words from the ends of a run; return "" if only initials are left.

    In a text with small letters, words in capitals are no stop words: "WHO", "Vitamin K".
    """

    def is_removed(word: str) -> bool:
        if word.casefold() in _FOREIGN_QUESTION_WORDS:
            return True
        is_name = is_mixed and word.isupper() and word not in ("A", "I")
        return is_stop_word(word) and not is_name

    words = run.strip(" &").split(" ")
    while words and is_removed(words[0]) and not (words[1:] and _INITIAL.fullmatch(words[0])):
        del words[0]
    while words and is_removed(words[-1]):
        del words[-1]
    name = re.sub(r"['’]s$", "", " ".join(words)).rstrip("-–&'’")
    if name.endswith(".") and not _FINAL_POINT.search(name):
        name = name[:-1]
    return "" if _INITIALS_ONLY.fullmatch(name) else name


def _mask(fact: str, elements: Iterable[str]) -> str:
    """Replace each element of a fact by "|", so that the words around it stay apart."""
    for element in sorted(elements, key=len, reverse=True):
        fact = fact.replace(element, "|")
    return fact


def _content_words(fact: str) -> list[str]:
    words = [w for w in words_of(fact) if len(w) > 2 and w[0].isalpha() and not is_stop_word(w)]
    words = [re.sub(r"['’]s$", "", word) for word in words]
    return sorted(dict.fromkeys(words), key=lambda word: is_common(stem(fold(word))))


def _segment(piece: str, recurring: frozenset[str]) -> list[str]:
    """Split Chinese text into recurring runs, and the rest into parts of four characters."""
    if not HAN_RUN.fullmatch(piece):
        return [piece[:LONGEST_UNSPACED]]
    words: list[str] = []
    rest = start = 0
    while start < len(piece):
        sizes = range(LONGEST_HAN_WORD, 1, -1)
        size = next((n for n in sizes if piece[start : start + n] in recurring), 0)
        if size:
            words += [*_in_fours(piece[rest:start]), piece[start : start + size]]
            rest = start + size
        start += size or 1
    return [word for word in [*words, *_in_fours(piece[rest:])] if len(word) > 1]


def _in_fours(piece: str) -> list[str]:
    return [piece[i : i + 4] for i in range(0, len(piece), 4)]
