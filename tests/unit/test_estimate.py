"""What an ingest will cost, counted before anything is spent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphreader.documents import Chunk, Document
from graphreader.errors import WindowError
from graphreader.estimate import Estimate, KnownDocument, estimate
from graphreader.ingestion.chunking import split
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.ingestion.loading.formats import load
from graphreader.ingestion.loading.sources import sources_of
from graphreader.llm.pricing import Prices
from graphreader.llm.protocols import Task
from graphreader.settings import Settings
from graphreader.store.catalog import ArrangedChunk
from graphreader.tokens import count

MODEL = "openai:gpt-5.4-mini"
PARAGRAPH = "Vera Holm was born in Bergen in 1901. She taught painting in Oslo for ten years.\n\n"
INSTRUCTIONS = 500


class FixedInstructions:
    """Prompts of the task's text and so many more tokens; keeps the texts."""

    def __init__(self, name: str = MODEL, window: int = 4096) -> None:
        self.name = name
        self.window = window
        self.measured: list[str] = []

    def measure(self, task: Task[Any]) -> int:
        assert isinstance(task, ExtractionTask)
        size = count(task.text) + INSTRUCTIONS
        if size > self.window:
            raise WindowError("too large")
        self.measured.append(task.text)
        return size


class SendsNothing:
    name = "offline"

    def measure(self, task: Task[Any]) -> int:
        return 0


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a text of so many paragraphs."""

    def written(name: str, paragraphs: int) -> Path:
        file = tmp_path / name
        file.write_text(PARAGRAPH * paragraphs, encoding="utf-8")
        return file

    return written


def settings(**given: Any) -> Settings:
    return Settings.read(**{"model": MODEL, "openai_api_key": "k", "chunk_tokens": 200, **given})


def cut(file: Path) -> tuple[Document, list[Chunk]]:
    document = load(file, "c")
    return document, split(document, 200)


async def estimated(*paths: Path, **given: Any) -> Estimate:
    return await estimate(sources_of(paths), "c", FixedInstructions(), settings(**given))


# Calls and prompts are exact, replies follow from the chunks, the price from both, call by call.
async def test_reading(write: Callable[..., Path]) -> None:
    files = [write("a.md", 30), write("b.txt", 1)]
    chunks = [chunk for file in files for chunk in cut(file)[1]]

    found = await estimated(*files)

    sent = [chunk.tokens + INSTRUCTIONS for chunk in chunks]
    received = [round(100 + 1.2 * chunk.tokens) for chunk in chunks]
    prices = Prices()
    dollars = [prices.dollars(MODEL, *one) or 0 for one in zip(sent, received, strict=True)]
    assert len(chunks) > 3
    assert (found.documents, found.chunks, found.missing) == (2, len(chunks), len(chunks))
    assert found.reading.calls == len(chunks)
    assert found.reading.input_tokens == sum(sent)
    assert found.reading.output_tokens == sum(received)
    assert found.reading.dollars == pytest.approx(sum(dollars))
    assert found.dollars is not None
    assert found.dollars > sum(dollars)
    assert found.model == MODEL
    assert found.refused == ()


# No reply is longer than the reply to an extraction may be.
async def test_long_chunks(write: Callable[..., Path]) -> None:
    found = await estimated(write("a.md", 300), chunk_tokens=2000)

    assert found.reading.calls > 2
    assert found.reading.output_tokens == found.reading.calls * ExtractionTask.reply_tokens


# What the graph has is not counted: chunks that have their facts, documents that are unchanged,
# and of an edited one what stands around the edit.
async def test_only_what_is_missing(write: Callable[..., Path]) -> None:
    partly, wholly, edited = write("a.md", 30), write("b.md", 20), write("c.md", 10)
    (one, chunks), (two, _), (three, rest) = cut(partly), cut(wholly), cut(edited)
    edited.write_text(PARAGRAPH + "Word. " + PARAGRAPH * 9, encoding="utf-8")
    known = {
        one.id: KnownDocument(extracted=frozenset(chunk.id for chunk in chunks[1:])),
        two.id: KnownDocument(unchanged=7),
        three.id: KnownDocument(
            extracted=frozenset(chunk.id for chunk in rest),
            former=tuple(ArrangedChunk(chunk.start, chunk.text, chunk.tokens) for chunk in rest),
        ),
    }
    measurer = FixedInstructions()

    async def look_up(document: Document) -> KnownDocument:
        return known[document.id]

    sources = sources_of([partly, wholly, edited])
    found = await estimate(sources, "c", measurer, settings(), look_up)

    assert found.documents == 3
    assert found.missing == found.reading.calls == len(measurer.measured)
    assert found.chunks - found.missing >= 7 + len(chunks) - 1 + len(rest) - 1
    assert measurer.measured[0] == chunks[0].text
    assert all("Word." in text for text in measurer.measured[1:])


# A chunk of white space is a chunk, but nobody is asked about it.
async def test_white_space(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Vera Holm was born." + "\n \n" * 900 + "She taught.", encoding="utf-8")
    chunks = split(load(file, "c"), 200)

    found = await estimated(file)

    said = [chunk for chunk in chunks if chunk.text.strip()]
    assert found.missing == len(chunks) > len(said) == found.reading.calls


# A chunk whose prompt is too large is read in parts, as it will be.
async def test_too_large_for_the_window(write: Callable[..., Path]) -> None:
    measurer = FixedInstructions(window=INSTRUCTIONS + 120)

    found = await estimate(sources_of([write("a.md", 8)]), "c", measurer, settings())

    assert found.missing < found.reading.calls == len(measurer.measured)
    assert "".join(measurer.measured) == PARAGRAPH * 8


# Without a model there are calls, and neither tokens nor money.
async def test_offline(write: Callable[..., Path]) -> None:
    offline = settings(model="offline", embeddings="offline")

    found = await estimate(sources_of([write("a.md", 30)]), "c", SendsNothing(), offline)

    assert found.reading.calls == found.chunks > 3
    for cost in (found.reading, found.embedding, found.question, found.question_at_most):
        assert (cost.input_tokens, cost.output_tokens, cost.dollars) == (0, 0, 0)
    assert found.dollars == 0


# A price that is not known stays unknown in every sum, and the tokens are counted all the same.
async def test_unknown_price(write: Callable[..., Path]) -> None:
    unknown = settings(model="ollama:llama3.2", embeddings="offline")
    measurer = FixedInstructions("ollama:llama3.2")

    found = await estimate(sources_of([write("a.md", 30)]), "c", measurer, unknown)

    assert found.reading.input_tokens > 1000
    assert found.reading.dollars is None
    assert found.dollars is None
    assert found.question.dollars is None


# The person's prices count, and a model of one's own address has no other.
async def test_own_prices(write: Callable[..., Path], tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(f'["{MODEL}"]\ninput = 1000000\noutput = 0\n', encoding="utf-8")
    file, address = write("a.md", 30), "http://127.0.0.1:9/v1"

    with_file = await estimated(file, openai_base_url=address, prices=own)
    without = await estimated(file, openai_base_url=address)

    assert with_file.reading.dollars == pytest.approx(with_file.reading.input_tokens)
    assert with_file.embedding.dollars is None  # the file does not name the embeddings
    assert without.reading.dollars is None


# A question: plan, initial nodes and answer, and between them what the settings allow; each phase
# at the price of its model.
async def test_questions(write: Callable[..., Path]) -> None:
    file = write("a.md", 1)

    found = await estimated(file)
    smaller = await estimated(file, initial_nodes=2, calls=3)
    dearer = await estimated(file, answer_model="anthropic:claude-sonnet-4-5")

    assert found.question.calls == 21
    assert found.question_at_most.calls == 53
    assert found.question_at_most.input_tokens == 53 * 4096
    assert 40_000 < found.question.input_tokens + found.question.output_tokens < 65_000
    assert smaller.question.calls == smaller.question_at_most.calls == 9
    assert found.question.dollars is not None
    assert found.question_at_most.dollars is not None
    assert 0 < found.question.dollars < found.question_at_most.dollars
    prices = Prices()
    answers = [prices.dollars(name, 2450, 130) for name in (MODEL, "anthropic:claude-sonnet-4-5")]
    assert answers[0] is not None
    assert answers[1] is not None
    assert dearer.question.dollars == pytest.approx(
        found.question.dollars - answers[0] + answers[1]
    )


# Files that cannot be read are named, each with its reason, and the others are counted.
async def test_refused_files(write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "binary.txt").write_bytes(b"\0\1\2\3")
    (tmp_path / "empty").mkdir()

    found = await estimated(
        write("a.md", 1), tmp_path / "binary.txt", tmp_path / "empty", tmp_path / "missing.md"
    )

    assert found.documents == 1
    assert len(found.refused) == 3
    assert "holds no .docx, .epub, " in " ".join(found.refused)
    assert "is binary" in " ".join(found.refused)
    assert "does not exist" in " ".join(found.refused)
