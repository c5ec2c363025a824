"""Rules that give all wordings of a key element one key (paper, section 3.2).

They replace InsTag's rule aggregation (Lu et al. 2023). A rule in doubt does nothing: one node for
two meanings gives wrong answers. english.txt has the word lists, also names like plurals (Adams).
"""

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files

from graphreader.text.person_names import is_full_name
from graphreader.text.scripts import HAN
from graphreader.text.words import casefolded


def _word_lists() -> dict[str, tuple[str, ...]]:
    text = files("graphreader.ingestion.normalization").joinpath("english.txt").read_text("utf-8")
    lists: dict[str, tuple[str, ...]] = {}
    for section in text.split("\n[")[1:]:
        name, _, body = section.partition("]\n")
        lines = [line for line in body.splitlines() if not line.startswith("#")]
        lists[name] = tuple(" ".join(lines).split())
    return lists


_LISTS = _word_lists()
LONGEST = 200  # characters: Neo4j does not index long values
_REMOVED = re.compile("[\ud800-\udfff\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_APOSTROPHE = re.compile("[’‘ʼ´`′＇]")
_DASH = re.compile(r"[‐‑‒–−]")
_QUOTE = re.compile("[“”„‟«»〝〞]")
_DOT = re.compile(r"(?<=[^\W\d_])[・•‧∙⋅](?=[^\W\d_])")  # dots between the parts of a foreign name
_SUPERSCRIPT = re.compile(r"(?<=\d)(?=[²³¹⁰⁴-⁹⁻])")
_FRACTION = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
_POSSESSIVE = re.compile(r"(?<=\w)'s\Z|(?<=s)'(?!\w)")
_ABBREVIATION = re.compile(r"(?<![\w.])[^\W\d_](?:\.[^\W\d_])+(?!\w)\.?")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,]|\.\d+,)")
_ARTICLE = re.compile(r"\Athe (?=\S+ \S)")
_LAST_WORD = re.compile(r"(?<![^\s-])[a-z]{4,}\Z")
_PLAIN = re.compile(r"[a-z0-9]+(?:[ -][a-z0-9]+)*")
_BEFORE_NUMBERS = "-+."  # signs that belong to the next word: -5, .5; #3, @name; C++, C#, 5%
_BEFORE_WORDS = "#@&§"
_BEHIND_WORDS = "%‰°+#"
_OPENED_BY = dict(zip(")]}）》」』】", "([{（《「『【", strict=True))


def clean_surface(surface: str) -> str:
    """Return the wording to store and show: one trimmed line of at most 200 characters."""
    return " ".join(_REMOVED.sub("", surface).split())[:LONGEST].strip()


def normalize(surface: str) -> str:
    """Return the key of a wording, which all wordings of a key element share; may be empty.

    The key of a key is the key itself.
    """
    key = clean_surface(surface).lower()
    for _ in range(LONGEST):
        before = key
        key = _base_form(key if _PLAIN.fullmatch(key) else _unify_characters(key))
        if key == before:
            break
    return key


def _unify_characters(text: str) -> str:
    """Unify signs, case and spaces; keys of plain words stay as they are."""
    text = _FRACTION.sub(" ", _SUPERSCRIPT.sub("^", text))  # 10² is not 102, nor 1½ 11/2
    text = unicodedata.normalize("NFKC", casefolded(text))
    text = _APOSTROPHE.sub("'", _DASH.sub("-", _INVISIBLE.sub("", text)))
    text = _DOT.sub("·", _QUOTE.sub('"', text))
    text = _ABBREVIATION.sub(lambda match: match.group().replace(".", ""), text)
    text = _strip_punctuation(clean_surface(text))
    text = _POSSESSIVE.sub("", text)
    return _NUMBER.sub(lambda match: match.group().replace(",", ""), text)


def _base_form(text: str) -> str:
    """Drop a leading article; put a single word into the infinitive, a last word into singular."""
    text = _ARTICLE.sub("", text)
    match = _LAST_WORD.search(text)
    if match is None:
        return text
    start, word = match.start(), match.group()
    return text[:start] + singular(infinitive(word) if start == 0 else word, text)


def _strip_punctuation(text: str) -> str:
    start, end = 0, len(text)
    while start < end and not _can_begin(text, start):
        start += 1
    while start < end and not _can_end(text, start, end - 1):
        end -= 1
    return text[start:end]


def _can_begin(text: str, at: int) -> bool:
    following = text[at + 1 : at + 2]
    if text[at] in _BEFORE_NUMBERS:
        return following.isdigit() and text[at - 1 : at] in ("", " ", "(")
    if text[at] in _BEFORE_WORDS:
        return following.isalnum()
    return _is_content(text[at])


def _can_end(text: str, start: int, at: int) -> bool:
    char = text[at]
    if char in _OPENED_BY:
        return _OPENED_BY[char] in text[start:at]
    if char in _BEHIND_WORDS:
        return text[start:at].rstrip(_BEHIND_WORDS)[-1:].isalnum()
    return _is_content(char)


def _is_content(char: str) -> bool:
    """Whether a character has content: letter, digit, mark, currency sign or pictogram."""
    return char.isalnum() or unicodedata.category(char) in ("Mn", "Mc", "Me", "Sc", "So")


def singular(word: str, phrase: str) -> str:
    """Return the singular of the lower-case last `word` of `phrase`; if in doubt, `word`."""
    if word in _SINGULAR_OF:
        return _SINGULAR_OF[word]
    if _MEN.fullmatch(word) and word not in _SINGULAR_WORDS:
        return f"{word[:-2]}an"
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word in _SINGULAR_WORDS or "_".join(phrase.split()[-2:]) in _SINGULAR_PHRASES:
        return word
    if is_full_name(phrase):  # "sarah banks"
        return word
    if word.endswith("ics"):
        return word[:-1] if word in _ICS_PLURALS else word
    if word.endswith(("as", "os")):
        return word[:-1] if word in _VOWEL_PLURALS else word
    return _strip_plural(word)


def _strip_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 or word in _IE_PLURALS else word[:-3] + "y"
    if word.endswith("oes"):
        return word[:-1] if word in _OE_PLURALS else word[:-2]
    if word.endswith(("ches", "shes", "xes", "sses", "tzes", "zzes")) and word not in _E_PLURALS:
        return word[:-2]
    return word[:-1]


_MEN = re.compile(r"\w{3,}[^\W\d_aiou]men|\w+women")
_SINGULAR_OF = dict(pair.split(":") for pair in _LISTS["irregular plurals"])
_IE_PLURALS = frozenset(_LISTS["singular in -ie"])
_OE_PLURALS = frozenset(_LISTS["singular in -oe"])
_E_PLURALS = frozenset(_LISTS["singular in -e"])
_VOWEL_PLURALS = frozenset(_LISTS["plurals in -as and -os"])
_ICS_PLURALS = frozenset(_LISTS["plurals in -ics"])
_SINGULAR_PHRASES = frozenset(_LISTS["singular phrases"])
_SINGULAR_WORDS = frozenset(_LISTS["singular words"])
_IFY_OR_IZE = re.compile(r"([a-z]{3,}if)(?:ied|ying)|([a-z]{3,}iz)(?:ed|ing)")


def infinitive(word: str) -> str:
    """Return the infinitive of a regular lower-case verb in -ed or -ing; if in doubt, `word`."""
    if not word.endswith(("ed", "ing")):
        return word
    match = _IFY_OR_IZE.fullmatch(word)
    if match:
        return f"{match[1]}y" if match[1] else f"{match[2]}e"
    return _INFINITIVE_OF.get(word, word)


def _verb_forms(verb: str) -> tuple[str, str]:
    if verb.endswith("+"):  # doubles its last letter
        return f"{verb[:-1]}{verb[-2]}ed", f"{verb[:-1]}{verb[-2]}ing"
    if verb.endswith("e"):
        return f"{verb}d", verb + "ing" if verb.endswith("ee") else f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in "aeo":
        return f"{verb[:-1]}ied", f"{verb}ing"
    return f"{verb}ed", f"{verb}ing"


_INFINITIVE_OF = {
    form: verb.rstrip("+") for verb in _LISTS["regular verbs"] for form in _verb_forms(verb)
}

_BETWEEN_HAN = re.compile(rf"(?<=[{HAN}])[\s·-]+(?=[{HAN}])")
_INITIALS = re.compile(r"(?<!\w)([^\W\d_])\.\s*(?=[^\W\d_]\.)")
_POINT = re.compile(r"(?<=\w)\.(?=\s|\Z)")
_AND = re.compile(r"(?<=\s)(?:&|'n'|'n|n')(?=\s)")
_SIGN = re.compile("[a-z][\u0300-\u036f]*|.", re.DOTALL)
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"})
_HYPHENED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_SHORTEST = 6  # letters of a word that a hyphen may have divided: "co-op" is no coop
_NOT_JOINED = frozenset(("re", "un", "in", "de", "ex"))  # "re-cover" is not "recover"


def space_hyphens(key: str) -> str:
    """Replace hyphens by spaces and "&" by "and" in a key; drop points after words."""
    key = _POINT.sub("", _INITIALS.sub(r"\1", key))
    return " ".join(_AND.sub("and", _BETWEEN_HAN.sub("", key).replace("-", " ")).split())


def join_hyphens(key: str) -> str:
    """Remove the hyphens between letters of a key: "cofounder" for "co-founder"."""
    return _HYPHENED.sub(_join, key)


def _join(match: re.Match[str]) -> str:
    word = match.group().replace("-", "")
    first, rest = match.group().split("-", 1)
    kept = first in _NOT_JOINED and not (first == "re" and rest.startswith("e"))
    return match.group() if kept or len(word) < _SHORTEST else word


def strip_accents(key: str) -> str:
    """Remove accents from the Latin letters of a key; marks of other scripts are kept."""
    return key if key.isascii() else "".join(letter[0] for letter in letters(key))


def letters(key: str) -> list[str]:
    """Split a key into characters; a Latin letter is followed by its accents."""
    return _SIGN.findall(unicodedata.normalize("NFD", key.translate(_LETTERS)))


@lru_cache(maxsize=8192)
def american(word: str) -> str:
    """Return a common lower-case word in American spelling: "color" for "colour"."""
    if not word.isascii():
        one = singular(strip_accents(word), word)
        word = one if one in _LOAN_WORDS else word
    word = _AMERICAN_OF.get(word, word)
    for pattern, replacement in _SPELLING_RULES:
        word = pattern.sub(replacement, word)
    return word


_OUR, _RE, _L = ("|".join(_LISTS[f"stems in {end}"]) for end in ("-our", "-re", "-l"))

_SPELLING_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"\A(dis|un|mis|multi)?({_OUR})our", r"\1\2or"),
        (rf"\A({_RE})re(s|)\Z", r"\1er\2"),
        (rf"\A({_RE})red\Z", r"\1ered"),
        (rf"\A({_L})l(ed|er|ers|ing|ings|ist|ists|ous|ously|or|ors)\Z", r"\1\2"),
        (r"(?<=[a-z]{4})is(e|es|ed|er|ers|ing|able|ation|ations|ational)\Z", r"iz\1"),
        (r"(?<=l)ys(e|ed|er|ers|ing)\Z", r"yz\1"),
        (r"\A(ana|cata|dia|epi|mono)logue(s?)\Z", r"\1log\2"),
        (r"\A(def|off|pret)ence(s|less)?\Z", r"\1ense\2"),
        (r"\A(arch|encyclop|p|medi|an|h)ae(?=olog|di|do|val|sth|mi|ma|mo)", r"\1e"),
    )
)  # fmt: skip

_AMERICAN_OF = dict(pair.split(":") for pair in _LISTS["spellings"])
_LOAN_WORDS = frozenset(_LISTS["loan words"])
ACCENT_MATTERS = frozenset(_LISTS["accent matters"])
"""Words whose meaning depends on an accent, also with a capital letter: "Rosé", "Rose"."""
