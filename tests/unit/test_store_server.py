"""What the embedded Neo4j's process is asked, without a server."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from graphreader.store.embedded import server as embedded
from graphreader.store.embedded.process import Access


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
