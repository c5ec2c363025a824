"""One model that reads, one that explores, one that answers, chosen by variables, over HTTP."""

from pathlib import Path

import pytest

from graphreader.errors import DecisionError
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_server import OpenAIServer

READS, EXPLORES, ANSWERS = "openai:reads", "openai:explores", "openai:answers"

pytestmark = pytest.mark.usefixtures("cleaned", "short_pauses")


def settings_for(
    neo4j: Settings, server: OpenAIServer, folder: Path, patch: pytest.MonkeyPatch, **models: str
) -> Settings:
    """Of this server, with the models in the variables of their phases."""
    for phase, name in models.items():
        patch.setenv(f"GRAPHREADER_{phase.upper()}_MODEL", name)
    read = Settings.read().model_dump(include={f"{phase}_model" for phase in models})
    return chronicle.settings(neo4j, server, folder / "home", **read)


def models_of(server: OpenAIServer) -> dict[str, str]:
    """Which model was asked for which decision."""
    return {mind.decision_of(body): body["model"] for body in server.chats}


# Every phase asks the model of its variable, and the reading names those who took part in it.
def test_three_models(
    neo4j: Settings, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = chronicle.write(tmp_path / "texts", 4)
    models = {"build": READS, "explore": EXPLORES, "answer": ANSWERS}
    with OpenAIServer(mind.think) as server:
        given = settings_for(neo4j, server, tmp_path, monkeypatch, **models)
        with GraphReader(corpus, settings=given) as reader:
            report = reader.ingest(texts)
            reading = reader.ask(chronicle.question(2))

    assert report.complete
    chronicle.check_answer(reading, 2)
    assert models_of(server) == {
        "Extraction": "reads",
        "RationalPlan": "explores",
        "InitialNodes": "explores",
        "FactsDecision": "explores",
        "ChunkDecision": "explores",
        "NeighborDecision": "explores",
        "Answer": "answers",
    }
    assert reading.decider == f"{EXPLORES}, answers by {ANSWERS}"
    asked = [body["model"] for body in server.chats]
    assert asked.count("answers") == 1
    assert reading.usage.calls + report.usage.calls == len(asked)


# What is not set for a phase is what GRAPHREADER_MODEL says; one model for both is named once.
def test_one_of_three(
    neo4j: Settings, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = chronicle.write(tmp_path / "texts", 2)
    with OpenAIServer(mind.think) as server:
        given = settings_for(neo4j, server, tmp_path, monkeypatch, build=READS)
        with GraphReader(corpus, settings=given) as reader:
            reader.ingest(texts)
            reading = reader.ask(chronicle.question(1))

    asked = models_of(server)
    assert asked.pop("Extraction") == "reads"
    assert set(asked.values()) == {"fake"}
    assert reading.decider == "openai:fake"


# A model that the service does not know is told with the variable in which it stands.
@pytest.mark.parametrize("phase", ["build", "explore", "answer"])
def test_variable_of_an_unknown_model(
    phase: str, neo4j: Settings, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(body: Body, before: int) -> Fault | None:
        wrong = body["model"] == "wrong"
        return Fault(404, "The model `wrong` does not exist", "model_not_found") if wrong else None

    texts = chronicle.write(tmp_path / "texts", 2)
    with OpenAIServer(mind.think, script=unknown) as server:
        given = settings_for(neo4j, server, tmp_path, monkeypatch, **{phase: "openai:wrong"})
        with GraphReader(corpus, settings=given) as reader:
            told = []
            try:
                told += reader.ingest(texts).notes
                reading = reader.ask(chronicle.question(1))
                told += [*reading.notes, reading.analysis]
            except DecisionError as error:
                told.append(str(error))

    assert f"check GRAPHREADER_{phase.upper()}_MODEL" in " ".join(told)
