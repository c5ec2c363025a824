"""One model that reads, one that explores, one that answers, chosen by variables, over HTTP."""

from pathlib import Path

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.openai_server import OpenAIServer

READS, EXPLORES, ANSWERS = "openai:reads", "openai:explores", "openai:answers"

pytestmark = pytest.mark.usefixtures("cleaned", "short_pauses")


# Every phase asks its own model, else the common one; the reading names those who
# took part in it.
@pytest.mark.parametrize(
    ("models", "asked", "name"),
    [
        (
            {"build_model": READS, "explore_model": EXPLORES, "answer_model": ANSWERS},
            ("reads", "explores", "answers"),
            f"{EXPLORES}, answers by {ANSWERS}",
        ),
        ({"build_model": READS}, ("reads", "fake", "fake"), "openai:fake"),
    ],
)
def test_models(
    models: dict[str, str],
    asked: tuple[str, str, str],
    name: str,
    neo4j: Settings,
    corpus: str,
    tmp_path: Path,
) -> None:
    texts = chronicle.write(tmp_path / "texts", 4)
    with OpenAIServer(mind.think) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", **models)
        with GraphReader(corpus, settings=given) as reader:
            report = reader.ingest(texts)
            reading = reader.ask(chronicle.question(2))

    assert report.complete
    chronicle.check_answer(reading, 2)
    by_decision = {mind.decision_of(body): body["model"] for body in server.chats}
    building, exploring, answering = asked
    assert by_decision.pop("Extraction") == building
    assert by_decision.pop("Answer") == answering
    assert set(by_decision) >= {"RationalPlan", "InitialNodes", "FactsDecision", "ChunkDecision"}
    assert set(by_decision.values()) == {exploring}
    assert reading.decider == name
    assert reading.usage.calls + report.usage.calls == len(server.chats)
