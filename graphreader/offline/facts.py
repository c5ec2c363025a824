"""Atomic facts without a model: the sentences of a chunk, with their key elements.

The weightiest of them is the summary of the chunk.

"He", "She" and "It" are replaced by a name only where hardly anyone else can be meant, since a
wrong name is worse than a pronoun: the sentence before must begin with a full name, show that it is
a person of that sex (or, for "It", say what the thing is), and mention nobody else.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from graphreader.ingestion.extraction import ExtractedFact, Extraction
from graphreader.outline import LONGEST_SUMMARY
from graphreader.text.names import key_elements_of, names_of, recurring_han
from graphreader.text.sentences import sentence_spans
from graphreader.text.words import terms_of

LONG_FACT = 900  # characters; a longer sentence is cut at semicolons, else at commas or spaces
LONGEST_HEADING = 50  # characters
USUAL_TERMS = 24  # terms of a sentence; added, else the shortest sentences would weigh most
_NO_STATEMENT = re.compile(r"^[\"“‘「『|]|[:：]\s*[\"“‘「『]|[\"”’」』?？!！|]$")
_ENDS = re.compile(r"[.!?。！？；;…:：][\"'”’」』)\]]*$")
_CUT_LONG = re.compile(r"(?<=[;；])\s*")
_CUT_LONGER = re.compile(rf".{{1,{LONG_FACT}}}(?:[,，、\s]|$)|.{{{LONG_FACT}}}", re.DOTALL)
_PRONOUN = re.compile(
    r"(?:He|She) (?=[a-z])(?!and |or |who |whom )|It (?=(?:was|is|had|has|became|lies|[a-z]+ed) )"
)
_PERSON = re.compile(
    r"\b(?:born|died|married|wrote|studied|graduated|educated)\b"
    r"|\b(?:is|was) (?:an?|the) (?:[\w-]+ ){0,5}(?:[a-z]+(?:or|er|ist|ian)|poet|saint|monk|priest"
    r"|bishop|president|general|nurse)\b"
)
_SPEECH = re.compile(r"[“”]|[?!]$|\b(?:him|he|she|hers)\b")  # somebody else may be meant
_THING = re.compile(r" (?:\([^)]*\) )?(?:is|was) (?:an?|the|one of) ")
_SEXES = {  # titles before a name, words about a person
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
_DEFINITION = re.compile(r"\b(?:is|was) (?:an?|the|one of the) .*", re.DOTALL)


def extraction_of(text: str) -> Extraction:
    """The facts of a chunk, and its summary."""
    facts = facts_of(text)
    return Extraction(facts=facts, summary=weightiest([one.fact for one in facts]))


def weightiest(sentences: Sequence[str]) -> str:
    """The sentence whose terms recur most in the others, relative to its length; "" of none.

    The first of several equal ones. Speech, questions, rows of tables and sentences that are too
    long for a summary are taken only if there is nothing else.
    """
    terms = [terms_of(sentence) for sentence in sentences]
    frequency = Counter(term for own in terms for term in own)

    def weight(place: int) -> tuple[bool, float]:
        own, sentence = terms[place], sentences[place]
        fits = len(sentence) <= LONGEST_SUMMARY and not _NO_STATEMENT.search(sentence)
        return fits, sum(frequency[term] - 1 for term in own) / (len(own) + USUAL_TERMS)

    return sentences[max(range(len(sentences)), key=weight)] if sentences else ""


def facts_of(text: str) -> list[ExtractedFact]:
    """The sentences of `text` as facts, in order; headings only where there is nothing else."""
    sentences = [" ".join(text[start:end].split()) for start, end in sentence_spans(text)]
    statements = [sentence for sentence in sentences if not _is_heading(sentence)] or sentences
    recurring = recurring_han(text)
    facts = (
        ExtractedFact(fact=fact, key_elements=key_elements_of(fact, recurring))
        for sentence in _resolve_pronouns(statements)
        for fact in _split_long(sentence)
    )
    return [fact for fact in facts if fact.key_elements]


def _resolve_pronouns(sentences: Iterable[str]) -> Iterator[str]:
    """The sentences in order, a first He, She or It replaced by its name where that is safe."""
    previous = name_before = pronoun_before = ""
    for number, sentence in enumerate(sentences):
        match = _PRONOUN.match(sentence)
        pronoun = match.group().strip() if match else ""
        name = ""
        if pronoun and pronoun == pronoun_before and not _mentions_others(previous, name_before):
            name = name_before
        elif pronoun:
            name = _antecedent(previous, pronoun, number == 1)
        pronoun_before, name_before = (pronoun, name) if name else ("", "")
        previous = f"{name} {sentence[match.end() :]}" if match and name else sentence
        yield previous


def _antecedent(previous: str, pronoun: str, is_first: bool) -> str:
    """The only name the pronoun can mean, or "". `is_first`: nobody was named earlier."""
    name = next(iter(names_of(previous)), "")
    if " " not in name or not previous.startswith(name) or _SPEECH.search(previous):
        return ""
    rest = previous[len(name) :]
    if pronoun == "It":
        return name if _THING.match(rest) and not _PERSON.search(rest) else ""
    if not (is_first and _PERSON.search(rest)) and not _fits_sex(pronoun, name, rest):
        return ""
    other = "She" if pronoun == "He" else "He"
    return "" if _fits_sex(other, name, rest) or _mentions_others(previous, name) else name


def _fits_sex(pronoun: str, name: str, rest: str) -> bool:
    """Whether the name's title or its sentence fits the pronoun."""
    titles, words = _SEXES[pronoun]
    return name.split()[0].rstrip(".") in titles or bool(words.search(rest))


def _mentions_others(sentence: str, subject: str) -> bool:
    """Whether it has a word for another person, or a name that is not a place or a time."""
    rest = sentence[len(subject) :]
    if _OTHERS.search(_DEFINITION.sub("", rest)):
        return True
    return any(
        not _OF_A_PLACE.search(rest[: match.start()])
        for name in names_of(rest)
        for match in re.finditer(re.escape(name), rest)
    )


def _is_heading(sentence: str) -> bool:
    return not _ENDS.search(sentence) and len(sentence) < LONGEST_HEADING


def _split_long(sentence: str) -> list[str]:
    if len(sentence) <= LONG_FACT:
        return [sentence]
    pieces: list[str] = []
    for piece in _CUT_LONG.split(sentence):
        pieces += _CUT_LONGER.findall(piece) if len(piece) > LONG_FACT else [piece]
    return [piece.strip() for piece in pieces if piece.strip()]
