"""Graph, readings, events, REST, MCP, transfer and command line, compared with snapshots."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

from graphreader.agent.events import Event, as_plain
from graphreader.agent.modes import MODES
from graphreader.graph_reader import GraphReader
from graphreader.mcp_server import mcp_server
from graphreader.settings import Settings
from graphreader.waiting import Waiting
from graphreader.web.access import TokenStore
from tests.runs import fixed_corpora as fixed
from tests.runs.digest import content
from tests.runs.web_server import client, finished_job, serving
from tests.snapshots import Snapshots
from tests.terminal import Terminal, environment_of

UPLOADED, TYPED, COPY = "fixed-upload", "fixed-commands", "fixed-copy"
DECIDERS: dict[str, Any] = {"offline": lambda: None, "scripted": fixed.decider}


@pytest.fixture(scope="module")
def settings(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return fixed.settings(neo4j, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module", autouse=True)
def corpora(settings: Settings) -> Iterator[None]:
    """The two corpora, read in once."""
    names = fixed.CORPUS, fixed.APPENDIX_H, UPLOADED, TYPED, COPY
    with fixed.reserved(settings, *names):
        with GraphReader(fixed.CORPUS, settings=settings) as reader:
            fixed.ingest_texts(reader)
        with appendix_h(settings) as reader:
            fixed.ingest_appendix_h(reader)
        yield


def appendix_h(settings: Settings) -> GraphReader:
    """A reader of the paper's example."""
    one_path = settings.model_copy(update={"initial_nodes": 1})
    return GraphReader(fixed.APPENDIX_H, settings=one_path, decider=fixed.appendix_h_decider())


def plain(events: list[Event]) -> list[Any]:
    """Events as plain JSON, but for waits; paths that run side by side one after the other."""
    seen = [event for event in events if not isinstance(event, Waiting)]
    places = [n for n, event in enumerate(seen) if hasattr(event, "path")]
    by_path = sorted((seen[n] for n in places), key=lambda event: event.path)
    for place, event in zip(places, by_path, strict=True):
        seen[place] = event
    return [json.loads(json.dumps(as_plain(event))) for event in seen]


# Ids, labels, properties and relationships of both corpora.
@pytest.mark.parametrize("corpus", [fixed.CORPUS, fixed.APPENDIX_H])
def test_graph(settings: Settings, snapshots: Snapshots, corpus: str) -> None:
    snapshots.check(f"graph_{corpus}", content(settings, corpus))


# The reading and the events of a question, in each mode, without a model and with a scripted one.
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("decider", DECIDERS)
def test_question(settings: Settings, snapshots: Snapshots, mode: Any, decider: str) -> None:
    run = f"{decider}-{mode}"
    with GraphReader(fixed.CORPUS, settings=settings, decider=DECIDERS[decider]()) as reader:
        events = list(reader.stream(fixed.QUESTION, run=run, mode=mode))
        chinese = reader.ask(fixed.CHINESE_QUESTION, mode=mode, run=f"{run}-chinese")
        kept = reader.run(run).as_dict()

    snapshots.check(
        f"question_{decider}_{mode}",
        {
            "reading": events[-1].reading.as_dict(),  # type: ignore[union-attr]
            "events": plain(events[:-1]),
            "chinese": chinese.as_dict(),
            "kept": kept,
        },
    )


# The example of the paper's appendix H, event by event.
def test_appendix_h(settings: Settings, snapshots: Snapshots) -> None:
    with appendix_h(settings) as reader:
        events = list(reader.stream(fixed.APPENDIX_H_QUESTION, run="appendix-h", mode="paper"))

    snapshots.check("appendix_h", plain(events))


# The transfer file of both corpora.
@pytest.mark.parametrize("corpus", [fixed.CORPUS, fixed.APPENDIX_H])
def test_export(settings: Settings, snapshots: Snapshots, tmp_path: Path, corpus: str) -> None:
    with GraphReader(corpus, settings=settings) as reader:
        report = reader.export(tmp_path / "corpus.jsonl")
    lines = (tmp_path / "corpus.jsonl").read_text(encoding="utf-8").splitlines()

    snapshots.check(
        f"export_{corpus}", {"report": report.as_dict(), "lines": [*map(json.loads, lines)]}
    )


COMMANDS = """
ingest texts --corpus fixed-copy --dry-run
ingest texts --corpus fixed-copy
ingest texts --corpus fixed-copy
ingest --retry-failed --corpus fixed-copy
ingest nowhere --corpus fixed-copy
delete --all --corpus fixed-copy --yes
import texts.jsonl --corpus fixed-commands
estimate texts
list --corpus fixed-commands
list --corpus fixed-none
stats --corpus fixed-commands
stats --corpus fixed-none
outline castle --corpus fixed-commands
outline nothing --corpus fixed-commands
normalize --corpus fixed-commands
normalize --undo --corpus fixed-commands
reindex --corpus fixed-commands --yes
ask QUESTION --corpus fixed-commands
ask QUESTION --corpus fixed-commands --mode paper
ask QUESTION --corpus fixed-commands --reader rag-bm25-3
ask QUESTION --corpus fixed-commands --max-calls 1
ask QUESTION --corpus fixed-none
ask QUESTION --mode slow
runs list --corpus fixed-commands
runs show RUN
runs show none
runs resume RUN
runs resume none
runs delete RUN
runs delete none
export corpus.jsonl --corpus fixed-commands
export - --corpus fixed-none
delete castle --corpus fixed-commands --yes
delete castle --corpus fixed-commands --yes
import corpus.jsonl
import corpus.jsonl --corpus fixed-copy
import texts/castle.txt
delete --all --corpus fixed-commands --yes
cache stats
cache clear --yes
neo4j status
neo4j stop
evaluate questions.jsonl --readers rag-bm25-3 --out results --yes
evaluate questions.jsonl --readers nobody --out results --yes
evaluate questions.jsonl --readers full-text --estimate-only
report results
report nowhere
token create anna --role reader --corpus fixed-commands
token list
token revoke anna
token revoke anna
nonsense
"""


@pytest.fixture
def folder(settings: Settings, terminal: Terminal) -> Path:
    """The terminal's folder, with the texts, an export of them and a question to evaluate.

    The corpora that commands make do not exist yet.
    """
    fixed.delete(settings, TYPED, COPY)
    folder = terminal.folder
    (folder / "texts").mkdir()
    for title, text in fixed.TEXTS.items():
        (folder / "texts" / f"{title}.txt").write_text(text, encoding="utf-8")
    with GraphReader(fixed.CORPUS, settings=settings) as reader:
        reader.export(folder / "texts.jsonl")
    texts = [{"title": title, "text": text} for title, text in fixed.TEXTS.items()]
    row = {"id": "q", "question": fixed.QUESTION, "answers": ["Vera Holm"], "documents": texts}
    (folder / "questions.jsonl").write_text(json.dumps(row), encoding="utf-8")
    terminal.set(
        **environment_of(settings),
        GRAPHREADER_HOME=str(folder / "home"),
        GRAPHREADER_CHUNK_TOKENS=str(settings.chunk_tokens),
        GRAPHREADER_INITIAL_NODES="2",
        COLUMNS="300",
    )
    return folder


# Output as JSON and exit code of each command that has it, and exit codes of typical errors.
def test_commands(terminal: Terminal, folder: Path, snapshots: Snapshots) -> None:
    known, outcomes = {"FOLDER": str(folder)}, {}
    for number, command in enumerate(COMMANDS.strip().splitlines(), 1):
        given = {"QUESTION": fixed.QUESTION, "RUN": known.get("RUN", "")}
        ended = terminal.run(*(given.get(word, word) for word in command.split()), "--json")
        found = json.loads(ended.out) if ended.out.startswith("{") else ended.out
        outcomes[f"{number:02} {command}"] = {"code": ended.code, "out": found}
        if command.startswith("ask") and not ended.code and found["run"]:
            known["RUN" if "RUN" not in known else f"RUN-{number}"] = found["run"]
        if command.startswith("ingest texts") and "--dry-run" not in command:
            known |= {f"ID-{one['title']}": one["id"] for one in found["documents"]}
        if command.startswith("token create"):
            known["SECRET"] = found["token"]

    snapshots.check("commands", outcomes, **known)


RUN_ID = re.compile(r"graphreader runs show (\w+)")
VARYING = {
    r"\b\d+(\.\d+)? s\b": "<seconds> s",
    r"(1/1 .*) \d+\.\d 0$": r"\1 <seconds> 0",
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?": "<time>",
    r"there are: .+\. Read": "there are: <corpora>. Read",
    "──+": "──",
}
"""Patterns of times, corpora of other tests and the width of lines, and their names."""


def seen_lines(text: str) -> list[str]:
    """The lines of a text without what varies; those of parallel paths one path after the other."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for pattern, name in VARYING.items():
        lines = [re.sub(pattern, name, line) for line in lines]
    steps = [re.match(r"Path (\d) (?:at|ended)", line) for line in lines]
    order = sorted(range(len(lines)), key=lambda n: int(step[1]) if (step := steps[n]) else 0)
    return [lines[n] for n in order if not lines[n].startswith("ingest: ")]  # told after 10 s


# Lines that a person sees of the same commands: results on stdout, progress and errors on stderr.
def test_lines_of_commands(terminal: Terminal, folder: Path, snapshots: Snapshots) -> None:
    known, outcomes = {"FOLDER": str(folder)}, {}
    for number, command in enumerate(COMMANDS.strip().splitlines(), 1):
        given = {"QUESTION": fixed.QUESTION, "RUN": known.get("RUN", "")}
        ended = terminal.run(*(given.get(word, word) for word in command.split()))
        lines = {"out": seen_lines(ended.out), "err": seen_lines(ended.err)}
        outcomes[f"{number:02} {command}"] = {"code": ended.code, **lines}
        for run in RUN_ID.findall(ended.out):
            known["RUN" if "RUN" not in known else f"RUN-{number}"] = run
        if command.startswith("token create"):
            known["SECRET"] = ended.out.split()[0]

    snapshots.check("lines_of_commands", outcomes, **known)


READS = """
/healthz
/readyz
/api/corpora
/api/corpora/CORPUS
/api/corpora/none
/api/corpora/CORPUS/documents
/api/corpora/CORPUS/documents?title=school&limit=1
/api/corpora/CORPUS/documents?limit=0
/api/corpora/CORPUS/documents/school/outline
/api/corpora/CORPUS/documents/school/chunks/1
/api/corpora/CORPUS/documents/school/chunks/9
/api/corpora/CORPUS/documents/none/outline
/api/corpora/CORPUS/key-elements?text=Malmö&limit=3
/api/corpora/CORPUS/key-elements
/api/corpora/CORPUS/key-elements/Malmö/facts
/api/corpora/CORPUS/key-elements/Malmo/facts
/api/corpora/CORPUS/key-elements/Malmö/neighbors?limit=3
/api/corpora/CORPUS/runs
/api/runs/none
/api/runs/none/events
/api/jobs
/api/jobs/none
/v1/models
/v1/models/CORPUS
/v1/models/none
/nowhere
"""


def answered(response: httpx.Response) -> dict[str, Any]:
    """Status and body of a response."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    body = response.json() if response.text and kind.endswith("json") else response.text
    return {"status": response.status_code, "type": kind, "body": body}


def sent_events(response: httpx.Response) -> list[Any]:
    """The server-sent events of a response: names, numbers and data."""
    response.read()
    blocks = response.text.replace("\r\n", "\n").strip().split("\n\n")
    fields = [
        dict(line.split(": ", 1) for line in block.split("\n"))
        for block in blocks
        if block[:1] != ":"
    ]
    for one in fields:
        if one["data"] != "[DONE]":
            one["data"] = json.loads(one["data"])
    return fields


# Status and body of each endpoint, the events of a question, and OpenAI's completions; the token
# opens two corpora, so that corpora of other tests are not listed.
def test_rest(settings: Settings, snapshots: Snapshots, tmp_path: Path) -> None:
    given = settings.model_copy(update={"home": tmp_path, "initial_nodes": 1})
    reader = GraphReader(fixed.CORPUS, settings=given, decider=fixed.decider())
    corpora = fixed.CORPUS, UPLOADED
    secret = TokenStore(tmp_path / "tokens.sqlite").create("writer", "writer", corpora)
    questions, documents = (
        f"/api/corpora/{fixed.CORPUS}/questions",
        f"/api/corpora/{UPLOADED}/documents",
    )
    asked, note = (
        {"question": fixed.QUESTION},
        {"id": "n", "text": "Eta met Alpha.", "title": "Note"},
    )
    found: dict[str, Any] = {}
    with serving(reader, tokens=True) as address, client(address, secret) as web:
        found["no token"] = answered(httpx.get(f"{address}/api/corpora"))
        for path in READS.strip().splitlines():
            found[f"GET {path}"] = answered(web.get(path.replace("CORPUS", fixed.CORPUS)))
        job = web.post(documents, json={"documents": [note]})
        known = {"JOB": job.json()["job"]}
        found["upload"], found["job"] = answered(job), finished_job(web, known["JOB"])
        found["jobs"] = answered(web.get("/api/jobs"))
        found["upload of nothing"] = answered(web.post(documents, content=b""))
        found["retry"] = answered(web.post(f"/api/corpora/{UPLOADED}/retry"))
        known["RETRY"] = found["retry"]["body"]["job"]
        found["retried"] = finished_job(web, known["RETRY"])
        found["export"] = answered(web.get(f"/api/corpora/{UPLOADED}/export"))
        found["deleted"] = answered(web.delete(f"/api/corpora/{UPLOADED}"))
        for mode in sorted(MODES, reverse=True):  # in the order of the snapshot
            response = web.post(questions, json={**asked, "mode": mode})
            run = known[f"RUN-{mode}"] = response.json()["run"]
            found[f"question {mode}"] = answered(response)
            found[f"run {mode}"] = answered(web.get(f"/api/runs/{run}"))
            found[f"events {mode}"] = sent_events(web.get(f"/api/runs/{run}/events"))
        stream = {"Accept": "text/event-stream"}
        found["stream"] = sent_events(
            web.post(questions, json={**asked, "mode": "paper"}, headers=stream)
        )
        known["RUN-stream"] = found["stream"][0]["data"]["run"]
        found["empty question"] = answered(web.post(questions, json={"question": " "}))
        found["no question"] = answered(web.post(questions, json={}))
        found["another reader"] = answered(
            web.post(questions, json={**asked, "reader": "rag-bm25-3"})
        )
        found["unknown reader"] = answered(web.post(questions, json={**asked, "reader": "nobody"}))
        found["resume"] = answered(web.post(f"/api/runs/{run}/resume"))
        found["resumed"] = sent_events(web.get(f"/api/runs/{run}/events"))
        found["stop"] = answered(web.post(f"/api/runs/{run}/stop"))
        found["delete"] = answered(web.delete(f"/api/runs/{run}"))
        chat = {"model": fixed.CORPUS, "messages": [{"role": "user", "content": fixed.QUESTION}]}
        for name, changes in {
            "chat": {},
            "chat stream": {"stream": True},
            "no model": {"model": "none"},
        }.items():
            response = web.post("/v1/chat/completions", json={**chat, **changes})
            streams = changes.get("stream")
            found[name] = sent_events(response) if streams else answered(response)
        known["CHAT"] = found["chat"]["body"]["id"].partition("-")[2]
        known["CHAT-stream"] = found["chat stream"][0]["data"]["id"].partition("-")[2]
        found["operations"] = operations(web.get("/openapi.json").json())

    snapshots.check("rest", found, **known)


def operations(openapi: dict[str, Any]) -> dict[str, list[str]]:
    """The operations of an OpenAPI document with the names of their parameters."""
    return {
        f"{method.upper()} {path}": sorted(one["name"] for one in operation.get("parameters", ()))
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    }


# The results of MCP's tools, the names of their arguments, and a refusal.
async def test_mcp(settings: Settings, snapshots: Snapshots) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_documents", {}),
        ("search_key_elements", {"text": "Malmö", "limit": 3}),
        ("read_facts", {"key_element": "malmö"}),
        ("read_chunk", {"document": "贞德", "chunk": 0}),
        ("neighbors", {"key_element": "Malmö", "limit": 3}),
        ("outline", {"document": "castle"}),
        ("ask", {"question": fixed.QUESTION}),
        ("read_chunk", {"document": "none", "chunk": 0}),
    ]
    with GraphReader(fixed.CORPUS, settings=settings, decider=fixed.decider()) as reader:
        async with Client(mcp_server(reader)) as mcp:
            tools = {
                one.name: sorted(one.input_schema["properties"])
                for one in (await mcp.list_tools()).tools
            }
            results = [await mcp.call_tool(name, arguments) for name, arguments in calls]
    plain_results = [
        [name, one.is_error, one.structured_content or one.content[0].text]
        for (name, _), one in zip(calls, results, strict=True)
    ]
    run = next(
        one.structured_content["run"] for one in results if "run" in (one.structured_content or {})
    )

    snapshots.check("mcp", {"tools": tools, "results": plain_results}, RUN=run)
