from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphreader.documents import Chunk, Document
from graphreader.ingestion.chunking import split
from graphreader.tokens import count

WORDS = ["joan", "rode", "to", "the", "king", "of", "france", "and", "won"]


def document_of(text: str, source: str = "source") -> Document:
    return Document("corpus", source, "title", source, text, sha256="", language="en")


def chunks_of(text: str, limit: int) -> list[Chunk]:
    return split(document_of(text), limit)


def paragraph(seed: int, words: int = 40) -> str:
    random = Random(seed)
    line = " ".join(random.choice(WORDS) for _ in range(words))
    return line.capitalize() + "."


def longest_space(text: str) -> int:
    """Tokens of the longest run of white space."""
    words = text.split() or [""]
    runs, rest = [], text
    for word in words:
        space, rest = rest.split(word, 1)
        runs.append(space)
    return max(count(run) for run in [*runs, rest])


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


# Joined, the chunks give the text back; each keeps the limit; ids and indexes are sound.
@settings(deadline=None, max_examples=100)
@given(texts, st.integers(8, 120))
@example(" " * 900 + "x" + " " * 900, 8)
@example("👨‍👩‍👧‍👦" * 50, 8)
def test_chunks_are_the_text(text: str, limit: int) -> None:
    chunks = chunks_of(text, limit)

    assert "".join(chunk.text for chunk in chunks) == text
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert [chunk.start for chunk in chunks] == [0, *(chunk.end for chunk in chunks[:-1])]
    assert all(chunk.text == text[chunk.start : chunk.end] != "" for chunk in chunks)
    assert all(chunk.tokens == count(chunk.text) <= limit for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert chunks == chunks_of(text, limit)
    if longest_space(text) < limit // 2:
        assert all(chunk.text.strip() for chunk in chunks)


# Whole paragraphs stay together, and white space belongs to the chunk before it.
def test_paragraphs_stay_whole() -> None:
    text = "  " + "\n\n".join(paragraph(n) for n in range(30)) + "\n\n"
    chunks = chunks_of(text, 200)

    assert len(chunks) > 5
    assert all(chunk.text.endswith(".\n\n") for chunk in chunks)
    assert chunks[0].text.startswith("  Joan") or chunks[0].text.startswith("  ")
    assert all(not chunk.text[0].isspace() for chunk in chunks[1:])
    assert all(chunk.tokens > 120 for chunk in chunks)


# A paragraph that is too long is cut where a line ends, else a sentence, else a word.
def test_long_paragraphs() -> None:
    turns = "\n".join(f"Speaker {n}: {paragraph(n, 20)} {paragraph(n + 50, 20)}" for n in range(30))
    sentences = " ".join(paragraph(n, 20) for n in range(60))
    words = "joan rode to the king " * 300

    assert all(chunk.text.startswith("Speaker") for chunk in chunks_of(turns, 200))
    assert all(chunk.text.rstrip().endswith(".") for chunk in chunks_of(sentences, 200))
    assert all(chunk.text.endswith(" ") for chunk in chunks_of(words, 200))
    for text in (turns, sentences, words):
        assert all(chunk.tokens > 100 for chunk in chunks_of(text, 200))


# Chinese is cut at its sentences.
def test_chinese() -> None:
    text = "太宗甚喜，情愿出名借用。遂立了文书与判官，借他金银一库，着太尉尽行给散！" * 60
    chunks = chunks_of(text, 200)

    assert len(chunks) > 5
    assert all(chunk.text[-1] in "。！" for chunk in chunks)


# A written sign of several characters is not cut.
def test_signs_stay_whole() -> None:
    family = "👩\u200d👩\u200d👧"

    assert all(chunk.text.startswith("👩") for chunk in chunks_of(family * 200, 100))
    assert all(chunk.text[0] == "e" for chunk in chunks_of("e\u0301" * 900, 100))


# A heading begins a chunk rather than ending one.
@pytest.mark.parametrize(
    "heading", ["CHAPTER {}", "## Part {}", "第{}回 灵根育孕源流出", "CHAP. {}."]
)
def test_headings(heading: str) -> None:
    parts = [
        heading.format("IVX"[n % 3]) + "\n\n" + "\n\n".join(paragraph(10 * n + m) for m in range(3))
        for n in range(12)
    ]
    chunks = chunks_of("\n\n".join(parts), 200)

    assert [chunk.text for chunk in chunks] == [part + "\n\n" for part in parts[:-1]] + [parts[-1]]


# The last two chunks are about even: no crumb is left at the end.
def test_no_crumb() -> None:
    text = "\n\n".join(paragraph(n) for n in range(6))
    chunks = chunks_of(text, count(text) - 5)

    assert len(chunks) == 2
    assert min(chunk.tokens for chunk in chunks) > count(text) // 3


# An id does not depend on what stands before: a word changed in the middle changes one chunk.
def test_ids_survive_an_edit() -> None:
    paragraphs = [paragraph(n) for n in range(200)]
    before = {chunk.id for chunk in chunks_of("\n\n".join(paragraphs), 300)}
    paragraphs[100] = paragraphs[100].replace(" ", " suddenly ", 1)
    after = {chunk.id for chunk in chunks_of("\n\n".join(paragraphs), 300)}

    assert len(before) > 20
    assert 1 <= len(after - before) <= 2


# Equal chunks in one document have different ids; equal texts in two documents share none.
def test_equal_chunks() -> None:
    text = "\n\n".join([paragraph(1)] * 20)
    here = chunks_of(text, 50)
    there = split(document_of(text, "elsewhere"), 50)

    assert len({chunk.text for chunk in here[:-1]}) == 1
    assert len({chunk.id for chunk in here + there}) == 2 * len(here)


# Text without any white space, signs in a row, only line ends: nothing takes long or exceeds.
@pytest.mark.parametrize(
    "unit", ["a", "啊", "ab1,", "#", "\n", " ", "a\n", "Mr. ", "…", "e\u0301", "👩\u200d"]
)
def test_hostile_text(unit: str) -> None:
    text = "x" + unit * (60_000 // len(unit)) + "y"
    chunks = chunks_of(text, 2000)

    assert "".join(chunk.text for chunk in chunks) == text
    assert max(chunk.tokens for chunk in chunks) <= 2000
    assert len(chunks) <= count(text) / 1000 + 2


# A limit that one character could exceed is refused.
def test_tiny_limit() -> None:
    with pytest.raises(ValueError, match="at least 8 tokens, not 7"):
        chunks_of("Joan", 7)


# White space without end, which tiktoken alone cannot count, is counted.
@pytest.mark.parametrize("space", [" ", "\t"])
def test_endless_space(space: str) -> None:
    assert 7_000 < count(space * 1_000_000) < 64_000
