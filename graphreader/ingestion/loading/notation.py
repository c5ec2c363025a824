"""Plain characters for what HTML shows by position: superscripts, subscripts, fractions, links.

A line of text holds marks around such parts, and `write_out` replaces them: `10^30`, `1914 [2]`,
`10_2`, `H2O`, `3 1/2`, and `[the deed](https://...)` behind the line. The marks are lone
surrogates, which no decoded text contains.
"""

import re

from graphreader.text.words import fold, word_list

SUPERSCRIPT, NOTE, SUBSCRIPT, END = "\ud800", "\ud801", "\ud802", "\ud803"
LINK, LINK_TEXT, END_OF_LINK = "\ud804", "\ud805", "\ud806"
WORDS, END_OF_WORDS = "\ud807", "\ud808"  # of a picture or a label: words begin or end here
CHECKED, UNCHECKED = "\ud809", "\ud80a"
VARIABLE = "\ud80b"  # behind a letter in an element of its own, before its superscript

_LONGEST = 40  # characters of a superscript or subscript; longer text is only small print
_LONGEST_ADDRESS = 200  # characters; a longer one tracks readers
_NESTED = 3  # superscripts within superscripts
_DROPPED = {ord(one): None for one in (SUPERSCRIPT, NOTE, SUBSCRIPT, END, LINK, LINK_TEXT)} | {
    ord(VARIABLE): None,
    ord(END_OF_LINK): None,
    ord(WORDS): None,
    ord(END_OF_WORDS): None,
    ord(CHECKED): "[x]",
    ord(UNCHECKED): "[ ]",
}
_MARK = re.compile(f"[{SUPERSCRIPT}-{VARIABLE}]")
ONLY_BOXES = re.compile(rf"[\s{CHECKED}{UNCHECKED}]+")
_LINKED = re.compile(
    f"{LINK}([^{SUPERSCRIPT}-{UNCHECKED}]*){LINK_TEXT}([^{LINK}-{END_OF_LINK}]*){END_OF_LINK}"
)
_DENOMINATORS = ("2", "3", "4", "5", "8", "16", "32")  # of fractions without a subscript
_FRACTION = re.compile(
    rf"(\d)?[{SUPERSCRIPT}{NOTE}]\s*(\d+)\s*{END}\s*[/⁄∕]\s*(?:{SUBSCRIPT}\s*(\d+)\s*{END}|(\d+))"
)
_SHIFTED = re.compile(
    rf"([{SUPERSCRIPT}{NOTE}{SUBSCRIPT}])([^{SUPERSCRIPT}-{END}]{{1,{_LONGEST}}}){END}"
)

_BRACKETED = re.compile(r"\[[^\[\]]*\]")
_SIGN = r"[*∗†‡§¶#✉]"
_MARK_OF_NOTE = rf"(?:\(?\d{{1,3}}\)?|{_SIGN}){_SIGN}*"
_NOTE_MARK = re.compile(rf"{_MARK_OF_NOTE}(?:\s?[,;–-]\s?{_MARK_OF_NOTE})*")
_NOTE_LETTERS = re.compile(rf"(?=.*[a-z])(?:\w|{_SIGN})(?:[,;]\s?(?:[a-z\d]|{_SIGN}))+")
_LINKED_MARK = re.compile(
    r"\(?(?:[\divxlc]{1,5}|[a-zA-Z]|\D?\D?\d{1,3}|[*∗†‡§¶#]+)\)?|\d{1,3}(?:\s?[,;–-]\s?\d{1,3})+"
)
_SEPARATORS = " ,;"  # of marks, which may stand in their superscripts
_BASE_AND_SPACE = re.compile(r"(?:(?<![\w.,])10|\d\s?[kcm]?m) \Z")
_NUMBER = re.compile(r"[-−–+]?\d+(?:[.,]\d+)?")
_ION = re.compile(r"\d*[+−-]")
_TERM = re.compile(
    r"[nkxyzijNT]|(?=.*[\dΑ-ω+−–*/^-])[-−–]?[\da-zA-ZΑ-ω][\da-zA-ZΑ-ω+−–*/().^-]{0,11}"
)
_GLUED = re.compile(rf"(?<=\w){WORDS}|(?<=[\w).\]]){END_OF_WORDS}(?=\w)")
_TEMPERATURE = re.compile(r"\s?[CF]\b")
_AMOUNT = re.compile(r"[$€£¥]\s?\d[\d.,]*\Z")
_AFTER_NAME = re.compile(r"(?:[^\W\d_]{3}|\d[.,]\d)\Z")

# The base of a power: a short number, a decimal number, a unit, a function, a variable, or a term
# in brackets, but for the "(a)" of an enumeration.
_BASE = re.compile(
    r"(?<![\w.,:])(?<![A-Z]-)(?:\d{1,3}|\d+\.\d+)\Z|(?<![^\W\d_])(?:sin|cos|tan|cot|log|ln|mc)\Z"
    r"|(?:(?<![^\W\d_])(?<![^\W\d_]['’])(?<![&°℃])(?<![A-Z]\.)(?<!\d{4})|(?<=[πΔ]))[A-Za-zͰ-ϿÅ\u212b]\Z"
    r"|(?:(?<=[\w)])|(?!\([a-zA-Z]\)))\((?=[^()]*(?:[+−]|\b[a-zA-Z]\b)|-)(?:\d|\b[a-zA-Z]|[\s.+−*/×·^-]){1,20}\)\Z"
    r"|[|‖][^|‖\s]{1,12}[|‖]\Z"
)
_UNIT = re.compile(
    r"(?<![^\W\d_])(?:[kcdmµμn]?m|мм|см|дм|км|м|ft|kg"
    r"|(?:(?<=\d)|(?<=\d\s)|(?<=/)|(?<=per\s))(?:in|yd|mi|ha|ms))\Z"
)
_POWERS_OF_UNITS = ("2", "3", "4", "6")
_CALCULATION = re.compile(r"\s?[=≈≤≥<>+−×·*/^]")
_CALCULATED = re.compile(r"[=×·½π]\s?\w{1,3}\Z")
_PRODUCT = re.compile(r"(?<![^\W\d_½])[a-z]{1,3}\Z")
# "plan B", "Smith J", "Boeing 747": a word and the letter or number that belongs to its name.
_NAME_WITH_LETTER = re.compile(r"([^\W\d_]{2,})[\s-][A-Z]\Z")
_NAME_WITH_NUMBER = re.compile(
    r"(§|\b[a-z]?[A-Z][^\W\d_]*|\b(?:pp?|pages?|aged?|article|section|chapter|clause))"
    r"\.?\s(?!10\Z)[\d.]+\Z"
)
_INDEXED = re.compile(  # "x1", not "CO2"
    rf"(?:(?<![^\W_])[^\W\d_]|\))\s?{SUBSCRIPT}[^{SUPERSCRIPT}-{END}]*{END}\Z"
)

_STOP_WORDS = word_list("stop_words")
_ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se "
    "Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy "
    "Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm"
)
_ATOMIC_NUMBERS = {symbol: number for number, symbol in enumerate(_ELEMENTS.split(), 1)}
_BEFORE_ISOTOPES = " \xa0([{/~≈-–−δΔ"
_ELEMENT = re.compile(r"\d*([A-Z][a-z]?)(?![^\W\d_]|['’])")
_VERSE = re.compile(r"(?:He|Be|Ne|Si) [^\W\d_]|O,? [A-Z]|[A-Z]\. ?[A-Z]")  # or a name: "C. Darwin"


def write_out(line: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the line in plain characters, and the words and addresses of its links.

    A line of nothing but checkboxes is empty: they are switches of the page.
    """
    if not _MARK.search(line):
        return line, []
    if ONLY_BOXES.fullmatch(line):
        return "", []
    links: dict[tuple[str, str], None] = {}  # in their order
    for address, words in _LINKED.findall(line):
        shown = " ".join(_plain(words).split())
        if len(address) <= _LONGEST_ADDRESS and not _says(shown, address):
            links[shown, address] = None
    return _plain(_LINKED.sub(r"\2", line)), list(links)


def with_links(line: str) -> str:
    """The line in plain characters, followed by its links; a link that fills it takes its place."""
    text, links = write_out(line)
    written = [f"[{words}]({address})" if words else f"({address})" for words, address in links]
    if len(links) == 1 and links[0][0] == text:
        return written[0]
    return " ".join([text, *written]).lstrip() if links else text


def without_marks(line: str) -> str:
    """The line without marks of this module."""
    return line.translate(_DROPPED)


def _says(words: str, address: str) -> bool:
    """Whether the words of a link are its address."""
    bare = address.partition("://")[2] or address
    return words.strip("<>/").casefold() in (
        address.rstrip("/").casefold(),
        bare.rstrip("/").casefold(),
    )


def _plain(line: str) -> str:
    """Replace all marks but links."""
    line = _GLUED.sub(" ", line)
    line = _FRACTION.sub(_fraction, line)
    for _ in range(_NESTED):
        line, number = _SHIFTED.subn(_shifted, line)
        if not number:
            break
    return line.translate(_DROPPED)


def _fraction(match: re.Match[str]) -> str:
    """Write a fraction, and leave an exponent before a slash as it is."""
    whole, top, lower, plain = match.groups()
    if plain:
        before = match.string[max(0, match.start() - 1) : match.start()] + (whole or "")
        is_power = before == "10" or before[-1:].isalpha() or before[-1:] == ")"
        if is_power or plain not in _DENOMINATORS or len(top) > 2 or int(top) >= int(plain):
            return match[0]
    return f"{whole} {top}/{lower or plain}" if whole else f"{top}/{lower or plain}"


def _shifted(match: re.Match[str]) -> str:
    kind, text = match[1], without_marks(match[2]).strip()
    if not text:
        return match[2]
    before = match.string[max(0, match.start() - _LONGEST) : match.start()]
    opened = max(before.rfind(one) for one in (SUPERSCRIPT, NOTE, SUBSCRIPT))
    if before.find(END, opened) < 0:  # a superscript of a superscript
        before = before[opened + 1 :]
    after = match.string[match.end() : match.end() + 12]
    if kind == SUBSCRIPT:
        is_number = without_marks(before)[-1:].isdigit() and text[0].isdigit()
        written = f"_{text}" if is_number else text
    else:
        written = _superscript(text, before, after, kind == NOTE)
    is_glued = after[:1].isdigit() if written[-1].isdigit() else written[-1] == "]"
    return written + " " * (is_glued and after[:1].isalnum())


def _superscript(text: str, before: str, after: str, is_linked: bool) -> str:
    """Write a superscript as the mark of a note, an exponent, or plain letters as in "1st".

    `before` and `after` are the text around it, with marks of this module.
    """
    inner = text.strip(_SEPARATORS)
    plain = without_marks(before)
    is_bracketed = bool(_BRACKETED.fullmatch(inner))
    mark = inner if is_bracketed or inner[:1] == "(" else f"[{inner.removesuffix(')')}]"
    note = text.replace(inner, mark, 1) if inner else text
    note = f" {note}" if plain[-1:].isalnum() and note[0] in "[(" else note
    if f"{plain[-1:]}{after[:1]}" in ("[]", "()"):
        return text
    if text in ("o", "0") and plain[-1:].isdigit() and _TEMPERATURE.match(after):
        return "°"
    if is_bracketed or (is_linked and _LINKED_MARK.fullmatch(inner)):
        return note
    if not inner or (text in "–-" and after[:1] in (SUPERSCRIPT, NOTE)):
        return text  # between marks
    if _is_isotope(text, plain, after):
        return text
    base = plain.removesuffix(" ") if _BASE_AND_SPACE.search(plain) else plain
    is_base = bool(_BASE.search(base) or _UNIT.search(base) or _INDEXED.search(before))
    if not is_base and (not plain or plain[-1].isspace() or plain[-1] in "([{"):
        is_affiliation = re.fullmatch("[a-z]", text) and after.lstrip()[:1].isupper()
        return note if is_affiliation or _NOTE_MARK.fullmatch(inner) else text
    if _NUMBER.fullmatch(text) and (text[0] in "-−–" or _is_power(text, base, before, after)):
        return f"^{text}"
    if _marks_note(inner, plain):
        return note
    if _ION.fullmatch(text):
        return f"^{text}"
    is_letter = text.isalpha() and len(text) == 1 and base[-1] in "e)"
    if is_base and (is_letter or _TERM.fullmatch(text)):
        return f"^{text}" if re.fullmatch(r"[-−–]?\w+", text) else f"^({text})"
    return text


def _marks_note(text: str, before: str) -> bool:
    """Whether a superscript behind a word is the mark of a note: signs, numbers or some letters."""
    return bool(
        _NOTE_MARK.fullmatch(text)
        or (text in ("a", "b", "c") and _AFTER_NAME.search(before))
        or (_NOTE_LETTERS.fullmatch(text) and before[-2:].isalpha())
    )


def _is_power(number: str, base: str, before: str, after: str) -> bool:
    """Whether a number without a minus is the power of what is before it, and no mark of a note."""
    is_base = _BASE.search(base) and not _AMOUNT.search(base)
    if _CALCULATION.match(after) or _CALCULATED.search(base):
        return bool(is_base or _UNIT.search(base) or _PRODUCT.search(base))
    if "," in number:  # a list of notes
        return base.endswith("10")
    if before.endswith(VARIABLE) or _INDEXED.search(before):
        return True
    if _UNIT.search(base):
        return number in _POWERS_OF_UNITS
    if not is_base or base[-1] in "IVX" or (before[-2:-1] == END and base[-1].isupper()):
        return False  # "H2O"
    if base[-1] in "NR" and number in ("2", "3"):  # a count, a coefficient, a space
        return True
    name = _NAME_WITH_LETTER.search(base) or _NAME_WITH_NUMBER.search(base)
    return not name or fold(name[1]) in _STOP_WORDS


def _is_isotope(mass: str, before: str, after: str) -> bool:
    """Whether a superscript belongs to the symbol of an element that follows: 14C, 3P0."""
    symbol = _ELEMENT.match(without_marks(after))
    if not symbol or not mass.isdecimal() or (before and before[-1] not in _BEFORE_ISOTOPES):
        return False
    if after[1:2] == SUBSCRIPT:  # a term symbol of spectroscopy
        return True
    begins_sentence = not before.strip() or before.rstrip()[-1] in '.!?:;,”"’»'
    if begins_sentence and _VERSE.match(without_marks(after)):
        return False
    number = _ATOMIC_NUMBERS.get(symbol[1], 0)
    return 1.75 * number - 1 <= int(mass) <= 2.7 * number + 1  # of known isotopes
