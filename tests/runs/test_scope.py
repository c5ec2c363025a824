"""Questions that are limited to some documents of a corpus."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from graphreader.agent.adaptive.tasks import Action, Finding, LastTurnTask, Turn, TurnTask
from graphreader.agent.events import QuestionAnswered
from graphreader.agent.tasks import ChunkTask, NeighborTask
from graphreader.baselines import registry
from graphreader.errors import UsageError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.integrations.langchain import GraphReaderRetriever
from graphreader.scope import Scope
from graphreader.settings import ModeName, Settings
from graphreader.testing import ScriptedDecider
from tests import servers
from tests.runs import web_server, world
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


FILES = {
    "shelf/one.md": "---\ntags: [Law, old]\ndate: 2021-05-03\n---\nAda met Bede at the lantern.\n",
    "shelf/two.md": "---\ndate: 2022\ntags: law\n---\nBede gave the lantern to Cyril.\n",
    "drawer/three.txt": "Ada sold the sword to Cyril.\n",
}


@pytest.fixture
def shelf(neo4j: Settings, corpus: str, tmp_path: Path) -> Iterator[GraphReader]:
    """A reader without a model of three short documents, two of them with tags and a date."""
    for name, text in FILES.items():
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    settings = world.settings(neo4j, home=tmp_path / "home", normalize="none", mode="adaptive")
    with GraphReader(corpus, settings=settings) as reader:
        reader.ingest(tmp_path / "texts")
        yield reader
        reader.delete(everything=True)


TITLES = ("one", "two", "three")


def titles(reader: GraphReader, *scope: str) -> list[str]:
    return sorted(one.title for one in reader.documents(scope))


# Documents are named by title, id, path or folder; tags and dates come from their front matter.
def test_documents_of_a_scope(shelf: GraphReader, tmp_path: Path) -> None:
    known = {one.title: one for one in shelf.documents()}
    folder = str(tmp_path / "texts" / "shelf")

    assert {title: (one.tags, one.date) for title, one in known.items()} == {
        "one": (("law", "old"), "2021-05-03"),
        "two": (("law",), "2022"),
        "three": ((), ""),
    }
    for scope in (["one"], [known["one"].id], ["shelf/one.md"], [f"{folder}/one.md"], ["tag:OLD"]):
        assert titles(shelf, *scope) == ["one"]
    for scope in (["shelf/"], ["texts/shelf"], [folder], ["tag:law"], ["2021.."], ["one", "two"]):
        assert titles(shelf, *scope) == ["one", "two"]
    for scope in (["2022-03.."], ["2021-06..2022-01-01"], ["shelf/", "tag:law", "2022..2022"]):
        assert titles(shelf, *scope) == ["two"]
    assert titles(shelf, "..2021") == titles(shelf, "2021-05..2021-05-03") == ["one"]
    assert titles(shelf, "texts/") == ["one", "three", "two"]


# A scope without documents is refused with what there is.
@pytest.mark.parametrize(
    ("scope", "message"),
    [
        (["tree"], "No document has the id, title, path or folder 'tree': there are three, ... (3"),
        (["one", "shelf/two"], "folder 'shelf/two': there are"),
        (["tag:new"], "in the scope tag:new: the documents have the tags law, old and dates from"),
        (["..2020"], "dates from 2021-05-03 to 2022."),
        (["three", "tag:law"], "No document is in the scope three, tag:law"),
    ],
)
def test_nothing_in_a_scope(shelf: GraphReader, scope: list[str], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        shelf.ask("Whom did Ada meet?", scope=scope)

    assert message in str(raised.value)


# Tags and dates that were set by hand stay when the text changes, and in exports; no id changes.
def test_tags_by_hand(shelf: GraphReader, tmp_path: Path) -> None:
    ids = {one.title: one.id for one in shelf.documents()}

    assert shelf.tag("shelf/", "New", "law", remove=["old"], date="2020-02") == 2
    (tmp_path / "texts" / "shelf" / "one.md").write_text(
        "---\ntags: [other]\ndate: 1999\n---\nAda met Bede at the lantern, and Cyril.\n"
    )
    shelf.ingest(tmp_path / "texts")
    shelf.export(tmp_path / "export.jsonl")
    copy = shelf.at(f"{shelf.corpus}-copy")
    copy.import_corpus(tmp_path / "export.jsonl")
    copied = {one.title: (one.tags, one.date) for one in copy.documents()}
    copy.tag("one", date="")
    undated = {one.title: one.date for one in copy.documents()}
    copy.delete(everything=True)
    own = {one.title: (one.tags, one.date) for one in shelf.documents()}

    assert own == copied
    assert own["one"] == own["two"] == (("new", "law"), "2020-02")
    assert undated == {"one": "", "two": "2020-02", "three": ""}
    assert {one.title: one.id for one in shelf.documents()} == ids
    for wrong in ({}, {"date": "May"}, {"remove": ["a,b"]}):
        with pytest.raises(UsageError):
            shelf.tag("one", **wrong)


# A run keeps its scope: it is resumed in it, and under its id nothing else is asked; a follow-up
# inherits it unless it has its own, and other readers read only its documents.
def test_a_run_keeps_its_scope(shelf: GraphReader) -> None:
    question = "Whom did Ada meet at the lantern?"
    first = shelf.ask(question, run="first", scope="shelf/")
    again = shelf.ask(question, run="first", scope=["shelf/"])
    follow = shelf.ask("And who sold the sword?", follow="first")
    wide = shelf.ask("And who sold the sword?", follow="first", scope=[])
    other = registry.ask("full-text", shelf.resources, shelf.corpus, question, Scope(("three",)))

    assert again == first
    assert first.scope == follow.scope == ("shelf/",)
    assert {one.document for one in follow.citations} <= {"one", "two"}
    assert wide.scope == ()
    assert [one.document for one in wide.citations][:1] == ["three"]
    assert (other.scope, len(other.documents_read)) == (("three",), 1)
    with pytest.raises(UsageError, match="about another question"):
        shelf.ask(question, run="first")


# A tool and a retriever of LangChain have the scope that they were made with, and a search of key
# elements says how often the documents of the scope name them.
def test_a_scope_of_parts(shelf: GraphReader) -> None:
    question = "Whom did Ada meet, and who was with Cyril?"
    call = {"name": "ask_texts", "args": {"question": question}, "id": "1", "type": "tool_call"}
    told = shelf.as_tool(scope="tag:old").invoke(call)
    found = GraphReaderRetriever(reader=shelf, scope=["two"]).invoke(question)
    facts = [
        {one.name: one.facts for one in shelf.search("Cyril", scope=scope)}.get("Cyril")
        for scope in ((), "three", "one")
    ]

    assert told.artifact.scope == ("tag:old",)
    assert {one.document for one in told.artifact.citations} == {"one"}
    assert {one.metadata["document"] for one in found} == {"two"}
    assert facts == [2, 1, None]
    with pytest.raises(UsageError):
        shelf.as_tool(scope="")
    with pytest.raises(UsageError, match="No document has"):
        shelf.search("Cyril", scope="four")


# REST, the protocol of OpenAI and MCP take a scope; REST sets tags and lists the documents of one.
async def test_a_scope_over_http(shelf: GraphReader) -> None:
    one, two, three = (next(d for d in shelf.documents() if d.title == t) for t in TITLES)
    place, asked = f"/api/corpora/{shelf.corpus}", {"question": "Who was with Cyril?"}
    with web_server.serving(shelf) as address, web_server.client(address) as web:
        patched = web.patch(
            f"{place}/documents/{three.id}", json={"tags": ["Sold"], "date": "1900"}
        )
        wrong = web.patch(f"{place}/documents/{three.id}", json={"date": "soon"})
        listed = web.get(f"{place}/documents", params={"scope": ["tag:sold"]}).json()
        elements = web.get(
            f"{place}/key-elements", params={"text": "Cyril", "scope": ["tag:sold"]}
        ).json()["key_elements"]
        reading = web.post(f"{place}/questions", json={**asked, "scope": ["tag:sold"]}).json()
        refused = web.post(f"{place}/questions", json={**asked, "scope": ["tag:none"]})
        body = {"model": shelf.corpus, "messages": [{"role": "user", "content": "Who met Ada?"}]}
        said = web.post("/v1/chat/completions", json={**body, "scope": [two.id]}).json()
        async with (
            create_mcp_http_client() as http,
            Client(
                streamable_http_client(f"{address}/mcp/{shelf.corpus}", http_client=http)
            ) as mcp,
        ):
            told = await mcp.call_tool("ask", {**asked, "scope": ["tag:old"]})
            documents = await mcp.call_tool("list_documents", {})

    assert (patched.status_code, wrong.status_code, refused.status_code) == (204, 422, 422)
    assert [(d["title"], d["tags"], d["date"]) for d in listed["documents"]] == [
        ("three", ["sold"], "1900")
    ]
    assert (listed["total"], reading["scope"]) == (1, ["tag:sold"])
    assert [(one["name"], one["facts"]) for one in elements if "Cyril" in one["name"]] == [
        ("Cyril", 1)
    ]
    assert {cited["document"] for cited in reading["citations"]} == {"three"}
    assert "tags law, old, sold" in refused.json()["detail"]
    annotations = said["choices"][0]["message"]["annotations"]
    assert {cited["url_citation"]["title"] for cited in annotations} <= {"two"}
    assert {cited["document"] for cited in told.structured_content["citations"]} <= {"one"}
    assert [d["date"] for d in documents.structured_content["documents"]] == [
        "2021-05-03", "1900", "2022",
    ]  # fmt: skip
    assert one.tags == ("law", "old")
