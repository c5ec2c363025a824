"""Ways to write one wording: hyphens, points, accents, British and American spelling.

Each function brings one way of writing to another one; two keys that become equal are one wording.
Only what is certain is listed: "programme", "tyre", "cheque" and "storey" are not, because their
American spellings are words of their own.
"""

import re
import unicodedata
from functools import lru_cache

from graphreader.ingestion.normalization.plurals import singular

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_BETWEEN_HAN = re.compile(rf"(?<=[{_HAN}])[\s·-]+(?=[{_HAN}])")
_INITIALS = re.compile(r"(?<!\w)([^\W\d_])\.\s*(?=[^\W\d_]\.)")
_POINT = re.compile(r"(?<=\w)\.(?=\s|\Z)")
_AND = re.compile(r"(?<=\s)(?:&|'n'|'n|n')(?=\s)")
_SIGN = re.compile("[a-z][\u0300-\u036f]*|.", re.DOTALL)
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"})
_HYPHENED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_SHORTEST = 6  # letters of a word that a hyphen may have divided: "co-op" is no coop
_NOT_JOINED = frozenset(("re", "un", "in", "de", "ex"))  # "re-cover" is not "recover"


def spaced(key: str) -> str:
    """Hyphens as spaces, "&" as "and", no points behind words; Chinese names without dots."""
    key = _POINT.sub("", _INITIALS.sub(r"\1", key))
    return " ".join(_AND.sub("and", _BETWEEN_HAN.sub("", key).replace("-", " ")).split())


def joined(key: str) -> str:
    """Hyphens between letters left out: "co-founder" as "cofounder"."""
    return _HYPHENED.sub(_join, key)


def _join(match: re.Match[str]) -> str:
    word = match.group().replace("-", "")
    first, rest = match.group().split("-", 1)
    kept = first in _NOT_JOINED and not (first == "re" and rest.startswith("e"))
    return match.group() if kept or len(word) < _SHORTEST else word


def plain(key: str) -> str:
    """Latin letters without accents; other scripts keep their marks, which make other letters."""
    return key if key.isascii() else "".join(letter[0] for letter in letters(key))


def letters(key: str) -> list[str]:
    """Each sign; a Latin letter with its accents behind it."""
    return _SIGN.findall(unicodedata.normalize("NFD", key.translate(_LETTERS)))


@lru_cache(maxsize=8192)
def american(word: str) -> str:
    """A common lower-case word in one spelling: "colour" as "color", "fiancé" as "fiance"."""
    if not word.isascii():
        one = singular(plain(word), word)
        word = one if one in _LOAN_WORDS else word
    word = _IRREGULAR.get(word, word)
    for pattern, replacement in _RULES:
        word = pattern.sub(replacement, word)
    return word


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


_OUR = (
    "ard|arm|behavi|cand|clam|col|demean|discol|endeav|fav|ferv|flav|glam|harb|hon|hum|lab"
    "|neighb|od|parl|ranc|rig|rum|sav|savi|splend|succ|tum|val|vap|vig"
)
_RE = (
    "amphitheat|calib|cent|centimet|epicent|fib|goit|kilomet|lit|lust|meag|millimet"
    "|och|reconnoit|sab|saltpet|scept|sepulch|somb|spect|theat"
)
_L = (
    "bevel|cancel|channel|counsel|cudgel|dial|duel|enamel|equal|fuel|funnel|gambol|grovel|jewel"
    "|label|level|libel|marshal|marvel|model|panel|parcel|pencil|quarrel|revel|rival|shovel"
    "|shrivel|signal|snivel|spiral|swivel|total|towel|travel|tunnel|unravel"
)
_RULES = tuple(
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
_IRREGULAR = dict(
    pair.split(":")
    for pair in _words(
        "grey:gray greys:grays greyish:grayish mould:mold moulds:molds moulding:molding "
        "plough:plow ploughs:plows ploughing:plowing ploughed:plowed aluminium:aluminum "
        "sulphur:sulfur sulphuric:sulfuric moustache:mustache moustaches:mustaches "
        "pyjama:pajama pyjamas:pajamas judgement:judgment judgements:judgments "
        "acknowledgement:acknowledgment ageing:aging sceptic:skeptic sceptical:skeptical "
        "scepticism:skepticism cosy:cozy artefact:artifact artefacts:artifacts gaol:jail "
        "waggon:wagon waggons:wagons connexion:connection jewellery:jewelry jeweller:jeweler "
        "marvellous:marvelous woollen:woolen skilful:skillful wilful:willful fulfil:fulfill "
        "fulfilment:fulfillment enrol:enroll enrolment:enrollment instalment:installment "
        "foetus:fetus foetal:fetal manoeuvre:maneuver manoeuvres:maneuvers "
        "diarrhoea:diarrhea oesophagus:esophagus"
    )
)
_LOAN_WORDS = _words(
    "aperitif baton blase boutonniere cafe canape chateau cliche communique consomme "
    "cortege creche creme crepe debacle debris debut decor decoupage detente doppelganger "
    "eclair elan elite emigre entree facade fete fiance fiancee frappe habitue ingenue jalapeno "
    "matinee melange melee menage metier naive naivete negligee pinata "
    "precis premiere protege protegee puree raison regime risque role roue seance senor "
    "senora senorita smorgasbord soiree souffle soupcon uber "
    "voila"
)
ACCENT_MATTERS = _words(
    "ane cote expose forte lame mate pate peche pique resume rose sake opera marche"
)
"""Words that an accent makes another one, also where they have a capital: "Rosé", "Rose"."""
