"""Atomic facts without a model: the sentences of a chunk, with their key elements.

The most central sentence is the summary of the chunk. In a text that begins with a definition, the
pronouns right after it are replaced by the defined name.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from graphreader.ingestion.extraction import ExtractedFact, Extraction
from graphreader.outline import LONGEST_SUMMARY
from graphreader.text.blocks import blocks_of
from graphreader.text.headings import headings_of
from graphreader.text.lines import FULL_STOPS, ITEM, Span, one_line
from graphreader.text.names import key_elements_of, names_of, recurring_han
from graphreader.text.sentences import sentence_spans
from graphreader.text.words import terms_of

LONG_FACT = 900  # characters; a longer sentence is cut at semicolons, commas or spaces
LONGEST_HEADING = 50  # characters
USUAL_TERMS = 24  # added to the terms of a sentence, so that short sentences do not win
_NO_STATEMENT = re.compile(r"^[\"“‘「『|]|[:：]\s*[\"“‘「『]|[\"”’」』?？!！|]$")
_STATES = re.compile(
    rf"[.!?,;…:：，、{FULL_STOPS}][\"'”’」』)\]]*$|\w ?[:：] ?\S"
)  # or "Name: Ada"
# Numbers of items that may also begin a line within a sentence: "A. Smith", "2.5 million".
_NUMBER = re.compile(r"(?:[^\W\d_][.)]|[ivxIVX]{2,5}[.)]|\d{1,3}(?:\.\d{1,3})+\.?)[ \t]+\S")
_DIGIT = re.compile(r"\d")
_MARK = re.compile(r"^(?:[-*+•◦▪‣]|#{1,6}) ")  # of an item or a heading
LINES_OF_TEXT = 3
"""The number of short lines, one below the other, from which they are a text, not headings."""
_LETTER = re.compile(r"[^\W\d_]")
_CELL_BORDER = re.compile(r"\||\t")
_RECORD_LABEL = re.compile(r"(?:^|(?<=\n)|(?<=; ))([^:;\n]{1,100}): ")
_HAS_WORD = re.compile(r"\w")
_CUT_LONG = re.compile(r"(?<=[;；])\s*")
_CUT_LONGER = re.compile(rf".{{1,{LONG_FACT}}}(?:[,，、\s]|$)|.{{{LONG_FACT}}}", re.DOTALL)
_DEFINITION = re.compile(r" (?:\([^)]*\) )?(?:is|was) (?:an?|the|one of) ")
_PERSON = re.compile(
    r"\b(?:born|died|wrote|studied|graduated|educated)\b"
    r"|\b(?:is|was) (?:an?|the) (?:[\w-]+ ){0,5}(?:[a-z]+(?:or|er|ist|ian|man)|actress|coach|poet"
    r"|saint|monk|priest|bishop|president|general|nurse|king|queen)\b"
)
_OTHERS = re.compile(
    r"\b(?:father|mother|husband|wife|married|son|daughter|brother|sister|friend|him|[Tt]he[my])\b"
)
_PRONOUNS = re.compile(r"(?:He|She) (?=[a-z])(?!and |or |who )"), re.compile(r"It (?=[a-z])")


def extraction_of(text: str) -> Extraction:
    """Extract the facts and the summary of a chunk."""
    facts = facts_of(text)
    return Extraction(facts=facts, summary=weightiest([one.fact for one in facts]))


def weightiest(sentences: Sequence[str]) -> str:
    """Choose the sentence whose terms recur most in the others, relative to its length.

    Of equal sentences the first is taken; "" without any. Speech, questions, rows of tables and
    sentences too long for a summary are taken only if there is nothing else.
    """
    terms = [terms_of(sentence) for sentence in sentences]
    frequency = Counter(term for own in terms for term in own)

    def weight(place: int) -> tuple[bool, float]:
        own, sentence = terms[place], sentences[place]
        fits = len(sentence) <= LONGEST_SUMMARY and not _NO_STATEMENT.search(sentence)
        return fits, sum(frequency[term] - 1 for term in own) / (len(own) + USUAL_TERMS)

    return sentences[max(range(len(sentences)), key=weight)] if sentences else ""


def facts_of(text: str) -> list[ExtractedFact]:
    """Turn the sentences of a text into facts, in order; headings if there is nothing else.

    Items of lists, rows of tables, short lines with a digit and the lines of a poem are statements.
    """
    recurring = recurring_han(text)
    statements = _statements(text)
    resolved = _resolve_pronouns([sentence for _, sentence in statements])
    facts = (
        ExtractedFact(sentences=[number], fact=fact, key_elements=key_elements_of(fact, recurring))
        for (number, _), sentence in zip(statements, resolved, strict=True)
        for fact in _split_long(sentence)
    )
    return [fact for fact in facts if fact.key_elements]


_Sentence = tuple[int, str]
"""A sentence in one line with its number in the text, from 1."""


def _statements(text: str) -> list[_Sentence]:
    """The sentences of a text, without headings unless there is nothing else."""
    all_, statements = list[_Sentence](), list[_Sentence]()
    headings: list[_Sentence] = []  # one below the other
    known = {heading.start for heading in headings_of(text)}
    header_rows = set(_header_rows(text))
    last = 0
    spans = list(sentence_spans(text))
    for number, (start, end) in enumerate(spans, 1):
        following = spans[number] if number < len(spans) else (end, end)
        if start in header_rows or _is_header(text, (start, end), following):
            continue
        sentence = _MARK.sub("", one_line(text[start:end], text))
        is_item = ITEM.match(text, start, end) is not None
        if is_item and not _HAS_WORD.search(sentence):
            continue  # the line below a header row
        if text.count("\n", last, start) > 1:
            headings = []
        is_entry = start not in known and bool(_NUMBER.match(sentence) or _DIGIT.search(sentence))
        is_long = len(sentence) >= LONGEST_HEADING
        if is_item or is_entry or is_long or _STATES.search(sentence):
            statements.append((number, sentence))
            headings = []
        else:
            headings.append((number, sentence))
            if len(headings) >= LINES_OF_TEXT:
                statements += headings if len(headings) == LINES_OF_TEXT else headings[-1:]
        all_.append((number, sentence))
        last = end
    return statements or all_


def _header_rows(text: str) -> Iterator[int]:
    """Yield where the header row of each table begins, by its form.

    It stands above a line of hyphens; or it has words alone, and a column has digits in all rows.
    """
    for block in blocks_of(text):
        if block.kind != "table":
            continue
        rows = text[block.start : block.end].splitlines()
        if len(rows) > 2 and not _HAS_WORD.search(rows[1]):
            yield block.start
            continue
        header = _cells(rows[0])
        if not all(_LETTER.search(cell) and not _DIGIT.search(cell) for cell in header):
            continue
        columns = list(zip_longest(*map(_cells, rows[1:]), fillvalue=""))[: len(header)]
        if any(all(map(_DIGIT.search, column)) for column in columns):
            yield block.start


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELL_BORDER.split(row.strip().strip("|"))]


def _is_header(text: str, line: Span, following: Span) -> bool:
    """Whether a line lists the names of the columns of the record below it, as of a CSV file."""
    names = text[slice(*line)].rstrip(".").split("; ")
    labels = _RECORD_LABEL.findall(text, *following) if len(names) > 1 else []
    return len(labels) > 1 and set(labels) <= set(names)


def _resolve_pronouns(sentences: Sequence[str]) -> Iterator[str]:
    """Replace "He", "She" or "It" at the start of sentences after a definition by its subject.

    The first sentence without such a start, or about somebody else, ends the replacement.
    """
    first = sentences[0] if sentences else ""
    name = next(iter(names_of(first)), "")
    rest = first.removeprefix(name)
    pronoun = _PRONOUNS[0 if _PERSON.search(rest) else 1]
    is_clear = " " in name and _DEFINITION.match(rest) is not None
    for sentence in sentences:
        match = pronoun.match(sentence)
        is_clear = is_clear and bool(match or sentence is first) and not _OTHERS.search(sentence)
        yield f"{name} {sentence[match.end() :]}" if is_clear and match else sentence


def _split_long(sentence: str) -> list[str]:
    if len(sentence) <= LONG_FACT:
        return [sentence]
    pieces: list[str] = []
    for piece in _CUT_LONG.split(sentence):
        pieces += _CUT_LONGER.findall(piece) if len(piece) > LONG_FACT else [piece]
    return [piece.strip() for piece in pieces if piece.strip()]
