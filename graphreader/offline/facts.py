"""Atomic facts without a model: the sentences of a chunk, with what each is about.

Naming who He, She and It are, only where hardly anyone else can be meant.

A wrong name is worse than a pronoun. So the sentence before must begin with a full name, show that
it is a person's of that sex (or, for It, say what the thing is), and speak of nobody else.
"""

import re
from collections.abc import Iterable, Iterator

from graphreader.ingestion.extraction import ExtractedFact
from graphreader.text.names import key_elements_of, names_of, recurring_han
from graphreader.text.sentences import sentence_spans
from graphreader.text.words import words_of

_PRONOUN = re.compile(
    r"(?:He|She) (?=[a-z])(?!and |or |who |whom )|It (?=(?:was|is|had|has|became|lies|[a-z]+ed) )"
)

_PERSON = re.compile(
    r"\b(?:born|died|married|wrote|studied|graduated|educated)\b"
    r"|\b(?:is|was) (?:an?|the) (?:[\w-]+ ){0,5}(?:[a-z]+(?:or|er|ist|ian)|poet|saint|monk|priest"
    r"|bishop|president|general|nurse)\b"
)

_SPOKEN = re.compile(r"[“”]|[?!]$|\b(?:him|he|she|hers)\b")  # somebody else may be meant
_THING = re.compile(r" (?:\([^)]*\) )?(?:is|was) (?:an?|the|one of) ")

_SEXES = {  # words that stand before a name, words about it
    "He": (
        ("Mr", "Sir", "King", "Lord", "Prince", "Pope", "Duke", "Emperor"),
        re.compile(r"\b(?:his|himself|actor|king|man|boy|monk)\b"),
    ),
    "She": (
        ("Mrs", "Miss", "Ms", "Lady", "Queen", "Princess", "Madame", "Empress"),
        re.compile(r"\b(?:her|herself|actress|queen|woman|girl|nun)\b"),
    ),
}

_OTHERS = re.compile(
    r"\b(?:father|mother|husband|wife|son|daughter|brother|sister|friend|king|queen|man|woman|boy"
    r"|girl|teacher|master|colleague|partner|uncle|aunt|cousin)s?\b"
)

_OF_A_PLACE = re.compile(
    r"\b(?:an?|in|at|near|from|on|to|of|the|for|into|since|until|by)(?: the)? $"
)

_WHAT_IT_IS = re.compile(r"\b(?:is|was) (?:an?|the|one of the) .*", re.DOTALL)


def resolved(sentences: Iterable[str]) -> Iterator[str]:
    """The sentences in order, a first He, She or It replaced by its name where that is safe.

    A text that has spoken of nobody else so far needs less proof than one that has.
    """
    before = subject = meant = ""
    for number, sentence in enumerate(sentences):
        match = _PRONOUN.match(sentence)
        pronoun = match.group().strip() if match else ""
        name = ""
        if pronoun and pronoun == meant and not _speaks_of_others(before, subject):
            name = subject
        elif pronoun:
            name = _antecedent(before, pronoun, number == 1)
        meant, subject = (pronoun, name) if name else ("", "")
        before = f"{name} {sentence[match.end() :]}" if match and name else sentence
        yield before


def _antecedent(before: str, pronoun: str, first: bool) -> str:
    """The only one whom the pronoun can mean, or nothing. `first`: nobody was named earlier."""
    name = next(iter(names_of(before)), "")
    if " " not in name or not before.startswith(name) or _SPOKEN.search(before):
        return ""
    rest = before[len(name) :]
    if pronoun == "It":
        return name if _THING.match(rest) and not _PERSON.search(rest) else ""
    if not (first and _PERSON.search(rest)) and not _is(pronoun, name, rest):
        return ""
    other = "She" if pronoun == "He" else "He"
    return "" if _is(other, name, rest) or _speaks_of_others(before, name) else name


def _is(pronoun: str, name: str, rest: str) -> bool:
    """Whether the name's title or its sentence goes with the pronoun."""
    titles, words = _SEXES[pronoun]
    return name.split()[0].rstrip(".") in titles or bool(words.search(rest))


def _speaks_of_others(sentence: str, subject: str) -> bool:
    """Whether there is a word for another person, or a name that is not a place's or time's."""
    rest = sentence[len(subject) :]
    if _OTHERS.search(_WHAT_IT_IS.sub("", rest)):
        return True
    return any(
        not _OF_A_PLACE.search(rest[: match.start()])
        for name in names_of(rest)
        for match in re.finditer(re.escape(name), rest)
    )


LONG_FACT = 600  # characters; a longer sentence is cut at semicolons
LONGEST_FACT = 1200  # characters; a longer piece is cut at commas or spaces
WORDS_OF_A_HEADING = 6
LONGEST_HEADING = 60  # characters
_ENDS = re.compile(r"[.!?。！？；;…:：][\"'”’」』)\]]*$")
_CUT_LONG = re.compile(r"(?<=[;；])\s*")
_CUT_LONGER = re.compile(rf".{{1,{LONGEST_FACT}}}(?:[,，、\s]|$)|.{{{LONGEST_FACT}}}", re.DOTALL)


def facts_of(text: str) -> list[ExtractedFact]:
    """The statements of `text` in order; a heading is none, unless there is nothing else.

    White space is single spaces, so hard-wrapped text reads well; He, She and It give way to a
    name where that is safe. Every key element stands in its fact.
    """
    sentences = [" ".join(text[start:end].split()) for start, end in sentence_spans(text)]
    statements = [sentence for sentence in sentences if not _is_heading(sentence)] or sentences
    recurring = recurring_han(text)
    facts = (
        ExtractedFact(fact=fact, key_elements=key_elements_of(fact, recurring))
        for sentence in resolved(statements)
        for fact in _cut(sentence)
    )
    return [fact for fact in facts if fact.key_elements]


def _is_heading(sentence: str) -> bool:
    return (
        not _ENDS.search(sentence)
        and len(words_of(sentence)) <= WORDS_OF_A_HEADING
        and len(sentence) < LONGEST_HEADING
    )


def _cut(sentence: str) -> list[str]:
    if len(sentence) <= LONG_FACT:
        return [sentence]
    pieces = (p for p in _CUT_LONG.split(sentence) if p)
    cut = (c for p in pieces for c in (_CUT_LONGER.findall(p) if len(p) > LONGEST_FACT else [p]))
    return [piece.strip() for piece in cut if piece.strip()]
