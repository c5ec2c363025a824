"""The three questions of the Neo4j article, on the example text (Wikipedia, CC BY-SA 3.0)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples import demo
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings

TEXT = Path(__file__).parents[2] / "examples" / "joan_of_arc.txt"


@pytest.fixture(scope="module")
def joan(neo4j: Settings) -> Iterator[Settings]:
    """The text, read offline into a corpus that all questions share."""
    with GraphReader("test-joan", settings=neo4j) as reader:
        reader.ingest(TEXT)
        yield neo4j
        reader.delete(everything=True)


def check_citations(reading: Reading) -> None:
    """Every quote is the slice of the text that it says it is."""
    text = TEXT.read_text(encoding="utf-8")
    for one in reading.citations:
        assert one.quote == text[one.start : one.end]
        assert one.document == "joan_of_arc"


# The weather is not in the text, neither of Spain nor of a city that it names: the answer says so.
@pytest.mark.parametrize("place", ["Spain", "Rouen"])
def test_weather(joan: Settings, place: str) -> None:
    with GraphReader("test-joan", settings=joan) as reader:
        reading = reader.ask(f"What is the weather in {place}?")

    assert reading.answered is False
    assert reading.citations == ()
    assert reading.answer
    assert len(reading.paths) == 5
    assert any("No language model is in use" in note for note in reading.notes)


# A question that joins two parts of her life runs five paths to their ends, citing the text.
def test_cities_visited_early(joan: Settings) -> None:
    with GraphReader("test-joan", settings=joan) as reader:
        reading = reader.ask(
            "Did Joan of Arc visit any cities in early life where she won battles later?"
        )

    assert len(reading.paths) == 5
    assert all(1 <= path.calls == len(path.functions) <= 10 for path in reading.paths)
    check_citations(reading)


# The demo's question needs two places of the text, and both are cited.
def test_saints_and_pope(joan: Settings) -> None:
    with GraphReader("test-joan", settings=joan) as reader:
        reading = reader.ask(demo.QUESTION)

    assert reading.answered
    assert "Saint Margaret" in reading.answer
    assert "Pope Benedict XV" in reading.answer
    assert len({one.chunk for one in reading.citations}) >= 2
    check_citations(reading)
