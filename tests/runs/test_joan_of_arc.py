"""The three questions of the Neo4j article, on the example text (Wikipedia, CC BY-SA 3.0)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples import demo
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings

TEXT = Path(__file__).parents[2] / "examples" / "joan_of_arc.txt"


@pytest.fixture(scope="module")
def joan(neo4j: Settings) -> Iterator[Settings]:
    """The text, read offline into a corpus that all questions share."""
    with GraphReader("test-joan", settings=neo4j) as reader:
        reader.ingest(TEXT)
        yield neo4j
        reader.delete(everything=True)


# The weather is not in the text: the answer says so.
def test_weather(joan: Settings) -> None:
    with GraphReader("test-joan", settings=joan) as reader:
        reading = reader.ask("What is the weather in Rouen?")

    assert (reading.answered, reading.citations) == (False, ())
    assert reading.answer
    assert len(reading.paths) == 5
    assert any("No language model is in use" in note for note in reading.notes)


# The demo's question needs two places of the text, and both are cited.
def test_saints_and_pope(joan: Settings) -> None:
    with GraphReader("test-joan", settings=joan) as reader:
        reading = reader.ask(demo.QUESTION)

    assert reading.answered
    assert "Saint Margaret" in reading.answer
    assert "Pope Benedict XV" in reading.answer
    assert len({one.chunk for one in reading.citations}) >= 2
    text = TEXT.read_text(encoding="utf-8")
    for one in reading.citations:
        assert (one.document, one.quote) == ("joan_of_arc", text[one.start : one.end])
    for path in reading.paths:
        assert 1 <= path.calls == len(path.functions) <= 10
