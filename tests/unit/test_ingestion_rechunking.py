from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphreader.documents import Chunk
from graphreader.ingestion.chunking import rechunk, split
from graphreader.store.catalog import ArrangedChunk
from graphreader.tokens import count
from tests.unit.test_ingestion_chunking import (
    chunks_of,
    document_of,
    longest_space,
    paragraph,
    texts,
)

LIMIT = 200

Edit = tuple[float, int, str]


def held(chunks: Iterable[Chunk]) -> list[ArrangedChunk]:
    """What the graph remembers of chunks."""
    return [ArrangedChunk(chunk.start, chunk.text, chunk.tokens) for chunk in chunks]


def recut_of(text: str, old: Iterable[Chunk], limit: int = LIMIT) -> list[Chunk]:
    return rechunk(document_of(text), limit, held(old))


def ids(chunks: Iterable[Chunk]) -> list[str]:
    return [chunk.id for chunk in chunks]


def joined(chunks: Iterable[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def edited(text: str, edit: Edit) -> str:
    """Some characters at a part of the text replaced by others."""
    part, gone, new = edit
    at = int(part * len(text))
    return text[:at] + new + text[at + gone :]


def readable(text: str) -> bool:
    return bool(text.strip().strip("\ufeff").strip())


def numbered(number: int) -> str:
    """A paragraph unlike all others."""
    return f"Letter {number}. {paragraph(number)}"


def book(count: int = 40) -> list[Chunk]:
    return chunks_of("\n\n".join(map(numbered, range(count))) + "\n", LIMIT)


edits = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 60),
        st.sampled_from(["", " ", "\n\n", "x", "Joan won. ", "太宗问曰", "👩🏽", "a\n\n\nb"]),
    ),
    max_size=4,
)


# Whatever the edit, the chunks are the text, within the limit, with ids as `split` gives them.
@settings(deadline=None, max_examples=150)
@given(texts, edits, st.integers(8, 60), st.integers(8, 60), st.integers(0, 7))
@example("Joan won. " * 20, [(0.5, 0, " ")], 8, 8, 0)
@example(" " * 900 + "x" + " " * 900, [(0.5, 4, "y")], 8, 8, 0)
def test_chunks_are_the_text(
    text: str, changes: list[Edit], limit: int, other: int, missing: int
) -> None:
    first = chunks_of(text, limit)
    versions = [text]
    for change in changes:
        versions.append(edited(versions[-1], change))
    old = [chunk for chunk in first if chunk.index % 8 != missing]
    space = max(map(longest_space, filter(readable, versions)))
    for new in filter(readable, [*versions, *reversed(versions)]):
        chunks = recut_of(new, old, other)

        assert joined(chunks) == new
        assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
        assert all(chunk.text == new[chunk.start : chunk.end] != "" for chunk in chunks)
        assert all(chunk.tokens == count(chunk.text) <= other for chunk in chunks)
        assert len(set(ids(chunks))) == len(chunks)
        assert chunks == recut_of(new, old, other) == recut_of(new, chunks, other)
        if space < min(limit, other) // 2:
            assert all(chunk.text.strip() for chunk in chunks)
        old = chunks


# The same text keeps all of its chunks; without former chunks it is split as ever.
@settings(deadline=None, max_examples=50)
@given(texts, st.integers(8, 120))
@example(" " * 900 + "x" + " " * 900, 8)
@example("太宗问曰此人是谁" * 100, 8)
def test_nothing_changed(text: str, limit: int) -> None:
    chunks = chunks_of(text, limit)

    assert recut_of(text, chunks, limit) == chunks
    assert recut_of(text, [], limit) == chunks


# Of paragraphs changed, added and taken out, only the chunks that held them are cut anew.
@settings(deadline=None, max_examples=60)
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
    after = recut_of("".join(paragraphs.values()), before)
    back = recut_of(joined(before), after)

    assert set(ids(before)) - set(ids(after)) == touched
    assert len(set(ids(after)) - set(ids(before))) <= 2 * len(touched) + len(changes)
    assert joined(back) == joined(before)
    assert set(ids(before)) - touched <= set(ids(back))


# A word changed in a chunk makes one new chunk, first, middle or last, and back again.
@pytest.mark.parametrize("at", [0, 7, -1])
def test_one_word(at: int) -> None:
    before = book()
    text = joined(before)
    changed = before[at].text.replace("Letter", "Epistle", 1)
    after = recut_of(text.replace(before[at].text, changed), before)

    expected = ids(before)
    expected[at] = after[at].id
    assert ids(after) == expected
    assert after[at].id not in ids(before)
    assert recut_of(text, after) == before


# What is inserted exactly between two chunks, long or tiny, leaves both as they are.
@pytest.mark.parametrize("new", ["Only three words.\n\n", "\n\nAnd so on.\n\n", "1429 ", "后来\n"])
def test_insertion_between(new: str) -> None:
    before = book()
    for at in (0, 4, len(before)):
        parts = [chunk.text for chunk in before]
        after = recut_of("".join([*parts[:at], new, *parts[at:]]), before)

        assert after[at].text == new
        assert ids(after[:at] + after[at + 1 :]) == ids(before)


# A long insertion is cut as it would be by itself.
def test_long_insertion() -> None:
    before = book()
    new = "\n\n".join(numbered(n) for n in range(100, 120)) + "\n\n"
    after = recut_of(joined(before[:3]) + new + joined(before[3:]), before)

    inserted = after[3 : len(after) - len(before) + 3]
    assert ids(after[:3] + after[3 + len(inserted) :]) == ids(before)
    assert [chunk.text for chunk in inserted] == [chunk.text for chunk in chunks_of(new, LIMIT)]


# Of parts that changed places the longer one keeps its chunks, and the edit in it makes one new.
def test_moved() -> None:
    before = book()
    changed = before[2].text.replace("Letter", "Epistle", 1)
    moved = joined(before[9:]) + joined(before[:9]).replace(before[2].text, changed)
    after = recut_of(moved, before)

    assert len(before) < 18
    assert joined(after) == moved
    assert set(ids(before[:9])) - set(ids(after)) == {before[2].id}


# Equal chunks are matched in order: only as many are new as there are edits.
def test_equal_chunks() -> None:
    parts = [paragraph(1, 150) + "\n\n"] * 100
    before = chunks_of("".join(parts), LIMIT)
    parts[20] = "Joan fell.\n\n"
    parts[60:60] = ["Joan rose.\n\n"]
    after = recut_of("".join(parts), before)

    assert [chunk.text for chunk in before] == [before[0].text] * 100
    assert [chunk.index for chunk in after if chunk.text != before[0].text] == [20, 60]
    assert set(ids(after)) & set(ids(before)) == set(ids(before[:-1]))


# White space that came or went is part of the chunk before it, or else of the first one.
@pytest.mark.parametrize("space", [" ", "\n\n\n"])
def test_space_between(space: str) -> None:
    before = book()
    inner = recut_of(joined(before[:5]) + space + joined(before[5:]), before)
    first = recut_of(space + joined(before), before)
    last = recut_of(joined(before) + space, before)

    assert ids(inner[:4] + inner[5:]) == ids(before[:4] + before[5:])
    assert inner[4].text == before[4].text + space
    assert ids(first[1:]) == ids(before[1:])
    assert first[0].text == space + before[0].text
    assert ids(last[:-1]) == ids(before[:-1])
    assert last[-1].text == before[-1].text + space


# A chunk of which a word was changed at its very end or beginning does not stand any more.
def test_word_across_an_end() -> None:
    before = chunks_of(joined(book()).rstrip(".\n"), LIMIT)
    longer = recut_of(joined(before) + "dom", before)
    other = recut_of(joined(before[:5]) + "Re" + joined(before[5:]), before)

    assert ids(longer[:-1]) == ids(before[:-1])
    assert longer[-1].text == before[-1].text + "dom"
    assert ids(other[:5] + other[6:]) == ids(before[:5] + before[6:])
    assert other[5].text == "Re" + before[5].text


# Lines without end, of any script and without any white space, keep what did not change.
@pytest.mark.parametrize(
    "alphabet", ["abcdefgh", "灵根育孕源流出心性修持大道生", "👩🏽😀🚀🐎", "אבגדה", "ab c"]
)
def test_enormous_line(alphabet: str) -> None:
    random = Random(1)
    before = chunks_of("".join(random.choice(alphabet) for _ in range(20_000)), LIMIT)
    parts = [chunk.text for chunk in before]
    for at in (3, 4, 20, 30):
        middle = len(parts[at]) // 2
        parts[at] = parts[at][:middle] + "xyz" + parts[at][middle:]
    after = recut_of("".join(parts), before)

    assert len(before) > 35
    assert len(set(ids(before)) - set(ids(after))) == 4
    assert len(set(ids(after)) - set(ids(before))) <= 8


# A former chunk that is too long for another limit is cut; those that fit are kept.
def test_other_limit() -> None:
    before = chunks_of(numbered(1) + "\n\n" + "\n\n".join(map(numbered, range(2, 20))), LIMIT)
    limit = sorted(chunk.tokens for chunk in before)[len(before) // 2]
    after = recut_of(joined(before), before, limit)
    fitting = {chunk.id for chunk in before if chunk.tokens <= limit}

    assert 0 < len(fitting) < len(before)
    assert all(chunk.tokens <= limit for chunk in after)
    assert set(ids(before)) & set(ids(after)) == fitting


# Where the graph lacks chunks of the former version, the others are kept.
def test_missing_chunks() -> None:
    line = Random(1)
    unbroken = chunks_of("".join(line.choice("abcdefgh") for _ in range(5_000)), LIMIT)
    for before in (book(), unbroken):
        present = [chunk for chunk in before if chunk.index not in {0, 4, 6, 9}]
        old = [ArrangedChunk(chunk.start, chunk.text, 1) for chunk in present]
        after = rechunk(document_of(joined(before)), LIMIT, old)

        assert joined(after) == joined(before)
        assert ids(chunk for chunk in after if chunk.tokens == 1) == ids(present)


# A chunk is found also where another begins with it.
def test_chunk_that_begins_another() -> None:
    verse = numbered(1) + "\n\n"
    parts = [numbered(2), verse + "Joan fell.", verse, numbered(3)]
    old = [ArrangedChunk(n, part, 1) for n, part in enumerate(parts)]
    text = "Begun anew.\n\n" + verse + "Zeal won.\n\nEnded anew."

    assert [
        chunk.text for chunk in rechunk(document_of(text), LIMIT, old) if chunk.tokens == 1
    ] == [verse]


# White space so long that it made chunks of its own makes none when it became short.
def test_space_cut_short() -> None:
    start, end = "Joan rode to Orleans.", "Then she won."
    before = chunks_of(start + " " * 900 + end, 8)
    space = before[-2].text
    after = recut_of("Jeanne" + start[4:] + space + before[-1].text, before, 8)
    kept = recut_of("Jeanne" + joined(before)[4:], before, 8)

    assert space.isspace()
    assert all(chunk.text.strip() for chunk in after)
    assert kept[-1].id == before[-1].id


# Where nothing is left of a text, and where all of its chunks begin alike, it takes no longer.
@pytest.mark.parametrize("unit", ["a", "word ", "我", "=\n"])
def test_hostile_text(unit: str) -> None:
    size = 30_000 // len(unit)
    old = [
        ArrangedChunk(n * (size + 1), unit * (size // 20) + chr(ord("A") + n % 26) * (n + 1), 900)
        for n in range(200)
    ]
    text = "x" + unit * size + "y"
    document = document_of(text)

    assert rechunk(document, 2000, old) == split(document, 2000)
