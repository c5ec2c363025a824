"""Abbreviations and other names as a text introduces them: "Crown Prosecution Service (CPS)".

The letters of an abbreviation must fit the words before or after it (Schwartz and Hearst 2003, but
stricter: each letter begins a word, or stands in one whose beginning fits). A defined term ("the
Company") and another name ("also known as") need words of the text that say so.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

import regex

from graphreader.text.scripts import HAN
from graphreader.text.words import is_stop_word

MOST_WORDS = 10  # of a long form

_SHORT = r"\p{Lu}(?:[\p{Lu}\p{N}]|[&/.-](?=[\p{Lu}\p{N}])|\p{Ll}(?=\p{L}*\p{Lu})){1,9}s?"
_IN_BRACKETS = regex.compile(
    rf"(?<=[\p{{L}}\p{{N}}.’'”\"]) ?\n?[(（](?:or |the |hereinafter |hereafter |abbreviated )?"
    rf"[“\"']?(?P<short>{_SHORT})[”\"']?[;,)）]"
)
_LONG_IN_BRACKETS = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}])(?P<short>{_SHORT}) ?[(（](?P<long>\p{{L}}[^()（）\n]{{4,120}})[)）]"
)
_HEREAFTER = (
    r"(?:hereinafter|hereafter|henceforth)(?: (?:referred to as|called|known as))?,? ?(?:the )?"
)
_TERM_WORD = r"\p{Lu}[\p{L}\p{N}&.-]{1,20}"
_TERM = regex.compile(
    rf"[(（](?:together |collectively |each )?(?:,? ?{_HEREAFTER})?(?:the )?"
    r"[“\"](?P<term>\p{Lu}[\p{L}\p{N} &.-]{1,30})[”\"][)）]"
    rf"|,? {_HEREAFTER}[“\"]?(?P<after>{_TERM_WORD}(?: {_TERM_WORD}){{0,2}})[”\"]?(?=[,.;)])"
)
_CAPITALISED = regex.compile(r"\p{Lu}[\p{L}\p{M}\p{N}'’.&-]*|&")
_LEGAL_FORM = re.compile(r"(?:Inc|Ltd|LLC|L\.?L\.?C|L\.?P|Corp|Co|N\.?A|S\.?A|plc|PLC)\b")
_SMALL = frozenset(("of", "the", "and", "for"))
_SENTENCE_PARTS = re.compile(r"[;:!?()（）\[\]“”\"]|(?<!Inc)(?<!Ltd)(?<!Co)\.\s+(?=[A-Z])|\n\s*\n")
_AT_COMMA = re.compile(r",\s")
_KNOWN = (
    r"(?:(?:also|better|otherwise|formerly|commonly|popularly|professionally) known as"
    r"|a\.?k\.?a\.?|whose real name (?:was|is))"
)
_NAME_WORD = r"\p{Lu}[\p{L}\p{M}'’.-]{0,40}+"
_NAME = rf"{_NAME_WORD}(?: (?:(?:of|de|von|van|the) )?{_NAME_WORD}){{0,4}}"
_OTHER_NAME = regex.compile(
    rf"(?<![\p{{L}}\p{{M}}'’.-])(?P<name>{_NAME}),? ?[(（]?{_KNOWN} (?P<other>{_NAME})"
    r"(?=[,;)）]|\.(?:\s|$)|$)"
)
_QUOTES = '“”"「」『』《》‘’'
_HAN_TERM = re.compile(
    rf"[，,]?[（(]?(?P<said>以下|下文|下)?简称(?:为|作|：|:)?[{_QUOTES}]?"
    rf"(?P<short>[{HAN}A-Za-z0-9]{{2,12}})[{_QUOTES}]?(?=[）)，,。；;])"
)
_HAN_BRACKETS = re.compile(rf"[（(][{_QUOTES}]?(?P<short>[{HAN}]{{2,6}})[{_QUOTES}]?[）)]")
_HAN_BEFORE = re.compile(rf"(?:《[^《》\n]{{2,40}}》|[{HAN}A-Za-z0-9·]{{2,40}})\Z")
_BEFORE = 42  # characters
_HAN_ENGLISH = re.compile(
    rf"(?P<long>[{HAN}]{{2,20}})[（(](?P<english>[A-Za-z][A-Za-z '&-]{{3,100}}?)[，,;；] ?(?:简称)?"
    r"(?P<short>[A-Z][A-Za-z0-9&-]{1,9})[）)]"
)
_HAN_OTHER = re.compile(
    rf"(?<![{HAN}·])(?![还後后我你他她它其该該这這那此因])(?P<name>[{HAN}]{{2,4}}|[{HAN}]+(?:·[{HAN}]+)+)"
    rf"[，,（(](?:又名|又称|又稱|亦称|亦稱|亦名|别名|別名|别号|別號|原名|本名|法号)(?:是|叫|为|為|：)?[{_QUOTES}]?(?P<other>[{HAN}·]{{2,12}}?)[{_QUOTES}]?(?=[，,）)。；、])"
)
_HAN_BORDER = re.compile("[的了是在和与及或由对向为从被让把据到]")


def abbreviations(text: str) -> dict[str, str]:
    """Map abbreviations, defined terms and other names to the names that the text gives them.

    What is introduced for two different names is left out.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for short, long in _introduced(text):
        if short.casefold() != long.casefold():
            found[short].add(long)
    result = {}
    for short, longs in found.items():
        variants = {long.casefold().removeprefix("the "): long for long in sorted(longs)}
        if len(variants) == 1:
            result[short] = next(iter(variants.values()))
    return result


def _introduced(text: str) -> Iterator[tuple[str, str]]:
    for match in _IN_BRACKETS.finditer(text):
        words = _AT_COMMA.split(" ".join(_words_before(text, match.start())))[-1].split()
        if long := _long_form(match["short"], words):
            yield match["short"], long
            if match["short"].endswith("s"):
                yield match["short"][:-1], long
    for match in _LONG_IN_BRACKETS.finditer(text):
        words = re.split(r"[,;:]", match["long"])[0].split()
        if _long_form(match["short"], words) == " ".join(words):
            yield match["short"], " ".join(words)
    for match in _TERM.finditer(text):
        if long := _name_before(text, match.start()):
            yield match["term"] or match["after"], long
    for match in _OTHER_NAME.finditer(text):
        before = (text[max(0, match.start() - 40) : match.start()].split() or ["the"])[-1]
        if is_stop_word(before) or not before[-1].isalnum():  # no part of a longer name
            yield match["other"].rstrip("."), match["name"]
    yield from _chinese(text)


def _chinese(text: str) -> Iterator[tuple[str, str]]:
    for match in (*_HAN_TERM.finditer(text), *_HAN_BRACKETS.finditer(text)):
        before = text[max(0, match.start() - _BEFORE) : match.start()]
        is_said = bool(match.groupdict().get("said"))
        if long := _han_name(match["short"], before, is_said=is_said):
            yield match["short"], long
    for match in _HAN_ENGLISH.finditer(text):
        if _long_form(match["short"], match["english"].split()):
            long = _HAN_BORDER.split(match["long"])[-1]
            if len(long) > 1:
                yield match["short"], long
                yield match["english"].strip(), long
    for match in _HAN_OTHER.finditer(text):
        if not _HAN_BORDER.search(match["name"]):
            yield match["other"], match["name"]


def _han_name(short: str, before: str, *, is_said: bool) -> str:
    """The name in front of a Chinese abbreviation; one that does not fit it must be said."""
    match = _HAN_BEFORE.search(before)
    if not match:
        return ""
    long = match[0].strip(_QUOTES)
    if match[0][0] == "《":
        return long
    return _han_long_form(short, long) or (long if is_said and not _HAN_BORDER.search(long) else "")


def _words_before(text: str, end: int) -> list[str]:
    """The last words of the sentence before a bracket, with their commas."""
    before = text[max(0, end - 160) : end].rstrip("”\"'’ \n")
    return _SENTENCE_PARTS.split(before)[-1].split()[-MOST_WORDS - 4 :]


def _name_before(text: str, end: int) -> str:
    """The run of capitalised words before a defined term, with small words within it."""
    run: list[str] = []
    for word in reversed(_words_before(text, end)):
        is_end = word.endswith(",") and run and not _LEGAL_FORM.match(run[0])
        if is_end or not (_CAPITALISED.fullmatch(word.rstrip(",")) or word in _SMALL):
            break
        run.insert(0, word if run else word.rstrip(","))
    while run and is_stop_word(run[0]):
        del run[0]
    return " ".join(run) if run and len(run) <= MOST_WORDS else ""


def _long_form(short: str, words: list[str]) -> str:
    """The last words of `words` that have the letters of an abbreviation, "" if none fit.

    Small words may be left out ("United States of America", USA), but not at the beginning.
    """
    letters = [letter for letter in short.removesuffix("s").casefold() if letter.isalnum()]
    if len(letters) < 2:
        letters = [letter for letter in short.casefold() if letter.isalnum()]
    at = len(words)
    parts: list[str] = []  # words from the end, with parts of hyphened words one by one
    while at and len(words) - at < MOST_WORDS:
        at -= 1
        parts = [*re.split(r"[-/]", words[at]), *parts]
        parts = [part for part in parts if part]
        if not parts or is_stop_word(parts[0]):
            continue
        if parts[0][0].casefold() == letters[0] and _fits(letters, parts):
            long = " ".join(words[at:]).strip(" ,.”\"'’")
            return long if long.casefold() != short.casefold() else ""
    return ""


def _fits(letters: list[str], parts: list[str]) -> bool:
    """Whether each letter begins a word, in order, or stands within a word that one begins.

    Every word that is no small word has a letter.
    """
    states = {0}  # numbers of letters that are used up
    for part in parts:
        word = part.casefold()
        after = set[int]()
        for used in states:
            if is_stop_word(part):
                after.add(used)
            if used < len(letters) and word.startswith(letters[used]):
                after |= _used_by(word, letters, used)
        states = after
    return len(letters) in states


def _used_by(word: str, letters: list[str], used: int) -> set[int]:
    """The numbers of letters that may be used up after a word: its first, and more in order."""
    result, at, used = {used + 1}, 1, used + 1
    while used < len(letters):
        at = word.find(letters[used], at) + 1
        if not at:
            break
        used += 1
        result.add(used)
    return result


def _han_long_form(short: str, long: str) -> str:
    """The end of a run of Han characters that has the characters of an abbreviation in order."""
    at = len(long)
    for sign in reversed(short):
        at = long.rfind(sign, 0, at)
        if at < 0:
            return ""
    found = long[at:]
    return found if len(found) > len(short) else ""
