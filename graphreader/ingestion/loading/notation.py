"""Plain characters for what HTML shows by position: superscripts, subscripts, fractions, links.

A line of text holds marks around such parts, and `write_out` replaces them: `10^30`, `1914 [2]`,
`10_2`, `H2O`, `3 1/2`, and `[the deed](https://...)` behind the line. The marks are lone
surrogates, which no decoded text contains.
"""

import re

SUPERSCRIPT, NOTE, SUBSCRIPT, END = "\ud800", "\ud801", "\ud802", "\ud803"
LINK, LINK_TEXT, END_OF_LINK = "\ud804", "\ud805", "\ud806"
PICTURE, END_OF_PICTURE = "\ud807", "\ud808"
CHECKED, UNCHECKED = "\ud809", "\ud80a"

_LONGEST = 40  # characters of a superscript or subscript; longer text is only small print
_LONGEST_ADDRESS = 200  # characters; a longer one tracks readers
_NESTED = 3  # superscripts within superscripts
_DROPPED = {ord(one): None for one in (SUPERSCRIPT, NOTE, SUBSCRIPT, END, LINK, LINK_TEXT)} | {
    ord(END_OF_LINK): None,
    ord(PICTURE): None,
    ord(END_OF_PICTURE): None,
    ord(CHECKED): "[x]",
    ord(UNCHECKED): "[ ]",
}
_MARK = re.compile(f"[{SUPERSCRIPT}-{UNCHECKED}]")
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
_NOTE_MARK = re.compile(r"[*†‡§¶#]+|\(?\d{1,3}\)?(?:\s?[,–-]\s?\d{1,3})*")
_LINKED_MARK = re.compile(r"\(?(?:[\divxlc]{1,5}|[a-zA-Z]|\D?\D?\d{1,3}|[*†‡§¶#]+)\)?")
_TEN = re.compile(r"(?<![\w.,])10 \Z")
_NUMBER = re.compile(r"[-−–+]?\d+(?:[.,]\d+)?")
_ION = re.compile(r"\d*[+−-]")
_TERM = re.compile(
    r"[nkxyzijNT]|(?=.*[\dΑ-ω+−–*/^-])[-−–]?[\da-zA-ZΑ-ω][\da-zA-ZΑ-ω+−–*/().^-]{0,11}"
)
_WORDS_AT_PICTURE = re.compile(rf"(?<=\w){PICTURE}|{END_OF_PICTURE}(?=\w)")
_ISOTOPE = re.compile(r"\d*[A-Z][a-z]?(?![^\W\d_])")
_AMOUNT = re.compile(r"[$€£¥]\s?\d[\d.,]*\Z")
_AFTER_NAME = re.compile(r"(?:[^\W\d_]{3}|\d[.,]\d)\Z")
# A short number, a decimal number, a unit, a function, a variable or a term in brackets.
_BASE = re.compile(
    r"(?:(?<![\w.,])\d{1,3}|(?<![\w.,])\d+\.\d+"
    r"|(?<![^\W\d_])(?:[kcdmµμn]?m|мм|см|дм|км|м|ft|(?<=\d)in|(?<=\d )in|yd|mi|ha|ms|kg|mc"
    r"|sin|cos|tan|cot|log|ln)"
    r"|(?<![^\W\d_])(?<![^\W\d_]['’])(?![IVX])[A-Za-zÀ-ɏͰ-Ͽа-яА-Я]"
    r"|\((?=[^()]*(?:\+|\b[a-zA-Z]\b))(?:\d|\b[a-zA-Z]|[\s.+−*/×·^-]){1,20}\))\Z"
)


def write_out(line: str) -> tuple[str, list[str]]:
    """Return the line in plain characters, and its links as "[text](address)".

    A line of nothing but checkboxes is empty: they are switches of the page.
    """
    if not _MARK.search(line):
        return line, []
    if ONLY_BOXES.fullmatch(line):
        return "", []
    links: dict[str, None] = {}  # in their order
    for address, words in _LINKED.findall(line):
        shown = " ".join(_plain(words).split())
        if len(address) <= _LONGEST_ADDRESS and not _says(shown, address):
            links[f"[{shown}]({address})" if shown else f"({address})"] = None
    return _plain(_LINKED.sub(r"\2", line)), list(links)


def with_links(line: str) -> str:
    """The line in plain characters, followed by its links; a link that fills it takes its place."""
    text, links = write_out(line)
    if len(links) == 1 and links[0].startswith(f"[{text}]("):
        return links[0]
    return " ".join([text, *links]).lstrip() if links else text


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
    line = _WORDS_AT_PICTURE.sub(" ", line)
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
    kind, text = match[1], match[2].strip()
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
        written = _superscript(text, before, without_marks(after), kind == NOTE)
    is_glued = after[:1].isdigit() if written[-1].isdigit() else written[-1] == "]"
    return written + " " * (is_glued and after[:1].isalnum())


def _superscript(text: str, before: str, after: str, is_linked: bool) -> str:
    """Write a superscript as the mark of a note, an exponent, or plain letters as in "1st"."""
    is_indexed = before.endswith(END)  # by a subscript
    before = without_marks(before)
    is_bracketed = bool(_BRACKETED.fullmatch(text))
    mark = text if is_bracketed or text[0] == "(" else f"[{text.removesuffix(')')}]"
    note = f" {mark}" if before[-1:].isalnum() else mark
    if is_bracketed or (is_linked and _LINKED_MARK.fullmatch(text)):
        return note
    is_base = is_indexed or _BASE.search(
        before.removesuffix(" ") if _TEN.search(before) else before
    )
    if not is_base and (not before or before[-1].isspace() or before[-1] in "([{"):
        is_label = _NOTE_MARK.fullmatch(text) and not _ISOTOPE.match(after)
        return note if is_label else text
    if _NUMBER.fullmatch(text) and (text[0] in "-−–" or (is_base and not _AMOUNT.search(before))):
        return f"^{text}"
    if _NOTE_MARK.fullmatch(text):
        return note
    if _ION.fullmatch(text):
        return f"^{text}"
    if text in ("a", "b", "c") and _AFTER_NAME.search(before):
        return note
    if is_base and _TERM.fullmatch(text):
        return f"^{text}" if re.fullmatch(r"[-−–]?\w+", text) else f"^({text})"
    return text
