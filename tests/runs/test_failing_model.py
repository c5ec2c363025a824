"""A model that goes away in the middle, and chunks that it can never read."""

from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import DecisionError
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, digest, mind
from tests.runs.forks import Fork, Forks
from tests.runs.openai_faults import QUOTA, Body, Fault
from tests.runs.openai_server import OpenAIServer
from tests.terminal import environment_of

CHUNKS = 12
AT_ONCE = 3
HOPELESS = (4, 9)
REFUSAL = Fault(content="", refusal="I cannot help with that.")

pytestmark = pytest.mark.usefixtures("cleaned", "short_pauses")


def passages(server: OpenAIServer) -> list[str]:
    return [mind.passage(request.body) for request in server.requests]


# A service that falls silent in the middle ends the run with a sentence; all that it replied until
# then is safe in the graph itself, and the next run asks for the rest only.
@pytest.mark.parametrize("fault", [Fault(hang=True), QUOTA], ids=["silent", "quota"])
def test_a_model_goes_away(neo4j: Settings, corpus: str, tmp_path: Path, fault: Fault) -> None:
    texts = chronicle.write(tmp_path / "texts", CHUNKS, files=2)
    with OpenAIServer(mind.think, faults=[Fault()] * 7, always=fault) as server:
        given = chronicle.settings(
            neo4j, server, tmp_path / "home", concurrency=AT_ONCE, timeout=0.5, keep_replies="off"
        )
        with GraphReader(corpus, settings=given) as reader:
            with pytest.raises(DecisionError):
                reader.ingest(texts)
            answered = {mind.passage(one.body) for one in server.requests if one.answered}
            unfinished = {one.status for one in reader.documents()}
            server.always = None
            server.requests.clear()
            report = reader.ingest(texts)
            asked = passages(server)
            disturbed = digest.content(neo4j, corpus)
            reader.delete(everything=True)
            reader.ingest(texts)

    assert len(answered) == 7
    assert "incomplete" in unfinished
    assert report.complete
    assert len(asked) == CHUNKS - 7
    assert not answered & set(asked)
    assert disturbed == digest.content(neo4j, corpus)


class Command:
    """`graphreader ingest` with one server and one corpus."""

    def __init__(self, forks: Forks, given: Settings, corpus: str, folder: Path) -> None:
        self._forks = forks
        self._environment = {**environment_of(given), **chronicle.environment(given)}
        self._corpus = corpus
        self._folder = folder

    def __call__(self, *arguments: str) -> Any:
        fork: Fork = self._forks.start(
            ["ingest", *arguments, "--corpus", self._corpus], self._environment, self._folder
        )
        return fork.end()


# A chunk that the model declines is listed with the reason, the rest is complete; --retry-failed
# asks for it and for nothing else, and in the end the graph is as if nothing had been.
def test_hopeless_chunks(forks: Forks, neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = chronicle.write(tmp_path / "texts", CHUNKS, files=2)
    hopeless = [chronicle.meeting(number) for number in HOPELESS]

    def declines(body: Body, _: int) -> Fault | None:
        return REFUSAL if any(one in mind.passage(body) for one in hopeless) else None

    with OpenAIServer(mind.think, script=declines) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", concurrency=AT_ONCE)
        ingest = Command(forks, given, corpus, tmp_path / "run")
        first = ingest(str(texts), "--json")
        told = ingest(str(texts))
        server.requests.clear()
        still = ingest("--retry-failed", "--json")
        asked_in_vain = set(passages(server))
        server.script = None
        server.requests.clear()
        mended = ingest("--retry-failed", "--json")
        asked = passages(server)
        server.requests.clear()
        nothing = ingest("--retry-failed", "--json")
        asked_for_nothing = passages(server)
        disturbed = digest.content(neo4j, corpus)
        with GraphReader(corpus, settings=given) as reader:
            reader.delete(everything=True)
            reader.ingest(texts)

    failed = [chunk for one in first.json["documents"] for chunk in one["failed"]]
    assert [one.code for one in (first, told, still, mended, nothing)] == [1, 1, 1, 0, 0]
    assert sorted(chunk["chunk"] for chunk in failed) == sorted(n // 2 for n in HOPELESS)
    assert all("refuses to reply" in one["reason"] for one in failed)
    assert sorted(one["status"] for one in first.json["documents"]) == ["incomplete", "incomplete"]
    assert first.json["asked_chunks"] == CHUNKS
    assert "--retry-failed" in told.out + told.err
    assert len(asked_in_vain) == len(asked) == len(HOPELESS)
    assert all(any(one in passage for passage in asked) for one in hopeless)
    assert mended.json["asked_chunks"] == len(HOPELESS)
    assert {one["status"] for one in mended.json["documents"]} == {"read"}
    assert (asked_for_nothing, nothing.json["asked_chunks"]) == ([], 0)
    assert disturbed == digest.content(neo4j, corpus)
