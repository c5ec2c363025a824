"""Embeddings of services that take small requests or short texts, or give unusable vectors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from graphreader.errors import DecisionError
from graphreader.graph_reader import GraphReader
from graphreader.llm.protocols import embed_all
from graphreader.models import open_embedder
from graphreader.settings import Settings
from tests.runs.openai_server import Fault, OpenAIServer, settings_for

NAME = "openai:fake-embeddings"
TEXTS = [f"The lock number {n} was built at Delft." for n in range(90)]
Embed = Callable[[list[str]], Any]


def good(text: str) -> list[float]:
    return [1.0, float(len(text))]


def taking(most: int = 1_000, longest: int = 100_000, status: int = 400) -> Embed:
    """A service that refuses more texts, and longer ones."""

    def embed(texts: list[str]) -> Any:
        if len(texts) > most:
            return Fault(status, f"batch size {len(texts)} > maximum allowed batch size {most}")
        if max(map(len, texts)) > longest:
            return Fault(status, "input is too large to process. increase the physical batch size")
        return [good(text) for text in texts]

    return embed


def spoiling(bad: Any) -> Embed:
    """A service that gives another vector for one of the locks."""
    return lambda texts: [bad if "number 41 " in text else good(text) for text in texts]


async def embedded(server: OpenAIServer, *groups: list[str]) -> list[Any]:
    embedder = open_embedder(settings_for(server), NAME, 2)
    try:
        return [await embedder.embed(texts) for texts in groups]
    finally:
        await embedder.aclose()


# A refused request is divided, and further requests have at once the size that was taken.
@pytest.mark.parametrize("status", [400, 413, 422])
async def test_few_texts(status: int) -> None:
    with OpenAIServer(embed=taking(10, status=status)) as server:
        first, second = await embedded(server, TEXTS, TEXTS)
        sizes = [len(body["input"]) for body in server.embeddings]

    assert first == second == [good(text) for text in TEXTS]
    assert max(sizes) == len(TEXTS)
    assert all(size <= 10 for size in sizes[len(sizes) // 2 :])


# A text that is refused alone is shortened; others keep their length, and requests their number of
# texts.
async def test_a_long_text() -> None:
    long = "The keeper walks along the silent water. " * 150
    with OpenAIServer(embed=taking(longest=2_000)) as server:
        first, second = await embedded(server, [*TEXTS, long], [*TEXTS, long])
        sizes = [len(body["input"]) for body in server.embeddings]

    assert first[:-1] == [good(text) for text in TEXTS]
    assert 1_000 <= first[-1][1] <= 2_000
    assert first == second
    assert sizes.count(len(TEXTS) + 1) == 2


# A text without a usable vector has none, and the others have theirs; as a query it is an error.
@pytest.mark.parametrize(
    "bad",
    [None, [0.0, 0.0], [float("nan"), 1.0], [1.0], [1.0, 2.0, 3.0], [None, None], ["a", 1.0]],
    ids=str,
)
async def test_one_bad_vector(bad: Any) -> None:
    with OpenAIServer(embed=spoiling(bad)) as server:
        (vectors,) = await embedded(server, TEXTS)
        embedder = open_embedder(settings_for(server), NAME, 2)
        with pytest.raises(DecisionError, match="no usable vector for 'The lock number 41 was"):
            await embed_all(embedder, TEXTS)
        await embedder.aclose()

    assert [n for n, vector in enumerate(vectors) if vector is None] == [41]
    assert vectors[40] == good(TEXTS[40])


# A service that fails because it cannot write one of the vectors is asked for the others.
async def test_a_vector_that_is_not_written() -> None:
    def embed(texts: list[str]) -> Any:
        if any("number 41 " in text for text in texts):
            return Fault(500, "failed to encode response: json: unsupported value: NaN")
        return [good(text) for text in texts]

    with OpenAIServer(embed=embed) as server:
        (vectors,) = await embedded(server, TEXTS)

    assert [n for n, vector in enumerate(vectors) if vector is None] == [41]


# A service that gives no vectors any more, or refuses the key, ends the work at once.
@pytest.mark.parametrize("status", [400, 401])
async def test_refused_later(status: int) -> None:
    faults = [Fault(), *[Fault(status, "no more")] * 9_000]
    with OpenAIServer(embeddings_faults=faults) as server:
        embedder = open_embedder(settings_for(server), NAME, 12)
        await embedder.embed(TEXTS)
        with pytest.raises(DecisionError, match="refuses"):
            await embedder.embed(TEXTS)
        await embedder.aclose()

    assert len(server.embeddings) < 200


# Where no text gets a usable vector, the embeddings are of no use.
@pytest.mark.parametrize(
    ("embed", "said"),
    [
        (lambda texts: [[0.0, 0.0]] * len(texts), "a vector of zeros"),
        (lambda texts: [[1.0] * 3] * len(texts), "vectors of length 3 for 2 texts"),
        (lambda texts: [[1.0, 2.0]], "gave 1 vectors of length 2 for 2 texts"),
        (lambda texts: Fault(400, "this model has no embeddings"), "has no embeddings"),
    ],
)
async def test_useless(embed: Embed, said: str) -> None:
    with OpenAIServer(embed=embed) as server, pytest.raises(DecisionError, match=said):
        await embedded(server, TEXTS[:2])


# A document is complete without the vector of a text, and a note says how to ask again.
def test_note(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    (tmp_path / "locks.txt").write_text("".join(f"{text}\n\n" for text in TEXTS[40:43]))
    with OpenAIServer(embed=spoiling(None)) as server:
        service = {"openai_api_key": SecretStr("k"), "openai_base_url": server.url}
        settings = neo4j.model_copy(update={**service, "embeddings": NAME})
        with GraphReader(corpus, settings=settings) as reader:
            report = reader.ingest(tmp_path)
            again = reader.ingest(tmp_path)
            reader.delete(everything=True)

    assert [one.status for one in (*report.documents, *again.documents)] == ["read", "unchanged"]
    assert [note for note in report.notes if "has no vector" in note] == [
        "1 text has no vector, since the embeddings service gave none: they are found by their "
        f"words alone. `graphreader reindex --corpus {corpus}` asks once more."
    ]
