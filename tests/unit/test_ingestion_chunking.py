"""Documents are cut into chunks, and edited ones keep the chunks that still stand in the text."""

import re
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphreader.documents import Chunk, Document, Place
from graphreader.ingestion.chunking import rechunk, split
from graphreader.tokens import count

WORDS = ["joan", "rode", "to", "the", "king", "of", "france", "and", "won"]
LIMIT = 200

Edit = tuple[float, int, str]


def document_of(text: str, source: str = "source") -> Document:
    return Document("corpus", source, "title", source, text, sha256="", language="en")


def chunks_of(text: str, limit: int = LIMIT) -> list[Chunk]:
    return split(document_of(text), limit)


def rechunked(text: str, former: Iterable[Chunk], limit: int = LIMIT) -> list[Chunk]:
    return rechunk(document_of(text), limit, list(former))


def ids(chunks: Iterable[Chunk]) -> list[str]:
    return [chunk.id for chunk in chunks]


def joined(chunks: Iterable[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def paragraph(seed: int, words: int = 40) -> str:
    random = Random(seed)
    line = " ".join(random.choice(WORDS) for _ in range(words))
    return line.capitalize() + "."


def numbered(number: int) -> str:
    """A paragraph unlike all others."""
    return f"Letter {number}. {paragraph(number)}"


def book(count: int = 40) -> list[Chunk]:
    return chunks_of("\n\n".join(map(numbered, range(count))) + "\n")


def longest_space(text: str) -> int:
    """Tokens of the longest run of white space."""
    return max(map(count, re.findall(r"\s+", text)), default=0)


def readable(text: str) -> bool:
    return bool(text.strip().strip("\ufeff").strip())


def edited(text: str, edit: Edit) -> str:
    """The text with some characters at a part of it replaced by others."""
    part, length, new = edit
    at = int(part * len(text))
    return text[:at] + new + text[at + length :]


def check_chunks(chunks: list[Chunk], text: str, limit: int) -> None:
    """Joined, the chunks give the text back; each keeps the limit; ids and indexes are sound."""
    assert joined(chunks) == text
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.text == text[chunk.start : chunk.end] != "" for chunk in chunks)
    assert all(chunk.tokens == count(chunk.text) <= limit for chunk in chunks)
    assert len(set(ids(chunks))) == len(chunks)


texts = st.one_of(
    st.text(max_size=300),
    st.text(st.sampled_from("ab .!?。我，\n\r\t#'ée\u0301👩\u200d🏽"), max_size=600),
    st.lists(
        st.sampled_from(
            [
                "Joan won. ",
                "\n\n",
                "\n",
                "## Title\n",
                "太宗问曰：“此人是谁？”",
                "x" * 90,
                " " * 60,
                "我" * 70,
            ]
        ),
        max_size=40,
    ).map("".join),
).filter(lambda text: bool(text.strip().strip("\ufeff").strip()))


edits = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 60),
        st.sampled_from(["", " ", "\n\n", "x", "Joan won. ", "太宗问曰", "👩🏽", "a\n\n\nb"]),
    ),
    max_size=4,
)


# Whatever the text and its edits, the chunks are the text, within the limit; equal input gives
# equal chunks, and unchanged text keeps all of them.
@settings(deadline=None, max_examples=100)
@given(texts, edits, st.integers(8, 120), st.integers(8, 60), st.integers(0, 7))
@example("Joan won. " * 20, [(0.5, 0, " ")], 8, 8, 0)
@example(" " * 900 + "x" + " " * 900, [(0.5, 4, "y")], 8, 8, 0)
@example("👨‍👩‍👧‍👦" * 50, [(0.5, 1, "y")], 8, 8, 0)
@example("太宗问曰此人是谁" * 100, [], 20, 20, 0)
def test_chunks_are_the_text(
    text: str, changes: list[Edit], limit: int, other: int, missing: int
) -> None:
    first = chunks_of(text, limit)
    check_chunks(first, text, limit)
    assert rechunked(text, first, limit) == rechunked(text, [], limit) == first
    versions = [text]
    for change in changes:
        versions.append(edited(versions[-1], change))
    former = [chunk for chunk in first if chunk.index % 8 != missing]
    space = max(map(longest_space, versions))
    for new in filter(readable, [*versions, text]):
        chunks = rechunked(new, former, other)
        check_chunks(chunks, new, other)
        assert chunks == rechunked(new, chunks, other)
        if space < min(limit, other) // 2:
            assert all(chunk.text.strip() for chunk in chunks)
        former = chunks


# Whole paragraphs stay together, and white space belongs to the chunk before it.
def test_paragraphs_stay_whole() -> None:
    text = "  " + "\n\n".join(paragraph(n) for n in range(30)) + "\n\n"
    chunks = chunks_of(text)

    assert len(chunks) > 5
    assert all(chunk.text.endswith(".\n\n") for chunk in chunks)
    assert chunks[0].text.startswith("  ")
    assert all(not chunk.text[0].isspace() for chunk in chunks[1:])
    assert all(chunk.tokens > 120 for chunk in chunks)


# A paragraph that is too long is cut where a line ends, else a sentence, else a word.
def test_long_paragraphs() -> None:
    turns = "\n".join(f"Speaker {n}: {paragraph(n, 20)} {paragraph(n + 50, 20)}" for n in range(30))
    sentences = " ".join(paragraph(n, 20) for n in range(60))
    words = "joan rode to the king " * 300

    assert all(chunk.text.startswith("Speaker") for chunk in chunks_of(turns))
    assert all(chunk.text.rstrip().endswith(".") for chunk in chunks_of(sentences))
    assert all(chunk.text.endswith(" ") for chunk in chunks_of(words))
    for text in (turns, sentences, words):
        assert all(chunk.tokens > 100 for chunk in chunks_of(text))


# A heading begins a chunk rather than ending one.
@pytest.mark.parametrize(
    "heading", ["CHAPTER {}", "## Part {}", "第{}回 灵根育孕源流出", "CHAP. {}."]
)
def test_headings(heading: str) -> None:
    parts = [
        heading.format("IVX"[n % 3]) + "\n\n" + "\n\n".join(paragraph(10 * n + m) for m in range(3))
        for n in range(12)
    ]
    chunks = chunks_of("\n\n".join(parts))

    assert [chunk.text for chunk in chunks] == [part + "\n\n" for part in parts[:-1]] + [parts[-1]]


# Text without any white space, signs in a row, only line ends: nothing takes long or exceeds.
@pytest.mark.parametrize("unit", ["a", "啊", "\n", " ", "Mr. ", "👩\u200d"])
def test_hostile_text(unit: str) -> None:
    text = "x" + unit * (60_000 // len(unit)) + "y"
    chunks = chunks_of(text, 2000)

    assert "".join(chunk.text for chunk in chunks) == text
    assert max(chunk.tokens for chunk in chunks) <= 2000
    assert len(chunks) <= count(text) / 1000 + 2
    edited = text.replace("x", "z")
    assert joined(rechunked(edited, chunks, 2000)) == edited


# Of paragraphs changed, added and taken out, only the chunks that held them are cut anew.
@settings(deadline=None, max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from(["change", "insert", "delete"]), st.integers(0, 59)),
        min_size=1,
        max_size=6,
        unique_by=lambda edit: edit[1],
    )
)
def test_only_touched_chunks(changes: list[tuple[str, int]]) -> None:
    before = chunks_of("".join(numbered(n) + "\n\n" for n in range(60)), LIMIT)
    paragraphs = {n: numbered(n) + "\n\n" for n in range(60)}
    for kind, n in changes:
        paragraphs[n] = {
            "change": paragraphs[n].replace(" ", " suddenly ", 1),
            "insert": f"Added before {n}.\n\n" + paragraphs[n],
            "delete": "",
        }[kind]
    touched = {
        chunk.id
        for chunk in before
        for kind, n in changes
        if numbered(n) in chunk.text
        and not (kind == "insert" and chunk.text.startswith(numbered(n)))
    }
    after = rechunked("".join(paragraphs.values()), before)
    back = rechunked(joined(before), after)

    assert set(ids(before)) - set(ids(after)) == touched
    assert len(set(ids(after)) - set(ids(before))) <= 2 * len(touched) + len(changes)
    assert joined(back) == joined(before)
    assert set(ids(before)) - touched <= set(ids(back))


# Equal chunks are matched in order: only as many are new as there are edits.
def test_equal_chunks_in_an_edit() -> None:
    parts = [paragraph(1, 150) + "\n\n"] * 100
    before = chunks_of("".join(parts))
    parts[20] = "Joan fell.\n\n"
    parts[60:60] = ["Joan rose.\n\n"]
    after = rechunked("".join(parts), before)

    assert [chunk.text for chunk in before] == [before[0].text] * 100
    assert [chunk.index for chunk in after if chunk.text != before[0].text] == [20, 60]
    assert set(ids(after)) & set(ids(before)) == set(ids(before[:-1]))


# A text that repeats itself, and so has its chunks at nearly every place, is not slow.
def test_repeated_text() -> None:
    before = chunks_of("-" * 100_000, 300)
    began = process_time()
    after = rechunked("Joan\n" + joined(before) + "fell", before, 300)

    assert process_time() - began < 20
    assert ids(after[1:5]) == ids(before[:4])


# White space that came or went is part of the chunk before it, or else of the first one.
@pytest.mark.parametrize("space", [" ", "\n\n\n"])
def test_space_between(space: str) -> None:
    before = book()
    inner = rechunked(joined(before[:5]) + space + joined(before[5:]), before)
    first = rechunked(space + joined(before), before)
    last = rechunked(joined(before) + space, before)

    assert ids(inner[:4] + inner[5:]) == ids(before[:4] + before[5:])
    assert inner[4].text == before[4].text + space
    assert ids(first[1:]) == ids(before[1:])
    assert first[0].text == space + before[0].text
    assert ids(last[:-1]) == ids(before[:-1])
    assert last[-1].text == before[-1].text + space


# A chunk of which a word was changed at its very end or beginning does not stand any more.
def test_word_across_an_end() -> None:
    before = chunks_of(joined(book()).rstrip(".\n"), LIMIT)
    longer = rechunked(joined(before) + "dom", before)
    other = rechunked(joined(before[:5]) + "Re" + joined(before[5:]), before)

    assert ids(longer[:-1]) == ids(before[:-1])
    assert longer[-1].text == before[-1].text + "dom"
    assert ids(other[:5] + other[6:]) == ids(before[:5] + before[6:])
    assert other[5].text == "Re" + before[5].text


# Where the graph lacks chunks of the former version, the others are kept.
def test_missing_chunks() -> None:
    line = Random(1)
    unbroken = chunks_of("".join(line.choice("abcdefgh") for _ in range(5_000)), LIMIT)
    for before in (book(), unbroken):
        present = [chunk for chunk in before if chunk.index not in {0, 4, 6, 9}]
        old = [replace(chunk, tokens=1) for chunk in present]
        after = rechunk(document_of(joined(before)), LIMIT, old)

        assert joined(after) == joined(before)
        assert ids(chunk for chunk in after if chunk.tokens == 1) == ids(present)


# A turn of a speaker stays whole where it fits, with all its paragraphs and lines; so does code,
# whose comments are no headings.
def test_whole_blocks() -> None:
    turns = [
        f"{'ANN' if n % 2 else 'BOB'}: {paragraph(n, 30)}\n\n{paragraph(n + 50, 20 + n % 7)}\n"
        for n in range(30)
    ]
    chunks = chunks_of("Hearing\n\n" + "\n".join(turns))

    assert all(sum(turn in chunk.text for chunk in chunks) == 1 for turn in turns[:-1])
    assert sum(chunk.tokens > 100 for chunk in chunks) >= len(chunks) - 1

    code = [f"```\n# Part {n}\n\nx = {n}\n\n# Next\n{paragraph(n)}\n```\n" for n in range(12)]
    chunks = chunks_of("\n".join(f"{paragraph(n, 30)}\n\n{one}" for n, one in enumerate(code)))
    assert all(sum(one.strip() in chunk.text for chunk in chunks) == 1 for one in code)


# A turn longer than a chunk is cut at its paragraphs; an edit of a transcript keeps its chunks.
def test_long_turn() -> None:
    long = "ANN: " + "\n\n".join(map(numbered, range(12)))
    text = "\n\n".join(
        [long, *(f"BOB: {numbered(n)}\n\nANN: {numbered(n + 50)}" for n in range(9))]
    )
    chunks = chunks_of(text)
    edited = text.replace("Letter 52.", "Letter 52 came.")
    again = rechunked(edited, chunks)

    assert all(re.match(r"Letter|ANN|BOB", chunk.text) for chunk in chunks)
    assert joined(again) == edited
    assert len(set(ids(chunks)) - set(ids(again))) <= 2
    assert all(re.match(r"Letter|ANN|BOB", chunk.text) for chunk in again)


# A chunk knows the places of its characters, also the one that began before it; after an edit they
# are those of the new text, although the chunk is kept.
def test_places_of_chunks() -> None:
    text = "\n\n".join(map(numbered, range(12)))
    places = tuple(Place(at, f"row {n}") for n, at in enumerate(range(0, len(text), 150), 1))
    chunks = split(replace(document_of(text), places=places), LIMIT)
    last = places[-1]._replace(name="row 99")
    edited = replace(document_of(text), places=(*places[:-1], last))
    kept = rechunk(edited, LIMIT, chunks)

    assert len(chunks) > 2
    for chunk in chunks:
        at = range(chunk.start, chunk.end)
        assert [chunk.place_at(one) for one in at] == [
            Place(one, f"row {one // 150 + 1}") for one in at
        ]
        assert chunk.places == f"row {at[0] // 150 + 1} to row {at[-1] // 150 + 1}"
    assert ids(kept) == ids(chunks)
    assert kept[-1].place_names == (*chunks[-1].place_names[:-1], "row 99")
    assert split(document_of(text), LIMIT)[0].place_at(0) is None
