"""The HTTP interface of `graphreader serve`, through a real server."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import openai
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from langchain_openai import ChatOpenAI
from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from graphreader.agent.adaptive.tasks import TurnTask
from graphreader.baselines.answering import PassagesTask, TextAnswer
from graphreader.errors import RunsError
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from graphreader.web.access import TokenStore
from graphreader.web.jobs import Job, JobStore
from tests.runs import world
from tests.runs.relay import Relay
from tests.runs.web_server import Gate, client, events_of, finished_job, serving

OWN, OTHER = f"test-{uuid4().hex[:12]}", f"test-{uuid4().hex[:12]}"
SECRET_WORD = "Hesperides"


gate = Gate()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def reader_of(neo4j: Settings, home: Path) -> GraphReader:
    script = {TurnTask: gate, PassagesTask: lambda _: TextAnswer(answer="Beta")}
    decider = world.scripted(world.RING_FACTS, script)
    return world.reader(neo4j, OWN, decider, home=home, mode="adaptive", kept_runs=50)


@pytest.fixture(scope="module")
def corpora(
    neo4j: Settings, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Two corpora, each with a text and a run; the other one has a secret."""
    texts = world.write_files(tmp_path_factory.mktemp("texts"), {"ring": world.RING})
    secret = tmp_path_factory.mktemp("other") / f"{SECRET_WORD}.txt"
    secret.write_text(f"{SECRET_WORD} met Beta here.", encoding="utf-8")
    with reader_of(neo4j, home) as reader:
        reader.ingest(texts)
        reader.at(OTHER).ingest(secret)
        yield
        for corpus in (OWN, OTHER):
            reader.at(corpus).delete(everything=True)


@pytest.fixture(scope="module")
def local(neo4j: Settings, home: Path, corpora: None) -> Iterator[str]:
    """A server on loopback, without tokens."""
    with serving(reader_of(neo4j, home)) as address:
        yield address


@pytest.fixture(scope="module")
def guarded(neo4j: Settings, home: Path, corpora: None) -> Iterator[str]:
    """A server with tokens."""
    with serving(reader_of(neo4j, home), tokens=True) as address:
        yield address


@pytest.fixture
def token(home: Path) -> Callable[..., str]:
    """Makes a token, by default one that reads the first corpus."""

    def make(role: Any = "reader", *corpora: str, **limits: Any) -> str:
        chosen = () if role == "admin" else corpora or (OWN,)
        return TokenStore(home / "tokens.sqlite").create(uuid4().hex, role, chosen, **limits)

    return make


QUESTION = {"question": "Whom did Alpha meet?"}


def problem_of(response: httpx.Response) -> str:
    """The sentence of a failure."""
    found = response.json()
    assert response.headers["content-type"] == "application/problem+json", found
    assert found["status"] == response.status_code
    return str(found["detail"])


# A question is answered as JSON, by its events as they come, or later; the run is kept, replayed
# behind the last event that was seen, handed on as a report, and deleted.
def test_a_question(local: str) -> None:
    with client(local) as web:
        reading = web.post(f"/api/corpora/{OWN}/questions", json=QUESTION).json()
        with web.stream(
            "POST",
            f"/api/corpora/{OWN}/questions",
            json=QUESTION,
            headers={"Accept": "text/event-stream"},
        ) as streamed:
            events = events_of(streamed)
        later = web.post(
            f"/api/corpora/{OWN}/questions", json=QUESTION, headers={"Prefer": "respond-async"}
        )
        run = reading["run"]
        with web.stream("GET", f"/api/runs/{run}/events", headers={"Last-Event-ID": "3"}) as again:
            rest = events_of(again)
        report = web.get(f"/api/runs/{run}/report")
        with web.stream("GET", later.headers["location"] + "/events") as watched:
            seen = events_of(watched)
        listed = web.get(f"/api/corpora/{OWN}/runs", params={"limit": 1}).json()
        deleted = web.delete(f"/api/runs/{run}")
        gone = web.get(f"/api/runs/{run}").status_code
        other = web.post(
            f"/api/corpora/{OWN}/questions", json={**QUESTION, "reader": "rag-bm25-3"}
        ).json()
        follow = web.post(
            f"/api/corpora/{OWN}/questions", json={**QUESTION, "follow": later.json()["run"]}
        )

    assert (reading["answer"], len(reading["citations"])) == ("Beta", 1)
    assert [events[0][1], events[-1][1]] == ["RunBegan", "QuestionAnswered"]
    assert [int(number) for number, _ in events] == list(range(1, len(events) + 1))
    assert rest[0][0] == "4"
    assert rest[-1][1] == seen[-1][1] == "QuestionAnswered"
    assert later.status_code == 202
    assert "Whom did Alpha meet?" in report.text
    assert listed["total"] >= 3
    assert len(listed["runs"]) == 1
    assert (gone, other["reader"]) == (404, "rag-bm25-3")
    assert (deleted.status_code, follow.json()["answer"]) == (204, "Beta")


# A run is watched from its beginning by whoever comes late, goes on when nobody watches, and is
# resumed after it was stopped.
def test_a_run_under_way(local: str) -> None:
    gate.open.clear()
    try:
        with client(local) as web:
            asked = web.post(
                f"/api/corpora/{OWN}/questions", json=QUESTION, headers={"Prefer": "respond-async"}
            )
            run = asked.json()["run"]
            under_way = web.get(f"/api/runs/{run}").json()
            stopped = web.post(f"/api/runs/{run}/stop")
            with web.stream("GET", f"/api/runs/{run}/events") as watched:
                ends = events_of(watched)[-1][1]
            gate.open.set()
            resumed = web.post(f"/api/runs/{run}/resume")
            with web.stream("GET", f"/api/runs/{run}/events") as watched:
                events = events_of(watched)
    finally:
        gate.open.set()

    assert under_way["status"] == "running"
    assert (stopped.status_code, ends, resumed.status_code) == (204, "Stopped", 202)
    assert events[-1][1] == "QuestionAnswered"


# Files, a folder of them, and texts as JSON become documents; a later file of a name replaces it.
# What cannot be read is told a file; names lead nowhere else.
def test_uploads(local: str, home: Path) -> None:
    corpus = f"test-{uuid4().hex[:12]}"
    files = {"a.txt": "Alpha met Beta here.", "../../up/b.txt": "Beta met Gamma here."}
    with client(local) as web:
        sent = [("files", (name, text.encode())) for name, text in files.items()]
        first = finished_job(web, web.post(_documents(corpus), files=sent).json()["job"])
        changed = [("files", ("a.txt", b"Alpha met Gamma here."))]
        second = finished_job(web, web.post(_documents(corpus), files=changed).json()["job"])
        texts = {"documents": [{"id": "n", "text": "Eta met Alpha here.", "title": "Note"}]}
        third = finished_job(web, web.post(_documents(corpus), json=texts).json()["job"])
        broken = [("files", ("c.pdf", b"no pdf"))]
        fourth = finished_job(web, web.post(_documents(corpus), files=broken).json()["job"])
        listed = web.get(_documents(corpus)).json()
        chunk = web.get(f"{_documents(corpus)}/{listed['documents'][1]['id']}/chunks/0").json()
        exported = web.get(f"/api/corpora/{corpus}/export").text.splitlines()
        jobs = web.get("/api/jobs", params={"limit": 4}).json()
        for one in listed["documents"]:
            web.delete(f"{_documents(corpus)}/{one['id']}")
        left = web.get(_documents(corpus)).json()["total"]
        web.delete(f"/api/corpora/{corpus}")

    states = [one["state"] for one in (first, second, third, fourth)]
    assert states == ["finished", "finished", "finished", "failed"]
    assert str(home) not in json.dumps([first, fourth, listed, chunk])
    assert [one["title"] for one in listed["documents"]] == ["Note", "a", "b"]
    assert listed["documents"][2]["source"] == "upload:up/b.txt"
    assert chunk["text"] == "Alpha met Gamma here."
    assert "c.pdf" in fourth["error"]
    assert json.loads(exported[0])["corpus"] == corpus
    assert jobs["jobs"][0]["job"] == fourth["job"]
    assert left == 0
    assert not list((home / "uploads").iterdir())


def _documents(corpus: str) -> str:
    return f"/api/corpora/{corpus}/documents"


# Reading in goes on after the server ended in the middle of it.
def test_jobs_after_a_restart(neo4j: Settings, home: Path, corpora: None) -> None:
    corpus, extract = f"test-{uuid4().hex[:12]}", Gate(world.extraction(world.RING_FACTS))
    extract.open.clear()
    decider = world.scripted(world.RING_FACTS, {world.ExtractionTask: extract})
    slow = world.reader(neo4j, OWN, decider, home=home)
    with serving(slow) as address, client(address) as web:
        sent = web.post(_documents(corpus), files=[("files", ("a.txt", b"Alpha met Beta here."))])
        job = sent.json()["job"]
        while web.get(f"/api/jobs/{job}").json()["state"] == "queued":
            time.sleep(0.02)
        extract.open.set()
    with serving(reader_of(neo4j, home)) as address, client(address) as web:
        after = finished_job(web, job)
        web.delete(f"/api/corpora/{corpus}")

    assert after["state"] == "finished"
    assert after["report"]["documents"][0]["status"] in ("read", "unchanged")


# A job of a token that was revoked before it began fails, and has no call of the model.
async def test_a_job_of_a_revoked_token(neo4j: Settings, corpora: None, tmp_path: Path) -> None:
    admin = TokenStore(tmp_path / "tokens.sqlite").create("admin", "admin")
    store = JobStore(tmp_path / "jobs.sqlite")
    await store.add(Job("one", OWN, "gone", (), "queued", 0.0, 0.0), tmp_path)
    await store.aclose()
    with serving(reader_of(neo4j, tmp_path), tokens=True) as address, client(address, admin) as web:
        job = finished_job(web, "one")

    assert (job["state"], job["error"]) == (
        "failed",
        "The token 'gone' is revoked: use another one.",
    )


# A job whose end cannot be recorded, as on a full disk, is done once more with its files.
def test_an_end_that_is_not_recorded(
    local: str, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphreader.web.jobs._OUTAGE_SECONDS", 0.01)
    change, failures = JobStore.change, iter([RunsError("The disk is full.")])

    async def failing(store: JobStore, job: str, state: Any, *values: Any) -> None:
        for failure in failures if state != "running" else ():
            raise failure
        await change(store, job, state, *values)

    monkeypatch.setattr(JobStore, "change", failing)
    with client(local) as web:
        files = [("files", ("a.txt", b"Alpha met Beta here."))]
        job = finished_job(web, web.post(_documents(corpus), files=files).json()["job"])
        web.delete(f"/api/corpora/{corpus}")

    assert job["state"] == "finished"
    assert job["report"]["documents"][0]["status"] == "unchanged"


# Neo4j goes away and comes back: the server says that it is not ready, and a question that came
# meanwhile is answered.
def test_neo4j_gone_and_back(
    neo4j: Settings, home: Path, corpora: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphreader.web.app.READY_SECONDS", 0.5)
    asked = f"/api/corpora/{OWN}/questions"
    with (
        Relay(neo4j) as relay,
        serving(reader_of(relay.settings, home)) as address,
        client(address) as web,
    ):
        states = [web.post(asked, json=QUESTION).status_code, web.get("/readyz").status_code]
        relay.cut_for(3)
        states.append(web.get("/readyz").status_code)
        answer = web.post(asked, json=QUESTION).json()["answer"]
        states.append(web.get("/readyz").status_code)

    assert states == [200, 200, 503, 200]
    assert answer == "Beta"


FOREIGN = {
    "another host (DNS rebinding)": {"Host": "evil.example"},
    "a host with a port of ours": {"Host": "evil.example:8321"},
    "no host that can be read": {"Host": "[::1"},
    "a page of another site": {"Origin": "http://evil.example"},
    "a page in a sandbox": {"Origin": "null"},
    "another port of this machine": {"Origin": "http://127.0.0.1:1"},
    "a form of another site": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
}


# On loopback no web page of a stranger can use the server, for reading or for writing.
@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN.keys())
def test_foreign_pages(local: str, headers: dict[str, str]) -> None:
    with client(local) as web:
        for answer in (
            web.get("/api/corpora", headers=headers),
            web.delete(f"/api/corpora/{OWN}", headers=headers),
            web.get("/healthz", headers=headers),
        ):
            assert answer.status_code == 403, answer.text
            assert "access-control-allow-origin" not in answer.headers


# Without a token, and with one that is wrong, revoked or expired, nothing is told; many wrong ones
# make an address wait.
def test_tokens(guarded: str, home: Path, token: Callable[..., str]) -> None:
    store, good = TokenStore(home / "tokens.sqlite"), token()
    expired = token("reader", days=1e-9)
    with client(guarded) as web:
        web.cookies.set("graphreader_token", good)
        by_cookie = web.get("/api/corpora").status_code
        web.cookies.clear()
        answers = [
            web.get("/api/corpora", headers={"Authorization": f"Bearer {one}"})
            for one in ("x", "gr_wrong", expired)
        ]
    with client(guarded, good) as web:
        before = web.get("/api/corpora").status_code
        for one in store.all():
            store.revoke(one.name)
        after = web.get("/api/corpora").status_code

    assert (by_cookie, before, after) == (200, 200, 401)
    assert [one.status_code for one in answers] == [401, 401, 401]
    assert all("www-authenticate" in one.headers for one in answers)


# A reader reads, a writer writes, and neither sees anything of another corpus: what is forbidden
# and what is missing look the same.
def test_isolation(guarded: str, token: Callable[..., str]) -> None:
    with client(guarded, token("admin")) as admin:
        document = admin.get(_documents(OTHER)).json()["documents"][0]["id"]
        run = admin.post(f"/api/corpora/{OTHER}/questions", json=QUESTION).json()["run"]
        paths = {
            path: [one for one in ("get", "post", "delete") if one in operations]
            for path, operations in admin.get("/openapi.json").json()["paths"].items()
        }
    values = {"corpus": OTHER, "document": document, "run": run, "chunk": "0", "element": "Beta"}
    missing = {**values, "corpus": f"test-{uuid4().hex[:12]}", "run": uuid4().hex[:12]}
    body = {**QUESTION, "model": OTHER, "messages": [{"role": "user", "content": "x"}]}
    with client(guarded, token("writer")) as web:
        for path, methods in paths.items():
            for method in methods:
                answers = []
                for known in (values, missing):
                    url = path.format_map({**known, "job": "none", "model": known["corpus"]})
                    options = (
                        {"json": {**body, "model": known["corpus"]}} if method == "post" else {}
                    )
                    answers.append(web.request(method, url, params={"text": "Beta"}, **options))
                forbidden, unknown = answers
                assert SECRET_WORD not in forbidden.text, path
                assert OTHER not in forbidden.text, path
                if "{" in path:
                    assert (forbidden.status_code, forbidden.text) == (404, unknown.text), path
    with client(guarded, token("reader")) as web:
        refused = [
            web.delete(f"/api/corpora/{OWN}"),
            web.post(_documents(OWN), json={"documents": [{"id": "a", "text": "b"}]}),
        ]

    assert [one.status_code for one in refused] == [403, 403]
    assert "only reads" in problem_of(refused[0])


# Questions at once, and calls and tokens a day, are limited for each token.
def test_limits_of_a_token(guarded: str, token: Callable[..., str]) -> None:
    url = f"/api/corpora/{OWN}/questions"
    gate.open.clear()
    try:
        with client(guarded, token("reader", OWN, questions=1)) as web:
            first = web.post(url, json=QUESTION, headers={"Prefer": "respond-async"})
            second = web.post(url, json=QUESTION)
            gate.open.set()
            with web.stream("GET", f"{first.headers['location']}/events") as watched:
                events_of(watched)
            third = web.post(url, json=QUESTION)
    finally:
        gate.open.set()
    with client(guarded, token("reader", OWN, calls=1)) as web:
        day = [web.post(url, json=QUESTION) for _ in range(2)]

    assert [one.status_code for one in (first, second, third)] == [202, 429, 200]
    assert [one.status_code for one in day] == [200, 429]
    assert "are used up" in problem_of(day[1])


# The clients of OpenAI and of LangChain ask a corpus as a model, with a conversation before.
def test_openai_clients(guarded: str, token: Callable[..., str]) -> None:
    secret = token()
    conversation: Any = [
        {"role": "user", "content": "Whom did Alpha meet?"},
        {"role": "assistant", "content": "Beta"},
        {"role": "user", "content": [{"type": "text", "text": "And where?"}]},
    ]
    with openai.OpenAI(base_url=f"{guarded}/v1", api_key=secret, max_retries=0) as service:
        models = [one.id for one in service.models.list()]
        whole = service.chat.completions.create(model=OWN, messages=conversation)
        pieces = [
            piece.choices[0].delta.content or ""
            for piece in service.chat.completions.create(
                model=OWN, messages=conversation, stream=True
            )
            if piece.choices
        ]
        with pytest.raises(openai.NotFoundError, match="no such corpus"):
            service.chat.completions.create(model=OTHER, messages=conversation)
        with pytest.raises(openai.UnprocessableEntityError, match="last message"):
            service.chat.completions.create(model=OWN, messages=conversation[:2])
    chat = ChatOpenAI(model=OWN, base_url=f"{guarded}/v1", api_key=secret)  # type: ignore[arg-type]
    spoken = chat.invoke("Whom did Alpha meet?")
    chat.root_client.close()

    message = whole.choices[0].message
    assert models == [OWN]
    assert message.content == "".join(pieces)
    assert message.content.startswith("Beta\n\nSources:\n[1] ring, chunk 0: “Alpha met Beta here.”")
    (cited,) = message.annotations or ()
    place = cited.url_citation
    assert message.content[place.start_index : place.end_index].startswith("[1] ring")
    assert spoken.text.startswith("Beta")


# The official MCP client finds the same tools over HTTP as on stdin.
async def test_mcp(guarded: str, token: Callable[..., str]) -> None:
    headers = {"Authorization": f"Bearer {token()}"}
    async with (
        create_mcp_http_client(headers=headers) as web,
        Client(streamable_http_client(f"{guarded}/mcp/{OWN}", http_client=web)) as connected,
    ):
        tools = [tool.name for tool in (await connected.list_tools()).tools]
        result = await connected.call_tool("ask", QUESTION)
    refused = await asyncio.to_thread(
        lambda: httpx.post(f"{guarded}/mcp/{OTHER}", headers=headers, json={}).status_code
    )

    assert "search_key_elements" in tools
    assert result.structured_content["answer"] == "Beta"
    assert refused == 404


# Whatever is sent, no request ends in an unexpected error, and every failure is a problem.
@hypothesis_settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_strange_requests(local: str, data: st.DataObject) -> None:
    texts = st.text(max_size=30) | st.sampled_from(["..", "%2e%2e", "\0", "🦆", OWN, "a" * 5000])
    with client(local) as web:
        document = web.get("/openapi.json").json()
        path = data.draw(st.sampled_from(sorted(document["paths"])))
        method = data.draw(st.sampled_from(sorted(document["paths"][path])))
        names = [one["name"] for one in document["paths"][path][method].get("parameters", [])]
        values = {name: data.draw(texts, name) for name in [*names, "corpus", "run", "job"]}
        if method == "delete" and "{document}" not in path and "{run}" not in path:
            values["corpus"] = "test-none"
        body = data.draw(
            st.none()
            | st.dictionaries(
                st.sampled_from(["question", "documents", "model", "messages"]), texts
            )
        )
        parts = {name: httpx.QueryParams({"v": value})["v"] for name, value in values.items()}
        quoted = {name: _quoted(value) for name, value in parts.items()}
        url = path.replace(":path", "").format_map({"element": "e", "model": "m", **quoted})
        query = {name: one for name, one in values.items() if f"{{{name}}}" not in path}
        answer = web.request(method, url, params=query, json=body)

    assert answer.status_code < 500, (method, url, answer.text)
    if answer.status_code >= 400 and not path.startswith("/v1"):
        assert problem_of(answer)


def _quoted(value: str) -> str:
    return quote(value.encode("utf-8", "replace"), safe="") or "x"
