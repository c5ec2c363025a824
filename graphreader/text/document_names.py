"""Names of one document that mean one person, organization or work, found in its text by rules.

"Soames" means Enoch Soames, "CPS" what the text says, and "I" the narrator who gives his name.
A form that two names fit is left alone: a missing pair costs little, a wrong one gives wrong
answers. There is no model.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Mapping
from types import MappingProxyType

import regex

from graphreader.text.abbreviations import abbreviations
from graphreader.text.chinese_names import foreign_names, joins_of_chinese, speakers_of
from graphreader.text.person_names import GIVEN_NAMES, LONGEST, TITLES, WORD, joins_of_persons
from graphreader.text.scripts import HAN
from graphreader.text.turns import turns_of
from graphreader.text.words import LINE_END_WITHIN, is_stop_word, word_list

_LEGAL_FORMS = word_list("legal_forms")
_OF_A_FOUNDER = frozenset(("company", "co", "group"))
_HAN_LEGAL = re.compile(
    f"(?:{'|'.join(sorted(word_list('chinese_legal_forms'), key=len, reverse=True))})$"
)
_SUBTITLE = re.compile(r"(?:: | [-–—] |; or,? |[：—]+| \()(?=\S)")
_PART = re.compile(r"(?i)\b(?:episode|part|vol(?:ume)?|book|season|chapter|act|no)\b|[第之]|\d")
_MARKS = "《》「」『』“”\"‘’'"
_RUN = regex.compile(
    r"(?<![\p{L}\p{N}])(?:(?:Mr|Mrs|Ms|Dr|Prof|St|Sen|Rep|Gov|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Mme|Mlle)"
    r"\.? )?(?:\p{Lu}\.(?:\p{Lu}\.)*|\p{Lu}[\p{L}\p{M}]*+(?:['’-]\p{Lu}[\p{L}\p{M}]*+)*+)"
    r"(?:(?:(?: (?:of|the|and|de|del|della|der|di|da|do|dos|du|la|van|von|bin|ibn|al|el)){0,2})"
    r"[ \n](?:\p{Lu}\.(?:\p{Lu}\.)*|\p{Lu}[\p{L}\p{M}]*+(?:['’-]\p{Lu}[\p{L}\p{M}]*+)*+))*+"
)
_SAID = (
    "said|says|asked|replied|answered|cried|exclaimed|whispered|shouted|muttered|murmured|remarked"
    "|told|smiled|laughed|nodded|sighed|wrote|thought|added"
)
_SPEAKER = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}'’-])(?:(?P<a>{WORD.pattern}(?: {WORD.pattern}){{0,2}}+) (?:{_SAID})\b"
    rf"|\b(?:said|asked|replied|cried) (?P<b>{WORD.pattern}(?: {WORD.pattern}){{0,2}}+))"
)
_LOWER = regex.compile(r"(?<![\p{L}\p{M}\p{N}'’-])\p{Ll}[\p{Ll}\p{M}]++")
_NARRATOR = regex.compile(
    rf"(?:\b(?:[Mm]y name (?:is|was)|I am called|I am named|I, |I am|I'm|I’m)[ \n]?"
    rf"(?P<name>{WORD.pattern}(?:[ \n]{WORD.pattern}){{1,3}}))(?=[,.;]| and\b)"
    rf"|(?P<i>我)(?:的名字)?(?:叫做|叫|名叫|名字叫|姓名是|本名)"
    rf"(?P<han>[{HAN}]{{2,4}}|[{HAN}]+(?:·[{HAN}]+)+)(?=[，。,；、])"
)
_OPENING, _CLOSING = "“「『", "”」』"


def document_names(text: str, names: Mapping[str, int] = MappingProxyType({})) -> dict[str, str]:
    """Map the short forms in a document, its abbreviations, and "I" or "我" of a named narrator.

    The full forms stand in the text, as do the short ones, or are among `names`, which are known
    to stand in the document, with their frequency.
    """
    text = LINE_END_WITHIN.sub("", text)
    found, people = _names_in(text)
    joins = {**short_names(found | Counter(names), people), **abbreviations(text)}
    joins |= _narrator(text)
    return resolved({short: full for short, full in joins.items() if short != full})


def short_names(names: Mapping[str, int], people: Container[str] = ()) -> dict[str, str]:
    """Map short and variant forms of the names of one document to the fullest form.

    `names` are given with their frequency; words in small letters among them are taken for common
    words. `people` are names that certainly mean a person, as written.
    """
    works = _subtitled(names)
    persons = joins_of_persons(names, people)
    return resolved(
        {
            **_companies(names),
            **_with_subtitle(works, names),
            **_initials(names),
            **joins_of_chinese(names),
            **{short: full for short, full in persons.items() if short not in works},
        }
    )


def resolved(joins: Mapping[str, str]) -> dict[str, str]:
    """Follow chains (A to B, B to C) to their end; what closes a circle is left out."""
    ends: dict[str, str] = {}
    for short in joins:
        seen, end = {short}, joins[short]
        while end in joins and end not in seen:
            seen.add(end)
            end = joins[end]
        if end not in seen:
            ends[short] = end
    return ends


def _companies(names: Mapping[str, int]) -> dict[str, str]:
    """Join a company's name with the one that has its legal form, if one name has.

    One word is also a founder or a product if it stands before "Company" or "Group": "Marconi".
    """
    longer: dict[str, set[str]] = defaultdict(set)
    for name in names:
        words = name.replace(",", "").split()
        end = len(words)
        while end > 1 and words[end - 1].casefold().rstrip(".") in _LEGAL_FORMS:
            end -= 1
        forms = {word.casefold().rstrip(".") for word in words[end:]}
        is_word = end == 1 and (words[0].casefold() in names or forms <= _OF_A_FOUNDER)
        if forms and words[0][0].isupper() and not is_word:
            longer[" ".join(words[:end])].add(name)
        bare = _HAN_LEGAL.sub("", name)
        if len(bare) > 1 and bare != name:
            longer[bare].add(name)
    return _unique(longer, names)


def _subtitled(names: Mapping[str, int]) -> dict[str, set[str]]:
    """The titles with a subtitle by what stands before it; "" for a part of a series."""
    longer: dict[str, set[str]] = defaultdict(set)
    for name in names:
        main, *rest = _SUBTITLE.split(name.strip(_MARKS + " "), maxsplit=1)
        if rest:
            is_part = bool(_PART.search(rest[0]))
            for short in (main, f"《{main}》"):
                longer[short].add("" if is_part else name)
    return longer


def _with_subtitle(longer: Mapping[str, set[str]], names: Mapping[str, int]) -> dict[str, str]:
    """Join "Silent Spring" with the only title that begins so; one word may be a hero's name."""
    several = {s: full for s, full in longer.items() if " " in s or s[:1] == "《"}
    return _unique(several, names)


def _initials(names: Mapping[str, int]) -> dict[str, str]:
    """Join three or more capitals with the only name of which they are the initials."""
    longer: dict[str, set[str]] = defaultdict(set)
    for name in names:
        capitals = [word[0] for word in re.split(r"[\s-]+", name) if word[:1].isupper()]
        if len(capitals) > 2 and len(capitals) >= len(name.split()) - 2:
            longer["".join(capitals)].add(name)
    return _unique(longer, names)


def _unique(longer: Mapping[str, set[str]], names: Mapping[str, int]) -> dict[str, str]:
    """The short names that stand in `names` with their only longer one."""
    pairs = ((short, min(full)) for short, full in longer.items() if len(full) == 1)
    return {short: full for short, full in pairs if short in names and full and full != short}


def _names_in(text: str) -> tuple[Counter[str], frozenset[str]]:
    """Count the names of a text and its words in small letters; return names of speakers, too."""
    names = Counter[str]()
    lower = set(_LOWER.findall(text))
    for match in _RUN.finditer(text):
        words = match.group().split()
        while words and (is_stop_word(words[0]) or _is_lower(words[0], lower)):
            del words[0]  # the first word of a sentence
        if words and len(words) <= 2 * LONGEST:
            names[" ".join(words)] += 1
    people = _speakers_in(text)
    names.update(people)
    names.update(lower)
    return names + foreign_names(text), people


def _is_lower(word: str, lower: Container[str]) -> bool:
    low = word.casefold()
    return low in lower and low not in TITLES and low not in GIVEN_NAMES


def _speakers_in(text: str) -> frozenset[str]:
    """The names in front of or behind words such as "said", which mean persons."""
    found = (match["a"] or match["b"] for match in _SPEAKER.finditer(text))
    speakers = {speaker for speaker in found if not is_stop_word(speaker.split()[0])}
    return frozenset(speakers | speakers_of(text))


def _narrator(text: str) -> dict[str, str]:
    """Map "I" to the name that the narrator gives outside of direct speech, if it is one."""
    found = {"I": set[str](), "我": set[str]()}
    for match in _NARRATOR.finditer(text):
        before = text[max(0, text.rfind("\n\n", 0, match.start())) : match.start()][-2000:]
        opened = max(map(before.rfind, _OPENING))
        if opened <= max(map(before.rfind, _CLOSING)) and not before.count('"') % 2:
            name = match["han"] or " ".join(match["name"].split())
            found["我" if match["i"] else "I"].add(name)
    if not any(found.values()) or next(turns_of(text), None):
        return {}
    return {i: min(names) for i, names in found.items() if len(names) == 1}
