"""A chronicle of who met whom, as long as needed, and how a reader of it is set up over HTTP."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from graphreader.integrations.langchain_neo4j import neo4j_graph
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs.openai_server import OpenAIServer

CHUNK_TOKENS = 150
"""Room for one paragraph: large enough to be divided, too small for two."""

KEY = "sk-chronicle-4711"


def meeting(number: int) -> str:
    """The sentence that answers the question of that number; no other names both people."""
    return f"In {1000 + number} Anna{number} met Bert{number * 7 % 211} in Town{number % 40}."


def question(number: int) -> str:
    """A question that one sentence answers."""
    return f"Where did Anna{number} meet Bert{number * 7 % 211}?"


def paragraph(number: int) -> str:
    """One chunk's worth, different for every number."""
    anna, bert = f"Anna{number}", f"Bert{number * 7 % 211}"
    carl, town = f"Carl{number % 50}", f"Town{(number + 7) % 40}"
    days = 100 + number % 300
    return " ".join(
        [
            f"{carl} had left {town} long before, and had asked everybody on the way for a map.",
            meeting(number),
            f"{anna} gave a book about horses to {carl}, who came from {town} by the old road.",
            f"The journey back to {town} took {days} days, because {carl} had lost the map.",
            f"Afterwards {bert} told the story of the {days} days to everybody in {town}.",
            f"Nobody in {town} believed {bert}, except for {carl}, who had been there as well.",
        ]
    )


def write(folder: Path, chunks: int, files: int = 1, first: int = 0) -> Path:
    """So many paragraphs, from that number on, in turn spread over the files of a new folder."""
    folder.mkdir()
    for file in range(files):
        parts = [paragraph(first + number) for number in range(file, chunks, files)]
        (folder / f"book{file}.txt").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return folder


def settings(base: Settings, server: OpenAIServer, home: Path, **changes: Any) -> Settings:
    """The settings of a Neo4j server, with model and embeddings of the HTTP server.

    A `home` of its own: replies that another test had kept there would not be asked for.
    """
    given: Mapping[str, Any] = {
        "model": "openai:fake",
        "embeddings": "openai:text-embedding-3-small",
        "openai_api_key": SecretStr(KEY),
        "openai_base_url": server.url,
        "home": home,
        "keep_replies": "building",
        "chunk_tokens": CHUNK_TOKENS,
        "timeout": 2.0,
    }
    return base.model_copy(update={**given, **changes})


def check_answer(reading: Reading, number: int) -> None:
    """The question of that number is answered, and the answer rests on the right words."""
    assert reading.answered, reading
    assert reading.answer == meeting(number)
    assert [one.quote for one in reading.citations] == [meeting(number)]


def environment(given: Settings) -> dict[str, str]:
    """The variables with which a command has the same settings, but for those of Neo4j."""
    assert given.openai_api_key
    assert given.openai_base_url
    return {
        "OPENAI_API_KEY": given.openai_api_key.get_secret_value(),
        "OPENAI_BASE_URL": given.openai_base_url,
        "GRAPHREADER_MODEL": given.model or "",
        "GRAPHREADER_EMBEDDINGS": given.embeddings or "",
        "GRAPHREADER_HOME": str(given.home),
        "GRAPHREADER_KEEP_REPLIES": given.keep_replies,
        "GRAPHREADER_CHUNK_TOKENS": str(given.chunk_tokens),
        "GRAPHREADER_CONCURRENCY": str(given.concurrency),
        "GRAPHREADER_TIMEOUT": str(given.timeout),
    }


def graph_of(given: Settings, corpus: str) -> list[tuple[str, int, tuple[tuple[str, ...], ...]]]:
    """What the corpus holds, without ids: title and index of each chunk, its facts in order.

    A fact is its text and then the key elements' names, sorted.
    """
    rows = neo4j_graph(given).query(
        """
        MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
        OPTIONAL MATCH (c)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
        OPTIONAL MATCH (f)-[:HAS_KEY_ELEMENT]->(k:KeyElement)
        WITH d, c, f, collect(k.name) AS elements ORDER BY f.index
        WITH d, c, collect([f.text] + elements) AS facts
        RETURN d.title AS title, c.index AS index, facts ORDER BY title, index
        """,
        {"corpus": corpus},
    )
    return [
        (row["title"], row["index"], tuple((text, *sorted(names)) for text, *names in row["facts"]))
        for row in rows
    ]
