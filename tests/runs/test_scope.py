"""Questions that are limited to some documents of a corpus."""

import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from graphreader.agent.adaptive.tasks import Action, Finding, LastTurnTask, Turn, TurnTask
from graphreader.agent.events import QuestionAnswered
from graphreader.agent.tasks import ChunkTask, NeighborTask
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.settings import ModeName
from graphreader.testing import ScriptedDecider
from tests import servers
from tests.runs import world
from tests.runs.edits import HashEmbedder

pytestmark = pytest.mark.slow

INSIDE = [
    "Ada met Bede at the lantern.",
    "Bede gave the lantern to Cyril.",
    "Ada sold the sword to Cyril.",
]
# It has the names of the other text, most of them in other letters and more often, and others.
OUTSIDE = [
    "ADA met BEDE at the lantern of Zeno.",
    "ADA gave the sword to Xenia.",
    "ADA sold the LANTERN to Zeno.",
    "BEDE met ADA and CYRIL at Yarrow.",
    "ADA met CYRIL near the SWORD of Xenia.",
]
FOREIGN = ("ADA", "BEDE", "CYRIL", "LANTERN", "Xenia", "Yarrow", "Secret", *OUTSIDE)
NAME = re.compile(r"\b[A-Z]\w+|lantern|sword")
QUESTION = "Whom did Ada meet at the lantern, and who has the sword now?"
MODES: tuple[ModeName, ...] = ("paper", "adaptive")


def extract(task: ExtractionTask) -> Extraction:
    text = " ".join(task.text.split())
    said = [one for one in (*INSIDE, *OUTSIDE) if one in text]
    return Extraction(
        facts=[ExtractedFact(fact=one, key_elements=NAME.findall(one)) for one in said]
    )


def read_on(task: ChunkTask) -> Any:
    said = [one for one in (*INSIDE, *OUTSIDE) if one in " ".join(task.text.split())]
    return world.chunk("read_subsequent_chunk", f"{task.notebook} {' '.join(said)}".strip(), said)


LOOKS = [
    [("search", "Zeno and Ada"), ("read_node", "ada"), ("read_node", "Zeno")],
    [("outline", "1"), ("outline", "2"), ("read_chunk", "1.0-9, 2.0-9"), ("search", "SWORD")],
    [("read_neighbor_node", "lantern"), ("read_node", "sword"), ("search", "Who met Zeno?")],
]


def look_around(task: TurnTask) -> Turn:
    """Every action, about names and passages of both texts; then an answer."""
    for looks in LOOKS:
        if not any(looks[-1][1] in done for done in task.actions):
            chosen = [Action(function=name, argument=what) for name, what in looks]  # type: ignore[arg-type]
            return Turn(findings=[], actions=chosen)
    passages = [one for result in task.results for one in result["passages"]]
    place = next((one["number"] for one in passages if INSIDE[0] in one["text"]), "1.0")
    found = Finding(finding="Ada met Bede.", passage=place, quote=INSIDE[0])
    return Turn(findings=[found], actions=[], answer="Bede.", explanation="It says so.")


def decider() -> ScriptedDecider:
    return world.scripted(
        {},
        {
            ExtractionTask: extract,
            ChunkTask: read_on,
            NeighborTask: lambda task: world.neighbor(1 if len(task.actions) < 5 else 0),
            TurnTask: look_around,
            LastTurnTask: look_around,
        },
    )


def documents() -> list[Document]:
    texts = {"shelf/one.txt": ("Letters", INSIDE), "drawer/two.txt": ("Secret letters", OUTSIDE)}
    return [
        Document(
            "\n\n".join(map(world.padded, said)),
            metadata={"source": source, "title": title, "tags": source.split("/")[0]},
        )
        for source, (title, said) in texts.items()
    ]


# A run in a scope is shown, reads and cites nothing of a document outside of it, although both
# have the same names: no sentence, no wording, no title, no count, in no event, prompt or reading.
@pytest.mark.parametrize("version", servers.VERSIONS)
def test_nothing_of_other_documents(
    neo4j_pool: servers.Pool, corpus: str, version: str, tmp_path: Path
) -> None:
    settings = world.settings(neo4j_pool.settings(version), window=8192, home=tmp_path)
    script = decider()
    shown: dict[tuple[ModeName, bool], tuple[str, Any]] = {}
    with GraphReader(corpus, settings=settings, decider=script, embedder=HashEmbedder()) as reader:
        reader.ingest(*documents())
        ids = {one.title: one.id for one in reader.documents()}
        for mode in MODES:
            for scope in ((), ("tag:shelf",)):
                script.asked.clear()
                events = list(reader.stream(QUESTION, mode=mode, scope=scope))
                last = events[-1]
                assert isinstance(last, QuestionAnswered)
                page = reader.report(last.reading, tmp_path / "page.html").read_text()
                shown[mode, bool(scope)] = repr([events, script.asked]) + page, last.reading
        follow = reader.ask("And then?", mode="adaptive", follow=shown["adaptive", True][1].run)
        reader.delete(everything=True)

    for (mode, scoped), (text, reading) in shown.items():
        foreign = [one for one in (*FOREIGN, ids["Secret letters"]) if one in text]
        if scoped:
            assert foreign == [], mode
            assert reading.scope == ("tag:shelf",)
            assert "Only 1 document of the corpus is searched: tag:shelf." in reading.notes
            assert {one.document for one in reading.citations} == {"Letters"}
            assert reading.documents_read == (ids["Letters"],)
        else:
            assert {"ADA", "Xenia", "Secret"} <= set(foreign), mode
            assert "scope" not in reading.as_dict()
    node = "Ada: 2 facts in 2 passages."
    assert node in shown["adaptive", True][0]
    assert follow.scope == ("tag:shelf",)
