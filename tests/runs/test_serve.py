"""The HTTP interface of `graphreader serve`, through a real server."""

import asyncio
import io
import json
import time
from collections.abc import Callable
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
from PIL import Image, ImageDraw, ImageFont

from graphreader.errors import RunsError
from graphreader.settings import Settings
from graphreader.web.access import TokenStore
from graphreader.web.jobs import Job, JobStore
from tests.runs import world
from tests.runs.relay import Relay
from tests.runs.web_server import (
    OTHER,
    OWN,
    QUESTION,
    SECRET,
    Gate,
    begun_run,
    client,
    events_of,
    finished_job,
    gate,
    reader_of,
    serving,
)


def problem_of(response: httpx.Response) -> str:
    """The sentence of a failure."""
    found = response.json()
    assert response.headers["content-type"] == "application/problem+json", found
    assert found["status"] == response.status_code
    return str(found["detail"])


@pytest.fixture(scope="module")
def paths(local: str) -> dict[str, Any]:
    """The paths of the HTTP interface, with the methods and parameters of each."""
    return dict(httpx.get(f"{local}/openapi.json").json()["paths"])


# An answer need not be waited for; the run is replayed behind the last event that was seen, handed
# on as a report, followed up, and deleted.
def test_a_question(local: str) -> None:
    with client(local) as web:
        run = begun_run(web)
        with web.stream("GET", f"/api/runs/{run}/events") as watched:
            seen = events_of(watched)
        with web.stream("GET", f"/api/runs/{run}/events", headers={"Last-Event-ID": "3"}) as again:
            rest = events_of(again)
        report = web.get(f"/api/runs/{run}/report")
        follow = web.post(f"/api/corpora/{OWN}/questions", json={**QUESTION, "follow": run})
        listed = web.get(f"/api/corpora/{OWN}/runs", params={"limit": 1}).json()
        deleted, gone = web.delete(f"/api/runs/{run}"), web.get(f"/api/runs/{run}")

    assert [int(number) for number, _ in seen] == list(range(1, len(seen) + 1))
    assert rest == seen[3:] != []
    assert "Whom did Alpha meet?" in report.text
    assert follow.json()["answer"] == "Beta"
    assert listed["total"] >= 2
    assert len(listed["runs"]) == 1
    assert (deleted.status_code, gone.status_code) == (204, 404)


# A run is watched from its beginning by whoever comes late, goes on when nobody watches, and is
# resumed after it was stopped.
def test_a_run_under_way(local: str) -> None:
    with gate.held(), client(local) as web:
        run = begun_run(web)
        gate.wait()
        under_way = web.get(f"/api/runs/{run}").json()
        stopped = web.post(f"/api/runs/{run}/stop")
        with web.stream("GET", f"/api/runs/{run}/events") as watched:
            ends = events_of(watched)[-1][1]
        gate.open.set()
        resumed = web.post(f"/api/runs/{run}/resume")
        with web.stream("GET", f"/api/runs/{run}/events") as watched:
            events = events_of(watched)

    assert under_way["status"] == "running"
    assert (stopped.status_code, ends, resumed.status_code) == (204, "Stopped", 202)
    assert events[-1][1] == "QuestionAnswered"


# Files, a folder of them, and texts as JSON become documents; a later file of a name replaces it.
# What cannot be read is told a file; names lead nowhere else.
def test_uploads(local: str, web_home: Path) -> None:
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
    assert str(web_home) not in json.dumps([first, fourth, listed, chunk])
    assert [one["title"] for one in listed["documents"]] == ["Note", "a", "b"]
    assert listed["documents"][2]["source"] == "upload:up/b.txt"
    assert chunk["text"] == "Alpha met Gamma here."
    assert "c.pdf" in fourth["error"]
    assert json.loads(exported[0])["corpus"] == corpus
    assert jobs["jobs"][0]["job"] == fourth["job"]
    assert left == 0
    assert not list((web_home / "uploads").iterdir())


# Uploaded files are read in the encoding that the request names; another name is refused, and so is
# an encoding of texts as JSON.
def test_the_encoding_of_uploads(local: str) -> None:
    corpus = f"test-{uuid4().hex[:12]}"
    polish = [("files", ("d.txt", "Łódź met Alpha here.".encode("iso8859-2")))]
    texts = {"documents": [{"id": "n", "text": "Eta met Alpha here."}]}
    with client(local) as web:
        params = {"encoding": "latin-2"}
        sent = web.post(_documents(corpus), files=polish, params=params)
        job = finished_job(web, sent.json()["job"])
        [document] = web.get(_documents(corpus)).json()["documents"]
        chunk = web.get(f"{_documents(corpus)}/{document['id']}/chunks/0").json()
        refused = web.post(_documents(corpus), files=polish, params={"encoding": "klingon"})
        not_for_json = web.post(_documents(corpus), json=texts, params=params)
        web.delete(f"/api/corpora/{corpus}")

    assert job["encoding"] == document["encoding"] == "iso8859-2"
    assert job["files"] == ["d.txt"]
    assert chunk["text"] == "Łódź met Alpha here."
    assert (refused.status_code, not_for_json.status_code) == (422, 422)
    assert "'klingon' is no encoding" in refused.json()["detail"]
    assert "Texts as JSON are in UTF-8" in not_for_json.json()["detail"]


# Files can be looked at before they are read in: their texts by places, and what cannot be read.
# Nothing of it is kept.
def test_previews(local: str, web_home: Path) -> None:
    corpus = f"test-{uuid4().hex[:12]}"
    files = {
        "up/a.csv": b"Station;Height\nVoss;56\n",
        "b.txt": "Łódź met Alpha here. ".encode("iso8859-2") * 9_000,
        "c.json": b"\0\1" * 99,
    }
    sent = [("files", one) for one in files.items()]
    with client(local) as web:
        address = f"/api/corpora/{corpus}/preview"
        found = web.post(address, files=sent, params={"encoding": "latin-2"}).json()
        page = web.post(f"/corpora/{corpus}/preview", files=sent[:1])
        nothing = web.post(address, content=b"")
        missing = web.get(_documents(corpus))

    table, letter = found["documents"]
    assert (table["source"], table["is_cut"]) == ("upload:up/a.csv", False)
    assert "Station: Voss; Height: 56." in "".join(part["text"] for part in table["parts"])
    assert letter["encoding"] == "iso8859-2"
    assert letter["characters"] == 189_000
    assert (len(letter["parts"][0]["text"]), letter["is_cut"]) == (100_000, True)
    assert [one["source"] for one in found["refused"]] == ["upload:c.json"]
    assert "Station: Voss; Height: 56." in page.text
    assert (nothing.status_code, missing.status_code) == (422, 404)
    assert not list((web_home / "uploads").iterdir())


# Scans are read where a request asks for it; other requests refuse pictures. A restarted server
# knows the choice, as it is kept with the job.
def test_scans(local: str) -> None:
    corpus = f"test-{uuid4().hex[:12]}"
    data = io.BytesIO()
    picture = Image.new("RGB", (875, 300), "white")
    text = "Alpha met Beta in Bergen."
    ImageDraw.Draw(picture).text((60, 120), text, "black", ImageFont.load_default(28))
    picture.save(data, "PNG")
    sent = [("files", ("scan.png", data.getvalue()))]
    with client(local) as web:
        unasked = web.post(_documents(corpus), files=sent)
        shown = web.post(f"/api/corpora/{corpus}/preview", files=sent, params={"ocr": "true"})
        job = web.post(_documents(corpus), files=sent, params={"ocr": "true"}).json()
        read = finished_job(web, job["job"])
        wrong = web.post(_documents(corpus), files=sent, params={"ocr": "../eng"})
        texts = {"documents": [{"id": "n", "text": text}]}
        unfit = web.post(_documents(corpus), json=texts, params={"ocr": "true"})

    assert (unasked.status_code, wrong.status_code, unfit.status_code) == (422, 422, 422)
    assert "is of no known format" in unasked.json()["detail"]
    assert "does not name languages" in wrong.json()["detail"]
    assert shown.json()["documents"][0]["parts"][0]["text"] == text
    assert (job["ocr"], read["ocr"], read["state"]) == ("auto", "auto", "finished")
    (note,) = read["report"]["documents"][0]["notes"]
    assert "was read by OCR (rapidocr), confidence" in note


def _documents(corpus: str) -> str:
    return f"/api/corpora/{corpus}/documents"


# Reading in goes on after the server ended in the middle of it.
def test_jobs_after_a_restart(neo4j: Settings, web_home: Path) -> None:
    corpus, extract = f"test-{uuid4().hex[:12]}", Gate(world.extraction(world.RING_FACTS))
    extract.open.clear()
    decider = world.scripted(world.RING_FACTS, {world.ExtractionTask: extract})
    slow = world.reader(neo4j, OWN, decider, home=web_home)
    with serving(slow) as address, client(address) as web:
        sent = web.post(_documents(corpus), files=[("files", ("a.txt", b"Alpha met Beta here."))])
        job = sent.json()["job"]
        while web.get(f"/api/jobs/{job}").json()["state"] == "queued":
            time.sleep(0.02)
        extract.open.set()
    with serving(reader_of(neo4j, web_home)) as address, client(address) as web:
        after = finished_job(web, job)
        web.delete(f"/api/corpora/{corpus}")

    assert after["state"] == "finished"
    assert after["report"]["documents"][0]["status"] in ("read", "unchanged")


# A job of a token that was revoked before it began fails, and has no call of the model.
async def test_a_job_of_a_revoked_token(neo4j: Settings, tmp_path: Path) -> None:
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
    neo4j: Settings, web_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphreader.web.app.READY_SECONDS", 0.5)
    asked = f"/api/corpora/{OWN}/questions"
    with (
        Relay(neo4j) as relay,
        serving(reader_of(relay.settings, web_home)) as address,
        client(address) as web,
    ):
        states = [web.post(asked, json=QUESTION).status_code, web.get("/readyz").status_code]
        relay.cut_for(1.5)
        states.append(web.get("/readyz").status_code)
        answer = web.post(asked, json=QUESTION).json()["answer"]
        states.append(web.get("/readyz").status_code)

    assert states == [200, 200, 503, 200]
    assert answer == "Beta"


# A token opens in a header and in a cookie; once it is revoked or expired nothing is said.
def test_tokens(guarded: str, web_home: Path, token: Callable[..., str]) -> None:
    store, name = TokenStore(web_home / "tokens.sqlite"), uuid4().hex
    good, expired = token(name=name), token(days=1e-9)
    with client(guarded) as web:
        web.cookies.set("graphreader_token", good)
        by_cookie = web.get("/api/corpora").status_code
    with client(guarded, good) as web:
        before = web.get("/api/corpora").status_code
        store.revoke(name)
        after = web.get("/api/corpora")
    with client(guarded, expired) as web:
        late = web.get("/api/corpora")

    assert (by_cookie, before) == (200, 200)
    for refused in (after, late):
        assert refused.status_code == 401
        assert "www-authenticate" in refused.headers


# A token sees nothing of another corpus: whether an endpoint is asked for that corpus, or for an id
# of it in the own one, the reply is that to something that is nowhere.
def test_isolation(guarded: str, paths: dict[str, Any], token: Callable[..., str]) -> None:
    def ask(method: str, path: str, corpus: str, ids: dict[str, str], follow: str = "") -> Any:
        """The status and the words of a reply, without the ids that were asked for."""
        body: dict[str, Any] = {**QUESTION, "follow": follow} if follow else QUESTION
        if "/v1/" in path:
            body = {"model": corpus, "messages": [{"role": "user", "content": "x"}]}
        values = {**ids, "corpus": corpus, "model": corpus, "job": "none", "chunk": "0"}
        options = {"json": body} if method == "post" else {}
        answer = web.request(method, path.format_map(values), params={"text": "Beta"}, **options)
        words = answer.text.partition("; the nearest")[0]
        assert not [one for one in (OTHER, SECRET) if one in answer.text], path
        for id in filter(None, (*ids.values(), follow)):
            words = words.replace(id, "")
        return answer.status_code, words

    with client(guarded, token("admin")) as admin, client(guarded, token("writer")) as web:
        other = f"/api/corpora/{OTHER}"
        document = admin.get(f"{other}/documents").json()["documents"][0]["id"]
        found = admin.get(f"{other}/key-elements", params={"text": "Alpha"}).json()
        run = admin.post(f"{other}/questions", json=QUESTION).json()["run"]
        theirs = {"document": document, "element": found["key_elements"][0]["id"], "run": run}
        none = {name: id[::-1] for name, id in theirs.items()}
        nowhere = f"test-{uuid4().hex[:12]}"
        for path, operations in paths.items():
            for method in {"get", "post", "delete"} & operations.keys():
                forbidden = ask(method, path, OTHER, theirs)
                if "{" in path or "chat" in path:
                    assert forbidden == ask(method, path, nowhere, none), path
                    assert forbidden[0] == 404, path
                if "{document}" in path or "{element}" in path:
                    in_own = ask(method, path, OWN, theirs)
                    assert in_own == ask(method, path, OWN, none), path
                    assert in_own[0] == 404, path
        for id in (run, run[:6]):
            question = "post", "/api/corpora/{corpus}/questions", OWN, {}
            followed = ask(*question, follow=id)
            assert followed == ask(*question, follow=id[::-1])
            assert followed[0] == 404
        lists = ("/api/corpora", "/api/jobs", "/v1/models", f"/api/corpora/{OWN}/export")
        everything = "".join(web.get(path).text for path in lists)
        assert not [one for one in (OTHER, SECRET, run) if one in everything]
        assert admin.get(f"{other}/documents").json()["total"] == 1
        metrics = admin.get("/metrics").text
    assert not [name for name in (OWN, OTHER, run, document) if name in metrics]


# Questions at once are limited for each token.
def test_limits_of_a_token(guarded: str, token: Callable[..., str]) -> None:
    url = f"/api/corpora/{OWN}/questions"
    with gate.held(), client(guarded, token(questions=1)) as web:
        first = web.post(url, json=QUESTION, headers={"Prefer": "respond-async"})
        second = web.post(url, json=QUESTION)
        gate.open.set()
        with web.stream("GET", f"{first.headers['location']}/events") as watched:
            events_of(watched)
        third = web.post(url, json=QUESTION)

    assert [one.status_code for one in (first, second, third)] == [202, 429, 200]


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
def test_strange_requests(local: str, paths: dict[str, Any], data: st.DataObject) -> None:
    texts = st.text(max_size=30) | st.sampled_from(["..", "%2e%2e", "\0", "🦆", OWN, "a" * 5000])
    path = data.draw(st.sampled_from(sorted(paths)))
    method = data.draw(st.sampled_from(sorted(paths[path])))
    names = [one["name"] for one in paths[path][method].get("parameters", [])]
    values = {name: data.draw(texts, name) for name in [*names, "corpus", "run", "job"]}
    if method == "delete" and "{document}" not in path and "{run}" not in path:
        values["corpus"] = "test-none"
    keys = st.sampled_from(["question", "documents", "model", "messages"])
    body = data.draw(st.none() | st.dictionaries(keys, texts))
    parts = {name: httpx.QueryParams({"v": value})["v"] for name, value in values.items()}
    quoted = {name: _quoted(value) for name, value in parts.items()}
    url = path.replace(":path", "").format_map({"element": "e", "model": "m", **quoted})
    query = {name: one for name, one in values.items() if f"{{{name}}}" not in path}
    with client(local) as web:
        answer = web.request(method, url, params=query, json=body)

    assert answer.status_code < 500, (method, url, answer.text)
    if answer.status_code >= 400 and not path.startswith("/v1"):
        assert problem_of(answer)


def _quoted(value: str) -> str:
    return quote(value.encode("utf-8", "replace"), safe="") or "x"
