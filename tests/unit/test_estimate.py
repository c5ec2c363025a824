"""What an ingest will cost, counted before anything is spent."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphreader.documents import Chunk, Document
from graphreader.errors import WindowError
from graphreader.estimate import MIB, Estimate, Spending, estimate, plan
from graphreader.ingestion.chunking import split
from graphreader.ingestion.context import DocumentContext
from graphreader.ingestion.extraction import ExtractionTask, extract
from graphreader.ingestion.loading.formats import load
from graphreader.ingestion.loading.sources import sources_of
from graphreader.llm.pricing import Prices
from graphreader.llm.protocols import LONGEST_REPLY, Task
from graphreader.offline.decider import OfflineDecider
from graphreader.settings import Settings
from graphreader.tokens import count

MODEL = "openai:gpt-5.4-mini"
PARAGRAPH = "Vera Holm was born in Bergen in 1901. She taught painting in Oslo for ten years.\n\n"
INSTRUCTIONS = 500


class FixedInstructions:
    """Measures prompts of a task's text and instructions of a fixed length; keeps the texts."""

    def __init__(self, name: str = MODEL, window: int = 4096) -> None:
        self.name = name
        self.window = window
        self.measured: list[str] = []

    def measure(self, task: Task[Any]) -> int:
        if not isinstance(task, ExtractionTask):
            return INSTRUCTIONS
        size = count(task.text) + INSTRUCTIONS
        if size > self.window:
            raise WindowError("too large")
        self.measured.append(task.text)
        return size


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file of so many paragraphs."""

    def write(name: str, paragraphs: int) -> Path:
        file = tmp_path / name
        file.write_text(PARAGRAPH * paragraphs, encoding="utf-8")
        return file

    return write


def settings(**values: Any) -> Settings:
    return Settings.read(**{"model": MODEL, "openai_api_key": "k", "chunk_tokens": 200, **values})


def cut(file: Path) -> tuple[Document, list[Chunk]]:
    document = load(file, "c")
    return document, split(document, 200)


async def estimated(*paths: Path, **values: Any) -> Estimate:
    return await estimate(sources_of(paths), "c", FixedInstructions(), settings(**values))


# Calls and prompts are exact, replies follow from the chunks up to their maximum, the price from
# both, call by call.
async def test_reading(write: Callable[..., Path]) -> None:
    files = [write("a.md", 30), write("b.txt", 1)]
    chunks = [chunk for file in files for chunk in cut(file)[1]]

    result = await estimated(*files)

    sent = [chunk.tokens + INSTRUCTIONS for chunk in chunks]
    received = [round(100 + 1.2 * chunk.tokens) for chunk in chunks]
    prices = Prices()
    dollars = [prices.dollars(MODEL, *one) or 0 for one in zip(sent, received, strict=True)]
    assert len(chunks) > 3
    assert (result.documents, result.chunks, result.missing) == (2, len(chunks), len(chunks))
    assert result.reading.calls == len(chunks)
    assert result.reading.input_tokens == sum(sent)
    assert result.reading.output_tokens == sum(received)
    assert result.reading.dollars == pytest.approx(sum(dollars))
    assert result.dollars is not None
    assert result.dollars > sum(dollars)
    long = await estimated(write("c.md", 170), chunk_tokens=4000, window=8192)
    assert long.reading.output_tokens == long.reading.calls * LONGEST_REPLY


# A chunk whose prompt is too large is read in parts, as it will be.
async def test_too_large_for_the_window(write: Callable[..., Path]) -> None:
    measurer = FixedInstructions(window=INSTRUCTIONS + 120)

    result = await estimate(sources_of([write("a.md", 8)]), "c", measurer, settings())

    assert result.missing < result.reading.calls == len(measurer.measured)
    assert "".join(measurer.measured) == PARAGRAPH * 8


# The user's prices count; an unknown price stays unknown in every sum, and tokens are counted.
async def test_prices(write: Callable[..., Path], tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(f'["{MODEL}"]\ninput = 1000000\noutput = 0\n', encoding="utf-8")
    file, address = write("a.md", 30), "http://127.0.0.1:9/v1"

    with_file = await estimated(file, openai_base_url=address, prices=own)
    without = await estimated(file, openai_base_url=address)

    assert with_file.reading.dollars == pytest.approx(with_file.reading.input_tokens)
    assert with_file.embedding.dollars is None  # the file does not name the embeddings
    assert without.reading.input_tokens > 1000
    assert without.reading.dollars is without.dollars is without.question.dollars is None


# A question: plan, initial nodes and answer, and between them what the settings allow; each phase
# at the price of its model.
async def test_questions(write: Callable[..., Path]) -> None:
    file = write("a.md", 1)

    result = await estimated(file, mode="paper")
    smaller = await estimated(file, mode="paper", initial_nodes=2, calls=3)
    adaptive = await estimated(file)
    dearer = await estimated(file, mode="paper", answer_model="anthropic:claude-sonnet-4-5")

    assert result.question.calls == 40  # measured: 31 to 48, and about 52,000 prompt tokens
    assert result.question_at_most.calls == 58
    assert result.question_at_most.input_tokens == 58 * 4096
    assert result.question.input_tokens == pytest.approx(52_000, rel=0.05)
    assert 2_200 < adaptive.question.input_tokens < 8_900
    assert (smaller.question.calls, smaller.question_at_most.calls) == (9, 11)
    assert (adaptive.question.calls, adaptive.question_at_most.calls) == (2, 28)
    assert (result.sweep.calls, adaptive.sweep.calls) == (0, adaptive.chunks)
    assert adaptive.tokens + 300 < adaptive.sweep.input_tokens < adaptive.tokens + 600
    assert result.question.dollars is not None
    assert result.question_at_most.dollars is not None
    assert 0 < result.question.dollars < result.question_at_most.dollars
    prices = Prices()
    answers = [prices.dollars(name, 1300, 130) for name in (MODEL, "anthropic:claude-sonnet-4-5")]
    assert answers[0] is not None
    assert answers[1] is not None
    assert dearer.question.dollars == pytest.approx(
        result.question.dollars - answers[0] + answers[1]
    )


SAMPLE = Estimate(
    model=MODEL,
    embeddings="openai:text-embedding-3-small",
    documents=10,
    chunks=20,
    missing=20,
    reading=Spending(20, 40_000, 46_000, 0.5),
    embedding=Spending(0, 27_600, 0, 0.01),
    question=Spending(),
    question_at_most=Spending(),
    tokens=38_000,
    bytes=150_000,
)


# Ten thousand documents like ten: a million facts, by the numbers in docs/sizes.md.
def test_plan() -> None:
    limits = {"requests_per_minute": 100, "tokens_per_minute": 500_000, "concurrency": 8}
    result = plan(SAMPLE, 10_000, settings(**limits))

    assert (result.chunks, result.reading.calls, result.facts) == (20_000, 20_000, 1_000_000)
    assert result.dollars == pytest.approx(510)
    assert result.key_elements == pytest.approx(505_000, rel=0.01)
    assert result.hours == pytest.approx(
        {
            "concurrency": (20_000 * 1 + 46_000_000 / 80) / 8 / 3600,
            "requests_per_minute": 20_000 / 100 / 60,
            "tokens_per_minute": 86_000_000 / 500_000 / 60,
            "writing": pytest.approx((1_000_000 / 1850 + 657_000 / 1000) / 3600, rel=0.01),
        }
    )
    assert result.limit == "concurrency"
    texts, facts, elements, vectors = 200e6, 975e6, 217e6, 8.7 * 256 * 657_000
    assert result.disk == pytest.approx(480e6 + texts + facts + elements + vectors, rel=0.01)
    assert result.file_cache * MIB == pytest.approx(4.2 * 256 * 657_000 + 37e6, rel=0.01)
    assert (result.page_cache + result.file_cache) * MIB + 480e6 == pytest.approx(
        result.disk, rel=0.01
    )
    assert result.heap == 1024


# Without limits a minute only the requests at once and writing count, with batches only writing; an
# unknown price is not known for more documents either.
def test_plan_without_limits() -> None:
    unpriced = replace(SAMPLE, reading=replace(SAMPLE.reading, dollars=None))
    result = plan(unpriced, 20, settings(concurrency=256))

    assert (result.dollars, result.chunks) == (None, 40)
    assert set(result.hours) == {"concurrency", "writing"}
    assert set(plan(replace(SAMPLE, batch=True), 20, settings()).hours) == {"writing"}
    assert (result.heap, result.page_cache) == (512, 128)


# A plan from two quarters of a text says the chunks of all four to 10 %, and the facts that are
# extracted without a model to a factor of 1.5.
async def test_plan_is_near_the_truth(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "examples" / "joan_of_arc.txt").read_text(encoding="utf-8")
    files = [tmp_path / f"{number}.txt" for number in range(4)]
    for number, file in enumerate(files):
        quarter = len(text) // 4
        file.write_text(text[number * quarter : (number + 1) * quarter], encoding="utf-8")
    decider, given = OfflineDecider(), settings(model="offline")

    sample = await estimate(sources_of(files[:2]), "c", decider, given)
    planned = plan(sample, 4, given)
    chunks = [(document, chunk) for document, some in map(cut, files) for chunk in some]
    read = [await extract(decider, DocumentContext(document), chunk) for document, chunk in chunks]

    facts = sum(len(one.extracted.facts) for one in read)
    assert planned.chunks == pytest.approx(len(chunks), rel=0.1)
    assert facts / 1.5 < planned.facts < facts * 1.5
    assert set(planned.hours) == {"writing"}
