"""What the embedded Neo4j's process is asked, without a server."""

import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, NoReturn

import psutil
import pytest

from graphreader.errors import ServerError
from graphreader.settings import Settings
from graphreader.store.embedded import server as embedded
from graphreader.store.embedded.process import Access, ServerHome, end, launch, set_password


# A program that took the port, or a server that is coming up, may answer anything.
@pytest.mark.parametrize(
    ("reply", "version"),
    [
        ('{"neo4j_version": "5.26.30"}', "5.26.30"),
        *((reply, None) for reply in ("", "null", "[]", "{}")),
    ],
)
def test_replies(reply: str, version: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(reply.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    monkeypatch.setattr(embedded, "_speaks_bolt", lambda port: True)
    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = Thread(target=http.handle_request)
        thread.start()
        access = Access(1, http.server_port, "neo4j", "secret")
        answered = embedded._answered_version(access)
        thread.join()

    assert answered == version


# Java that does not start or end is an error that says what to do.
@pytest.mark.parametrize(
    "failure", [OSError(8, "Exec format error"), subprocess.TimeoutExpired("java", 300)]
)
def test_failing_java(failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise failure

    home = ServerHome(tmp_path, "2026.08.1")
    home.logs.mkdir()
    monkeypatch.setattr(subprocess, "run", fail)
    monkeypatch.setattr(subprocess, "Popen", fail)

    with pytest.raises(ServerError, match="set NEO4J_URI to a Neo4j of your own"):
        set_password(home, tmp_path, Access(1, 2, "neo4j", "secret"))
    with pytest.raises(ServerError, match="set NEO4J_URI to a Neo4j of your own"):
        launch(home, tmp_path, Settings.read())


# So is a server that only another user may end.
def test_foreign_server() -> None:
    def refuse() -> NoReturn:
        raise psutil.AccessDenied(7)

    process: Any = SimpleNamespace(pid=7, terminate=refuse, kill=refuse)
    with pytest.raises(ServerError, match=r"process 7.*set NEO4J_URI to a Neo4j of your own"):
        end(process)
