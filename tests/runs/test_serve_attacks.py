"""Attacks on `graphreader serve`, each a line of a table, against a real server."""

import asyncio
import io
import os
import socket
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from graphreader.agent.adaptive.tasks import Turn, TurnTask
from graphreader.errors import ReplyError, UsageError
from graphreader.settings import Settings
from graphreader.web import connections, protection
from graphreader.web import jobs as web_jobs
from graphreader.web.access import TokenStore
from graphreader.web.jobs import Job, JobStore
from graphreader.web.protection import Protection
from tests.runs import world
from tests.runs.faults import disk
from tests.runs.web_server import (
    ANSWER,
    OTHER,
    OWN,
    QUESTION,
    Gate,
    begun_run,
    client,
    finished_job,
    gate,
    reader_of,
    serving,
)

pytestmark = pytest.mark.slow

DOCUMENTS = f"/api/corpora/{OWN}/documents"


def raw(address: str, request: str) -> tuple[int, str]:
    """The status and the reply to a request as it is sent; {host} is the server's own."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(request.format(host=f"{host}:{port}").encode("latin-1"))
        reply = b"".join(iter(lambda: connection.recv(65_536), b""))
    return int(reply.split(b" ", 2)[1]), reply.decode()


# A name, the status, a request line, and its headers; {host} is the server's own.
FOREIGN = """
403 | another host (DNS rebinding) | GET /api/corpora | Host: evil.example
403 | a host with a port of ours | GET /healthz | Host: evil.example:8321
403 | no host that can be read | DELETE /api/corpora/x | Host: [::1
403 | a page of another site | DELETE /api/corpora/x | Host: {host} | Origin: http://evil.example
403 | another port of this machine | GET /healthz | Host: {host} | Origin: http://127.0.0.1:1
400 | no host | GET /api/corpora
403 | no host, HTTP/1.0 | GET /api/corpora HTTP/1.0
400 | two hosts | GET /api/corpora | Host: {host} | Host: evil.example
404 | a URL of another host | GET http://evil.example/api/corpora | Host: {host}
403 | a user before the host | GET /api/corpora | Host: evil.example@{host}
403 | a path behind the host | GET /api/corpora | Host: {host}/evil.example
403 | a trailing dot | GET /api/corpora | Host: localhost.
403 | all addresses | GET /api/corpora | Host: 0.0.0.0
403 | one number | GET /api/corpora | Host: 2130706433
403 | a short address | GET /api/corpora | Host: 127.1
403 | IPv4 in IPv6 | GET /api/corpora | Host: [::ffff:127.0.0.1]
403 | a name that begins alike | GET /api/corpora | Host: localhost.evil.example
403 | a forged host | GET /api/corpora | Host: evil | X-Forwarded-Host: {host}
403 | half an address | GET /api/corpora | Host: {host} | Origin: http://[
403 | a sandbox | GET /api/corpora | Host: {host} | Origin: null
403 | an extension | GET /api/corpora | Host: {host} | Origin: moz-extension://{host}
403 | two origins | GET /api/corpora | Host: {host} | Origin: http://{host}
    | Origin: http://evil.example
403 | an image | GET /api/corpora | Host: {host} | Sec-Fetch-Site: same-site | Sec-Fetch-Dest: image
403 | a frame | GET / | Host: {host} | Sec-Fetch-Site: cross-site | Sec-Fetch-Dest: iframe
403 | a form | POST /api/corpora/x/questions | Host: {host} | Sec-Fetch-Dest: document
    | Sec-Fetch-Site: cross-site | Origin: http://evil.example
405 | TRACE | TRACE /api/corpora | Host: {host}
405 | a preflight | OPTIONS /api/corpora | Host: {host} | Access-Control-Request-Method: GET
404 | a tunnel | CONNECT evil.example:443 | Host: {host}
404 | another host in the path | GET //evil.example/ | Host: {host}
404 | a slash too many | GET /api/corpora/ | Host: {host}
404 | a file's path | GET /static/..%2f..%2fapp.py | Host: {host}
422 | a line in the path | GET /api/corpora/%0d%0aSet-Cookie:%20a=b | Host: {host}
200 | its own name in another case | GET /healthz | Host: LocalHost:80
200 | its own address in IPv6 | GET /healthz | Host: [::1]:8321
200 | a page of its own | GET /healthz | Host: {host} | Origin: http://{host}
200 | a link to it | GET /healthz | Host: {host} | Sec-Fetch-Site: cross-site
    | Sec-Fetch-Dest: document
""".replace("\n    |", " |").strip()


# Nothing is answered that another site could have sent, nor redirected, nor shared with it. By its
# own names the server answers, in any case, and links to its page are followed.
@pytest.mark.parametrize("line", FOREIGN.splitlines(), ids=lambda line: line.split(" | ")[1])
def test_foreign_requests(local: str, line: str) -> None:
    expected, _, first, *headers = (part.strip() for part in line.split(" | "))
    first = first if "HTTP/" in first else f"{first} HTTP/1.1"
    status, reply = raw(local, "\r\n".join([first, *headers, "Connection: close", "", ""]))

    assert status == int(expected), reply
    assert "access-control-" not in reply
    assert "\nset-cookie" not in reply.lower()


NAMES = {
    "../../x.txt": "x.txt",
    "/etc/passwd.txt": "etc/passwd.txt",
    "..\\..\\x.txt": "x.txt",
    "a/ .. /.//b.txt": "a/b.txt",
    "a/\u00a0..\u00a0/b.txt": "a/b.txt",
    "nul\0l.txt": "null.txt",
    "CON.txt": "CON.txt",
    "\u202etxt.txt": "txt.txt",
    "\x1b[31mred.txt": "[31mred.txt",
    "<img src=x onerror=alert(1)>.txt": "<img src=x onerror=alert(1)>.txt",
    "鸭" * 300 + ".txt": "鸭" * 300 + ".txt",
    "a" * 600 + ".txt": None,
    "..": None,
    "x.exe": None,
    "x.txt/": "x.txt",
}


# The name of a file leads nowhere, and names its document without marks that deceive.
def test_names_of_files(local: str, web_home: Path, corpus: str) -> None:
    found, documents = dict[str, str | None](), f"/api/corpora/{corpus}/documents"
    with client(local) as web:
        for name in NAMES:
            part = f'Content-Disposition: form-data; name="f"; filename="{name}"\r\n\r\nAlpha.'
            sent = web.post(documents, content=f"--x\r\n{part}\r\n--x--\r\n", headers=MULTIPART)
            job = sent.json() if sent.status_code == 202 else {"files": [None]}
            found[name] = job["files"][0]
            if "job" in job:
                assert finished_job(web, job["job"])["state"] == "finished", name
        web.delete(f"/api/corpora/{corpus}")

    assert found == NAMES
    assert not [path for path in web_home.rglob("*.txt") if "uploads" not in path.parts]


MULTIPART = {"Content-Type": "multipart/form-data; boundary=x"}
JSON = {"Content-Type": "application/json"}
PART = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\nAlpha.\r\n'
BODIES: dict[str, tuple[str, dict[str, str], bytes]] = {
    "no multipart": (DOCUMENTS, MULTIPART, b"garbage"),
    "no end": (DOCUMENTS, MULTIPART, PART),
    "no part": (DOCUMENTS, MULTIPART, b"--x--\r\n"),
    "no boundary": (DOCUMENTS, {"Content-Type": "multipart/form-data"}, PART),
    "a long boundary": (DOCUMENTS, {"Content-Type": MULTIPART["Content-Type"] * 99}, PART),
    "many parts": (DOCUMENTS, MULTIPART, b"--x\r\nA: b\r\n\r\n\r\n" * 500_000 + b"--x--"),
    "many headers": (DOCUMENTS, MULTIPART, b"--x\r\n" + b"A: b\r\n" * 9_999 + b"\r\n--x--"),
    "a large header": (DOCUMENTS, MULTIPART, b"--x\r\nA: " + b"b" * 99_999 + b"\r\n\r\n--x--"),
    "the same file twice": (DOCUMENTS, MULTIPART, PART * 2 + b"--x--\r\n"),
    "a form": (DOCUMENTS, {"Content-Type": "application/x-www-form-urlencoded"}, b"files=a"),
    "JSON as text": (DOCUMENTS, {"Content-Type": "text/plain"}, b'{"documents": []}'),
    "deep JSON": (DOCUMENTS, JSON, b'{"documents": ' + b"[" * 9_000_000),
    "much JSON": (DOCUMENTS, JSON, b" " * 18_000_000),
    "a lone surrogate": (DOCUMENTS, JSON, b'{"documents": [{"id": "\\ud800", "text": "x"}]}'),
    "a long number": (DOCUMENTS, JSON, b'{"documents": ' + b"9" * 99_999 + b"}"),
    "a deep question": (f"/api/corpora/{OWN}/questions", JSON, b"[" * 3_000_000),
    "a large question": (f"/api/corpora/{OWN}/questions", JSON, b" " * 9_000_000),
    "a question as text": (f"/api/corpora/{OWN}/questions", {"Content-Type": "text/plain"}, b"{}"),
    "a large completion": ("/v1/chat/completions", JSON, b" " * 9_000_000),
    "a deep tool call": (f"/mcp/{OWN}", JSON, b"[" * 1_000_000),
    "markup": (f"/api/corpora/{OWN}/questions", JSON, b'{"question": {"<script>": "hunter2"}}'),
}


# A body that is malformed or too large is refused, is not echoed, and leaves nothing behind.
@pytest.mark.parametrize(("path", "headers", "body"), BODIES.values(), ids=BODIES.keys())
def test_bodies(
    local: str, web_home: Path, path: str, headers: dict[str, str], body: bytes
) -> None:
    with client(local) as web:
        answer = web.post(path, content=body, headers=headers)

    status = answer.status_code
    assert status == 413 if len(body) > 2**22 and path != DOCUMENTS else 400 <= status < 500
    assert not [echo for echo in ("hunter2", "<script>", "[[[[") if echo in answer.text]
    assert not list((web_home / "uploads").glob("*"))


# What follows a body of the stated length is no second request.
@pytest.mark.parametrize(
    ("length", "status"),
    [("3", 422), ("3\r\nContent-Length: 4", 400), ("-1", 400), ("3, 4", 400), ("a", 400)],
)
def test_wrong_lengths(local: str, length: str, status: int) -> None:
    head = f"POST {DOCUMENTS} HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\n"
    second = "GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n"
    found, reply = raw(local, f"{head}Content-Length: {length}\r\n\r\nabc{second}")

    assert (found, reply.count("HTTP/1.1 ")) == (status, 1)


def bomb(size: int, **more: str) -> bytes:
    """An EPUB that unpacks to so many bytes, with further entries."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/container.xml", "<container/>")
        archive.writestr("a.xhtml", b" " * size)
        for name, text in more.items():
            archive.writestr(name, text)
    return packed.getvalue()


HARMFUL = {
    "a.epub": bomb(200_000_000),
    "b.epub": bomb(9, link="/etc/passwd"),
    "c.html": b"<a " * 200_000,
    "d.docx": b"PK\x03\x04" + b"\0" * 1_000,
    "e.html": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><p>&b;</p>',
    "f.txt": b"Alpha met Beta here.",
}


# Files that would harm their reader (a zip bomb, an archive with a link, HTML without an end, no
# archive, entities) are refused, or read without what they point at; the server lives, and the
# file after them is read.
def test_harmful_files(local: str, corpus: str) -> None:
    documents = f"/api/corpora/{corpus}/documents"
    with client(local) as web:
        sent = web.post(documents, files=[("files", file) for file in HARMFUL.items()])
        job = finished_job(web, sent.json()["job"])
        shown = web.get(f"/api/jobs/{job['job']}").text
        shown += web.get(f"/api/corpora/{corpus}/export").text
        titles = [one["title"] for one in web.get(documents).json()["documents"]]
        web.delete(f"/api/corpora/{corpus}")

    assert job["state"] == "finished"
    assert "root:" not in shown
    assert "f" in titles
    assert not {"a", "d"} & {*titles}


# Markup in questions, texts and names is shown as text wherever a browser could open it.
def test_markup(guarded: str, token: Callable[..., str]) -> None:
    markup = "<script>alert(1)</script>"
    with client(guarded, token("admin")) as web:
        url = f"/api/corpora/{OWN}/questions"
        asked = web.post(url, json={"question": f"Whom did Alpha meet? {markup}"})
        run = asked.json()["run"]
        report = web.get(f"/api/runs/{run}/report")
        others = [web.get(path) for path in (f"/api/runs/{run}", f"/api/corpora/{OWN}/runs")]
        missing = web.get(f"/api/corpora/{markup}/runs")

    assert markup not in report.text
    assert report.headers["content-disposition"].startswith("attachment")
    assert report.headers["content-security-policy"].startswith("sandbox")
    for answer in (asked, *others, missing):
        assert "json" in answer.headers["content-type"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def headers_of(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


GUESSES: dict[str, dict[str, str]] = {
    "nothing": {},
    "no token": {"Authorization": "Bearer"},
    "a name": headers_of("anna"),
    "another scheme": {"Authorization": "Basic YW5uYTphbm5h"},
    "a statement": headers_of("' OR 1=1 --"),
    "a wildcard": headers_of("gr_%"),
    "a null": headers_of("gr_\\0"),
    "a long token": headers_of("gr_" + "a" * 10_000),
    "a cookie": {"Cookie": "graphreader_token=gr_a"},
    "a broken cookie": {"Cookie": 'a[]{}=";;graphreader_token=gr_a'},
    "a forged user": {"X-Forwarded-User": "anna", "Remote-User": "anna"},
}


# Without a token nothing is told, not even the description; what is open has no secrets.
@pytest.mark.parametrize("headers", GUESSES.values(), ids=GUESSES.keys())
def test_guessed_tokens(
    guarded: str, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protection, "_MOST_FAILURES", 10**6)
    paths = (
        "/api/corpora",
        "/openapi.json",
        "/metrics",
        "/v1/models",
        f"/mcp/{OWN}",
        "/%2e%2e/api",
    )
    with client(guarded) as web:
        answers = [web.get(path, headers=headers) for path in paths]

    assert {one.status_code for one in answers} == {401}
    assert not [one for one in answers if OWN in one.text]


async def asked_of(
    app: Protection, *, address: str = "1.2.3.4", path: str = "/a", **headers: str
) -> int:
    """The status of a request that comes from an address."""
    transport = httpx.ASGITransport(app, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
        return (await web.get(path, headers=headers)).status_code


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse("state" in scope)(scope, receive, send)


# Wrong tokens make an address wait, without locking out who has a right one there, and without
# a table that grows with each address.
async def test_many_guesses(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "tokens.sqlite")
    good = {"authorization": f"Bearer {store.create('anna', 'admin')}"}
    guarded = Protection(application, store, None)

    found = [await asked_of(guarded, authorization="Bearer x") for _ in range(22)]
    right, elsewhere = await asked_of(guarded, **good), await asked_of(guarded, address="1.2.3.5")
    for number in range(1_100):
        await asked_of(
            guarded, address=f"10.0.{number >> 8}.{number & 255}", authorization="Bearer x"
        )

    assert found == [401] * 20 + [429] * 2
    assert (right, elsewhere) == (200, 401)
    assert len(guarded._failures) <= 1_000


# A file of tokens that cannot be read lets nobody in, and says so.
async def test_broken_tokens(tmp_path: Path) -> None:
    (tmp_path / "tokens.sqlite").write_bytes(b"no database" * 1_000)
    guarded = Protection(application, TokenStore(tmp_path / "tokens.sqlite"), None)

    assert await asked_of(guarded, authorization="Bearer x") == 503


# The tokens of a file that was deleted open nothing, also where another file takes its place.
async def test_deleted_tokens(tmp_path: Path) -> None:
    path = tmp_path / "tokens.sqlite"
    store = TokenStore(path)
    guarded = Protection(application, store, None)
    old = store.create("anna", "admin")
    before = await asked_of(guarded, authorization=f"Bearer {old}")
    path.unlink()
    new = TokenStore(path).create("anna", "admin")
    after = [await asked_of(guarded, authorization=f"Bearer {one}") for one in (old, new)]

    assert (before, after) == (200, [401, 200])


# A path that leads around the open ones by dots, or by the proxy's own path, needs a token.
@pytest.mark.parametrize("path", ["/static", "/static/a", "/healthz/a", "/login/../a"])
async def test_open_paths(tmp_path: Path, path: str) -> None:
    async def under_path(scope: Scope, receive: Receive, send: Send) -> None:
        await guarded({**scope, "root_path": "/static"}, receive, send)

    guarded = Protection(application, TokenStore(tmp_path / "tokens.sqlite"), None, ("/static/",))
    transport = httpx.ASGITransport(under_path)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
        answer = await web.get(path)

    assert answer.status_code == 401


# A client cannot make itself another address, unless it is an announced proxy.
@pytest.mark.parametrize(
    ("proxies", "statuses"),
    [([], {401, 429}), (["127.0.0.0/30"], {401}), (["10.1.2.3", "10.0.0.0/8"], {401, 429})],
    ids=["none", "this machine", "another machine"],
)
def test_forged_addresses(
    neo4j: Settings, tmp_path: Path, proxies: list[str], statuses: set[int]
) -> None:
    with (
        serving(reader_of(neo4j, tmp_path), tokens=True, proxies=proxies) as address,
        client(address, "wrong") as web,
    ):
        found = {
            web.get("/api/corpora", headers={"X-Forwarded-For": f"10.0.0.{n}"}).status_code
            for n in range(25)
        }

    assert found == statuses


def tool(web: httpx.Client, name: str, corpus: str = OWN, **arguments: Any) -> str:
    """The result of a tool of MCP, as it is sent."""
    call = {"name": name, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"Accept": "application/json, text/event-stream", "Mcp-Session-Id": "a" * 32}
    return web.post(f"/mcp/{corpus}", json=body, headers=headers).text


# MCP asks by the limits of the token, follows no run of another corpus and tells none of its name;
# there are no sessions that another token could enter.
def test_mcp(guarded: str, token: Callable[..., str]) -> None:
    with client(guarded, token("admin")) as admin:
        run = admin.post(f"/api/corpora/{OTHER}/questions", json=QUESTION).json()["run"]
    with client(guarded, token("reader", calls=1)) as web:
        followed = tool(web, "ask", follow=run, **QUESTION)
        begun = tool(web, "ask", follow=run[:1], **QUESTION)
        answered, refused = (tool(web, "ask", **QUESTION) for _ in range(2))

    assert "There is no such run" in followed
    assert "There is no such run" in begun
    assert "Alpha met Beta here." in answered
    assert "are used up" in refused
    assert not [text for text in (followed, begun) if OTHER in text]


# Reading in takes from the day as well, and a run that is stopped has taken what it took. To resume
# one that is under way takes nothing.
def test_calls_of_a_day(guarded: str, token: Callable[..., str]) -> None:
    with client(guarded, token("writer", calls=1)) as web:
        texts = {"documents": [{"id": "n", "text": "Eta met Alpha here."}]}
        job = finished_job(web, web.post(DOCUMENTS, json=texts).json()["job"])
        after_job = web.post(f"/api/corpora/{OWN}/questions", json=QUESTION)
        again = web.post(DOCUMENTS, json=texts)
    with gate.held(), client(guarded, token("reader", calls=1)) as web:
        run = begun_run(web)
        gate.wait()
        under_way = web.post(f"/api/runs/{run}/resume")
        web.post(f"/api/runs/{run}/stop")
        after_stop = web.post(f"/api/corpora/{OWN}/questions", json=QUESTION)

    assert job["state"] == "finished"
    assert under_way.json() == {"run": run}
    assert [one.status_code for one in (after_job, again, after_stop)] == [429] * 3


# A reader changes nothing of others: no run of theirs, no job, no document.
def test_a_readers_limits(guarded: str, token: Callable[..., str]) -> None:
    with gate.held(), client(guarded, token("writer")) as writer, client(guarded, token()) as web:
        run = begun_run(writer)
        texts = {"documents": [{"id": "n", "text": "Eta met Alpha here."}]}
        job = writer.post(DOCUMENTS, json=texts).json()["job"]
        refused = [
            web.post(f"/api/runs/{run}/stop"),
            web.delete(f"/api/runs/{run}"),
            web.post(f"/api/jobs/{job}/cancel"),
            web.post(DOCUMENTS, json=texts),
            web.delete(f"/api/corpora/{OWN}"),
        ]
        own = web.post(f"/api/runs/{begun_run(web)}/stop")
        stopped = writer.post(f"/api/runs/{run}/stop")
        finished_job(writer, job)

    assert [one.status_code for one in refused] == [403] * 5
    assert (own.status_code, stopped.status_code) == (204, 204)


ENDS = {
    "revoked": "DELETE FROM tokens WHERE name = ?",
    "expired": "UPDATE tokens SET expires = 1 WHERE name = ?",
}


# What a token watches or waits for ends with it, while the run is there for others.
@pytest.mark.parametrize("statement", ENDS.values(), ids=ENDS.keys())
def test_streams_end(
    guarded: str,
    web_home: Path,
    token: Callable[..., str],
    statement: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protection, "CHECK_SECONDS", 0.1)
    name = uuid4().hex
    with (
        gate.held(),
        client(guarded, token(name=name)) as web,
        client(guarded, token()) as other,
        ThreadPoolExecutor(1) as thread,
    ):
        run = begun_run(web)
        gate.wait()
        waiting = thread.submit(web.post, f"/api/corpora/{OWN}/questions", json=QUESTION)
        with web.stream("GET", f"/api/runs/{run}/events") as watched:
            lines = watched.iter_lines()
            next(lines)
            with closing(sqlite3.connect(web_home / "tokens.sqlite")) as file:
                file.execute(statement, [name])
                file.commit()
            rest = list(lines)
        answer = waiting.result()
        status = other.get(f"/api/runs/{run}").json()["status"]
        gate.open.set()

    assert not [line for line in rest if "QuestionAnswered" in line]
    assert answer.status_code == 401
    assert status == "running"


SOON = 0.5
SILENT = {
    "nothing": b"",
    "a letter": b"G",
    "half a head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
    "half a second head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /",
    "half a body": b"POST /corpora HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\na",
    "half a chunk": b"POST /corpora HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5f\r\na",
}


def connected(address: str) -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def is_open(connection: socket.socket, seconds: float) -> bool:
    """Whether the server leaves a connection open for some seconds."""
    connection.settimeout(seconds)
    try:
        while connection.recv(65_536):
            pass
    except TimeoutError:
        return True
    except ConnectionError:
        return False
    return False


# A connection whose client sends no whole request is closed in time, also where it sends a little
# again and again.
@pytest.mark.parametrize("is_dripping", [False, True])
@pytest.mark.parametrize("begun", SILENT.values(), ids=SILENT.keys())
def test_silent_connections(
    local: str, begun: bytes, is_dripping: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", SOON)
    monkeypatch.setattr(protection, "BODY_SECONDS", SOON)
    with connected(local) as connection:
        connection.sendall(begun)
        for _ in range(40 if is_dripping and begun else 0):
            with suppress(ConnectionError):
                connection.send(b"a")
            if not is_open(connection, 0.1):
                break
        assert not is_open(connection, 5)


# A client that takes nothing of long responses is left; one that takes them slowly gets all.
def test_responses_that_are_not_taken(local: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALLED_SECONDS", SOON)
    monkeypatch.setattr(connections, "HEAD_SECONDS", SOON)
    path = "/static/cytoscape/cytoscape.min.js"
    get = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n".encode()
    with client(local) as web:
        whole = web.get(path).content
    with connected(local) as connection:
        connection.sendall((get + b"\r\n") * 60)
        time.sleep(4 * SOON)
        taken = 0
        with suppress(ConnectionError):
            while piece := connection.recv(1 << 20):
                taken += len(piece)
        assert taken < 60 * len(whole)
    with connected(local) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.sendall(get + b"Connection: close\r\n\r\n")
        read = b""
        while piece := connection.recv(20_000):
            read += piece
            time.sleep(SOON / 20)
        assert read.endswith(whole)


# However many connections are opened, silent or in the middle of a request, there is a bound of
# their number, and the next request is answered.
@pytest.mark.parametrize("begun", [b"", b"GET / HT", SILENT["half a body"]], ids=len)
def test_many_connections(local: str, begun: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 20)
    with ExitStack() as stack:
        opened = [stack.enter_context(connected(local)) for _ in range(100)]
        for one in opened:
            with suppress(ConnectionError):
                one.sendall(begun)
        with client(local) as web:
            assert web.get("/healthz").status_code == 200
            assert web.get("/api/corpora").status_code == 200
        assert sum(is_open(one, 0.02) for one in opened) <= 20


# A file of no known format, or one that is too large, is refused alone, in the job's report.
def test_one_refused_file(local: str, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphreader.web.corpora.MAX_BYTES", 1_000)
    files = {
        "a.txt": b"Alpha met Beta here.",
        "b.exe": b"PK\x03\x04",
        "c/Makefile": b"all:",
        "large.jsonl": b'{"text": "Eta met Theta here."}\n' * 100,
        "reason.refused": b"<script>",
        "d.txt": b"Beta met Gamma here.",
    }
    documents = f"/api/corpora/{corpus}/documents"
    with client(local) as web:
        sent = web.post(documents, files=[("files", one) for one in files.items()])
        job = finished_job(web, sent.json()["job"])
        none = web.post(documents, files=[("files", ("b.exe", b"PK"))])
        web.delete(f"/api/corpora/{corpus}")

    report = {one["source"]: one for one in job["report"]["documents"]}
    assert job["state"] == "finished"
    assert {name: report[f"upload:{name}"]["status"] for name in files} == {
        name: "read" if name in ("a.txt", "d.txt") else "refused" for name in files
    }
    assert "of no known format" in report["upload:b.exe"]["error"]
    assert "more than the limit" in report["upload:large.jsonl"]["error"]
    assert none.status_code == 422


# A search after the day's limit embeds nothing, in whatever way it is asked for.
def test_searches_after_the_limit(
    guarded: str, token: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with client(guarded, token("writer", calls=1)) as web:
        before = web.get(f"/api/corpora/{OWN}/key-elements", params={"text": "Alpha"})
        element = before.json()["key_elements"][0]["id"]
        web.post(f"/api/corpora/{OWN}/questions", json=QUESTION)
        embedded: list[Any] = []

        async def embed(self: Any, texts: Any) -> Any:
            embedded.append(texts)
            raise AssertionError("embedded")

        monkeypatch.setattr("graphreader.offline.embedder.OfflineEmbedder.embed", embed)
        after = web.get(f"/api/corpora/{OWN}/key-elements", params={"text": "Nowhere"})
        page = web.get(f"/corpora/{OWN}/search", params={"text": "Nowhere"})
        known = web.get(f"/api/corpora/{OWN}/key-elements/{element}/facts")
        unknown = [
            web.get(f"/api/corpora/{OWN}/key-elements/nowhere/facts"),
            web.get(f"/api/corpora/{OWN}/key-elements/nowhere/neighbors"),
            web.get(f"/corpora/{OWN}/elements/nowhere"),
        ]
        retried = web.post(f"/api/corpora/{OWN}/retry")
        by_mcp = tool(web, "search_key_elements", text="Nowhere")
        facts_by_mcp = tool(web, "read_facts", key_element="nowhere")

    assert (before.status_code, after.status_code, page.status_code) == (200, 429, 429)
    assert (known.status_code, retried.status_code) == (200, 429)
    assert [one.status_code for one in unknown] == [404] * 3
    assert "are used up" in by_mcp
    assert "no key element" in facts_by_mcp
    assert embedded == []


# A disk without room is told in a sentence, and nothing of the upload stays.
def test_no_room_for_an_upload(local: str, web_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path, number: int, name: str) -> Any:
        (folder / str(number)).mkdir(parents=True)
        return open("/dev/full", "wb")

    monkeypatch.setattr("graphreader.web.corpora.open_numbered", full)
    texts = {"documents": [{"id": "n", "text": "Eta met Alpha here."}]}
    with client(local) as web:
        answers = [
            web.post(DOCUMENTS, files=[("files", ("a.txt", b"Alpha met Beta here." * size))])
            for size in (1, 100_000)
        ]
        answers.append(web.post(DOCUMENTS, json=texts))

    for one in answers:
        assert (one.status_code, one.json()["detail"][:32]) == (
            507,
            "The disk of the server is full: ",
        )
    assert not list((web_home / "uploads").iterdir())


# A home without room ends no server: it answers, says why texts cannot be added, and adds them
# when there is room.
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="mounts a disk")
def test_a_full_home(neo4j: Settings, tmp_path: Path) -> None:
    home, texts = tmp_path / "home", {"documents": [{"id": "n", "text": "Eta met Alpha here."}]}
    with disk(home, "size=2m"):
        (home / "filler").write_bytes(b"")
        with (home / "filler").open("wb") as filler, suppress(OSError):
            filler.write(bytes(4 << 20))
        with serving(reader_of(neo4j, home)) as address, client(address) as web:
            corpus = f"test-{uuid4().hex[:12]}"
            documents = f"/api/corpora/{corpus}/documents"
            refused = web.post(documents, json=texts)
            asked = web.post(f"/api/corpora/{OWN}/questions", json=QUESTION)
            jobs = web.get("/api/jobs")
            (home / "filler").unlink()
            time.sleep(5)
            added = finished_job(web, web.post(documents, json=texts).json()["job"])
            web.delete(f"/api/corpora/{corpus}")

    assert refused.status_code in (503, 507)
    assert refused.json()["detail"].endswith((".", "again."))
    assert asked.status_code == 200
    assert jobs.status_code in (200, 503)
    assert added["state"] == "finished"


# A job stops to spend when its token is revoked, has expired, or opens less than before, and says
# so in one sentence.
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (ENDS["revoked"], "is revoked: use another one."),
        (ENDS["expired"], "has expired: use another one."),
        ("UPDATE tokens SET role = 'reader' WHERE name = ?", "may not change this corpus"),
        ("UPDATE tokens SET created = created + 1 WHERE name = ?", "is revoked: use another"),
    ],
    ids=["revoked", "expired", "another role", "another token of the name"],
)
def test_a_job_without_its_token(
    neo4j: Settings, tmp_path: Path, statement: str, words: str
) -> None:
    corpus, extract = f"test-{uuid4().hex[:12]}", Gate(world.extraction(world.RING_FACTS))
    decider = world.scripted(world.RING_FACTS, {world.ExtractionTask: extract})
    text = world.text_of([f"Anna{n} met Bert{n} in Town{n}." for n in range(60)])
    tokens = TokenStore(tmp_path / "tokens.sqlite")
    writer, admin = tokens.create("anna", "writer", [corpus]), tokens.create("boss", "admin")
    slow = world.reader(neo4j, OWN, decider, home=tmp_path)
    with (
        serving(slow, tokens=True) as address,
        client(address, writer) as web,
        client(address, admin) as boss,
        extract.held(),
    ):
        sent = web.post(f"/api/corpora/{corpus}/documents", files=[("files", ("a.txt", text))])
        extract.wait()
        with closing(sqlite3.connect(tmp_path / "tokens.sqlite")) as file:
            file.execute(statement, ["anna"])
            file.commit()
        if "role" not in statement:
            extract.open.set()
        job = finished_job(boss, sent.json()["job"])
        extract.open.set()
        boss.delete(f"/api/corpora/{corpus}")

    assert job["state"] == "failed"
    assert words in job["error"]
    assert extract.waiting < 60
    assert not list((tmp_path / "uploads").iterdir())


# Servers with and without tokens on one home do their own jobs alone; no token can take the name
# of those who need none.
async def test_jobs_of_other_servers(tmp_path: Path) -> None:
    store = JobStore(tmp_path / "jobs.sqlite")
    for number, holder in enumerate(["local", "anna"]):
        await store.add(Job(holder, OWN, holder, (), "queued", number, number), tmp_path)
    found = []
    for with_tokens in (True, False):
        job = await store.claim(with_tokens=with_tokens)
        assert job
        found.append(job.holder)
        await store.release(job)
        await store.change(job.job, "finished")
        assert await store.claim(with_tokens=with_tokens) is None
    await store.aclose()

    assert found == ["anna", "local"]
    with pytest.raises(UsageError, match="choose another"):
        TokenStore(tmp_path / "tokens.sqlite").create("local", "admin")


_RECEIVING = """
import asyncio, sys, pathlib
from graphreader.web.jobs import JobStore
async def receive():
    assert await JobStore(pathlib.Path(sys.argv[1])).lock_upload("received")
    print("locked", flush=True)
    await asyncio.sleep(60)
asyncio.run(receive())
"""


# What a killed server has received in part is deleted at the next start; what another process
# is receiving stays, and what waits for a job does.
async def test_uploads_that_were_cut(neo4j: Settings, tmp_path: Path) -> None:
    store = JobStore(tmp_path / "jobs.sqlite")
    await store.add(Job("waiting", OWN, "anna", ("a.txt",), "queued", 0.0, 0.0), tmp_path)
    await store.aclose()
    for name in ("cut", "received", "waiting"):
        (tmp_path / "uploads" / name / "0").mkdir(parents=True)
        (tmp_path / "uploads" / name / "0" / "a.txt").write_text("Alpha met")
    command = [sys.executable, "-c", _RECEIVING, tmp_path / "jobs.sqlite"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout
        assert other.stdout.readline() == b"locked\n"
        with serving(reader_of(neo4j, tmp_path)) as address, client(address) as web:
            while (tmp_path / "uploads" / "cut").exists():
                await asyncio.sleep(0.02)
            left = {one.name for one in (tmp_path / "uploads").iterdir()}
            other.kill()
        with serving(reader_of(neo4j, tmp_path)) as address, client(address) as web:
            while (tmp_path / "uploads" / "received").exists():
                await asyncio.sleep(0.02)
            web.post("/api/jobs/waiting/cancel")

    assert left == {"received", "waiting"}
    assert not list((tmp_path / "uploads").iterdir())


# The files that wait have a bound of their bytes, whoever sends them and however small they are.
def test_bytes_of_waiting_uploads(
    neo4j: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_jobs, "MOST_WAITING", 100_000)
    corpus, extract = f"test-{uuid4().hex[:12]}", Gate(world.extraction(world.RING_FACTS))
    decider = world.scripted(world.RING_FACTS, {world.ExtractionTask: extract})
    slow = world.reader(neo4j, OWN, decider, home=tmp_path)
    documents = f"/api/corpora/{corpus}/documents"
    small = [("files", (f"{n}.txt", f"Alpha{n} met Beta{n} here.")) for n in range(12)]
    with serving(slow) as address, client(address) as web, extract.held():
        first = web.post(documents, files=small)
        second = web.post(documents, files=small)
        third = web.post(documents, files=small)
        large = web.post(documents, files=[("files", ("a.txt", b"Alpha. " * 20_000))])
        endless = web.post(documents, content=iter([PART]), headers=MULTIPART)
        extract.open.set()
        for one in (first, second):
            finished_job(web, one.json()["job"])
        again = web.post(documents, files=small)
        finished_job(web, again.json()["job"])
        web.delete(f"/api/corpora/{corpus}")

    statuses = [one.status_code for one in (first, second, third, large, endless, again)]
    assert statuses == [202, 202, 429, 429, 429, 202]
    assert "wait until a job has ended" in third.json()["detail"]


# No reply shows a path of the server's machine: of texts that were read there, and of its home.
def test_paths(neo4j: Settings, tmp_path: Path) -> None:
    corpus, fails = f"test-{uuid4().hex[:12]}", [True]

    def extract(task: Any) -> Any:
        if fails[0]:
            raise ReplyError("The model does not make sense.")
        return world.extraction(world.RING_FACTS)(task)

    texts = world.write_files(tmp_path / "secret" / "texts", {"ring": list(world.RING_FACTS)})
    (tmp_path / "secret" / "texts" / "more.jsonl").write_text('{"id": "n/1", "text": "Eta."}')
    home = tmp_path / "secret" / "home"
    home.mkdir()
    (home / "runs.sqlite").write_bytes(b"no database" * 1_000)
    script = {world.ExtractionTask: extract, TurnTask: lambda _: Turn.model_validate(ANSWER)}
    decider = world.scripted(world.RING_FACTS, script)
    with world.reader(neo4j, corpus, decider, home=home, mode="adaptive", kept_runs=9) as reader:
        reader.ingest(texts)
    other = world.reader(neo4j, corpus, decider, home=home, mode="adaptive", kept_runs=9)
    with serving(other) as address, client(address) as web:
        listed = web.get(f"/api/corpora/{corpus}/documents")
        document = listed.json()["documents"][0]["id"]
        chunk = f"/api/corpora/{corpus}/documents/{document}/chunks/0"
        shown = [listed, web.get(chunk), web.get(f"/corpora/{corpus}/documents")]
        fails[0] = False
        job = web.post(f"/api/corpora/{corpus}/retry").json()["job"]
        report = finished_job(web, job)["report"]["documents"]
        answered = web.post(f"/api/corpora/{corpus}/questions", json=QUESTION)
        shown += [web.get("/api/jobs"), answered, web.get(f"/api/corpora/{corpus}/runs")]
        shown += [web.get(f"/corpora/{corpus}/documents/{document}")]
        by_mcp = tool(web, "list_documents", corpus)
        by_mcp += tool(web, "read_chunk", corpus, document=document, chunk=0)
        web.delete(f"/api/corpora/{corpus}")

    assert {one["source"] for one in listed.json()["documents"]} == {
        "texts/ring.txt",
        "texts/more.jsonl#n/1",
    }
    assert "home/runs.sqlite cannot be" in str(answered.json()["notes"])
    assert {one["status"] for one in report} == {"read"}
    assert "texts/ring.txt" in by_mcp
    for text in (*(one.text for one in shown), by_mcp):
        assert str(tmp_path) not in text
        assert "secret" not in text


# While plain texts without line ends, without words or without letters are decoded and cut into
# chunks, the server answers others.
@pytest.mark.parametrize("unit", ["x", "word ", "\n"], ids=["a word", "a line", "line ends"])
def test_large_plain_text(neo4j: Settings, tmp_path: Path, unit: str) -> None:
    corpus = f"test-{uuid4().hex[:12]}"
    text = b"Alpha met Beta here." + unit.encode() * (5_000_000 // len(unit)) + b"."
    decider = world.scripted(world.RING_FACTS, {})
    reader = world.reader(neo4j, corpus, decider, home=tmp_path, chunk_tokens=4_000)
    waits = []
    with serving(reader) as address, client(address) as web, client(address) as other:
        files = [("files", ("a.txt", text))]
        job = web.post(f"/api/corpora/{corpus}/documents", files=files).json()["job"]
        while (found := other.get(f"/api/jobs/{job}").json())["state"] in ("queued", "running"):
            began = time.monotonic()
            assert other.get("/healthz").status_code == 200
            waits.append(time.monotonic() - began)
            if any(one.get("done", 1) for one in found["progress"].get("documents", [])):
                web.post(f"/api/jobs/{job}/cancel")
            time.sleep(0.05)

    # A server that reads the text itself answers after 10 s or more; a thread that shares the
    # interpreter with it on a busy machine delays an answer by up to 4 s.
    assert max(waits) < 8
