"""One model that reads, one that explores, one that answers, chosen by variables, over HTTP."""

from pathlib import Path

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.openai_server import OpenAIServer

READS, EXPLORES, ANSWERS = "openai:reads", "openai:explores", "openai:answers"

pytestmark = pytest.mark.usefixtures("cleaned", "short_pauses")


# Every phase asks its own model; the reading names those that took part in it.
def test_models(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    models = {"build_model": READS, "explore_model": EXPLORES, "answer_model": ANSWERS}
    texts = chronicle.write(tmp_path / "texts", 4)
    with OpenAIServer(mind.think) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", **models)
        with GraphReader(corpus, settings=given) as reader:
            report = reader.ingest(texts)
            reading = reader.ask(chronicle.question(2))

    assert report.complete
    chronicle.check_answer(reading, 2)
    by_decision = {mind.decision_of(body): body["model"] for body in server.chats}
    assert by_decision.pop("Extraction") == "reads"
    assert by_decision.pop("Answer") == "answers"
    assert set(by_decision) >= {"RationalPlan", "InitialNodes", "FactsDecision", "ChunkDecision"}
    assert set(by_decision.values()) == {"explores"}
    assert reading.decider == f"{EXPLORES}, answers by {ANSWERS}"
    assert reading.usage.calls + report.usage.calls == len(server.chats)
