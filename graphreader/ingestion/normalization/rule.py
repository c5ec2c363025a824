"""Two wordings of one key element get one key, by rules alone (paper, section 3.2).

Unicode forms, case, white space, surrounding punctuation, the possessive, the article before two or
more words, the plural of an English word, the infinitive of a regular verb, the points of an
abbreviation, the commas of a number: nothing that needs meaning. So "Joan of Arc" and "the Maid of
Orléans" stay two, as do "run" and "ran", "The Who" and "who", traditional and simplified Chinese.
Where a rule is in doubt it does nothing: two nodes for one thing cost little, one node for two
things gives wrong answers. This is the rule aggregation of InsTag (Lu et al. 2023), which stems.
"""

import re
import unicodedata

from graphreader.ingestion.normalization.plurals import singular
from graphreader.ingestion.normalization.verbs import infinitive

LONGEST = 200  # characters: what Neo4j indexes must not be long

_REMOVED = re.compile("[\ud800-\udfff\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_APOSTROPHE = re.compile("[’‘ʼ´`′＇]")
_DASH = re.compile(r"[‐‑‒–−]")
_QUOTE = re.compile("[“”„‟«»〝〞]")
_DOT = re.compile(r"(?<=[^\W\d_])[・•‧∙⋅](?=[^\W\d_])")  # between the parts of a foreign name
_SUPERSCRIPT = re.compile(r"(?<=\d)(?=[²³¹⁰⁴-⁹⁻])")
_FRACTION = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
_POSSESSIVE = re.compile(r"(?<=\w)'s\Z|(?<=s)'(?!\w)")
_ABBREVIATION = re.compile(r"(?<![\w.])[^\W\d_](?:\.[^\W\d_])+(?!\w)\.?")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,]|\.\d+,)")
_ARTICLE = re.compile(r"\Athe (?=\S+ \S)")
_LAST_WORD = re.compile(r"(?<![^\s-])[a-z]{4,}\Z")
_PLAIN = re.compile(r"[a-z0-9]+(?:[ -][a-z0-9]+)*")

_BEFORE_NUMBERS = "-+."  # these belong to what they stand at: -5, .5; #3, @name; C++, C#, 5%
_BEFORE_WORDS = "#@&§"
_BEHIND_WORDS = "%‰°+#"
_OPENED_BY = {
    ")": "(",
    "]": "[",
    "}": "{",
    "）": "（",
    "》": "《",
    "」": "「",
    "』": "『",
    "】": "【",
}


def clean_surface(surface: str) -> str:
    """The wording as it can be stored and shown: one line, trimmed, at most 200 characters."""
    return " ".join(_REMOVED.sub("", surface).split())[:LONGEST].strip()


def normalize(surface: str) -> str:
    """The key that all wordings of one key element share; empty where nothing is left.

    At most 200 characters. A key is its own key: `normalize(normalize(x)) == normalize(x)`. Case
    is no part of it, so plurals are told from names such as "Paris" by lists, and only in words of
    a to z; Chinese and other scripts keep every character.
    """
    key = clean_surface(surface).lower()
    for _ in range(LONGEST):
        before = key
        key = _one_form(key) if _PLAIN.fullmatch(key) else _one_form(_one_writing(key))
        if key == before:
            break
    return key


def _one_writing(text: str) -> str:
    """Without what signs, case and spaces can differ in; plain words need none of this."""
    text = _FRACTION.sub(" ", _SUPERSCRIPT.sub("^", text))  # 10² is not 102, nor 1½ 11/2
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = _APOSTROPHE.sub("'", _DASH.sub("-", _INVISIBLE.sub("", text)))
    text = _DOT.sub("·", _QUOTE.sub('"', text))
    text = _ABBREVIATION.sub(lambda match: match.group().replace(".", ""), text)
    text = _strip(clean_surface(text))
    text = _POSSESSIVE.sub("", text)
    return _NUMBER.sub(lambda match: match.group().replace(",", ""), text)


def _one_form(text: str) -> str:
    """Without the article before a phrase; a word alone as infinitive, a last word as singular."""
    text = _ARTICLE.sub("", text)
    match = _LAST_WORD.search(text)
    if match is None:
        return text
    start, word = match.start(), match.group()
    return text[:start] + singular(infinitive(word) if start == 0 else word, text)


def _strip(text: str) -> str:
    """The text without the punctuation around it."""
    start, end = 0, len(text)
    while start < end and not _begins(text, start):
        start += 1
    while start < end and not _finishes(text, start, end - 1):
        end -= 1
    return text[start:end]


def _begins(text: str, at: int) -> bool:
    following = text[at + 1 : at + 2]
    if text[at] in _BEFORE_NUMBERS:
        return following.isdigit() and text[at - 1 : at] in ("", " ", "(")
    if text[at] in _BEFORE_WORDS:
        return following.isalnum()
    return _is_content(text[at])


def _finishes(text: str, start: int, at: int) -> bool:
    char = text[at]
    if char in _OPENED_BY:
        return _OPENED_BY[char] in text[start:at]
    if char in _BEHIND_WORDS:
        return text[start:at].rstrip(_BEHIND_WORDS)[-1:].isalnum()
    return _is_content(char)


def _is_content(char: str) -> bool:
    """Letters, digits, signs that belong to letters, currencies, pictures."""
    return char.isalnum() or unicodedata.category(char) in ("Mn", "Mc", "Me", "Sc", "So")
