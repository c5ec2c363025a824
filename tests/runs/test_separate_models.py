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


# Every phase asks the model of its variable, else GRAPHREADER_MODEL; the reading names those who
# took part in it.
@pytest.mark.parametrize(
    ("models", "asked", "name"),
    [
        (
            {"build": READS, "explore": EXPLORES, "answer": ANSWERS},
            ("reads", "explores", "answers"),
            f"{EXPLORES}, answers by {ANSWERS}",
        ),
        ({"build": READS}, ("reads", "fake", "fake"), "openai:fake"),
    ],
)
def test_models(
    models: dict[str, str],
    asked: tuple[str, str, str],
    name: str,
    neo4j: Settings,
    corpus: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = chronicle.write(tmp_path / "texts", 4)
    with OpenAIServer(mind.think) as server:
        given = settings_for(neo4j, server, tmp_path, monkeypatch, **models)
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
