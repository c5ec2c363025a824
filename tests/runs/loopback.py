"""What the tests' servers have in common: HTTP on a free port of loopback, with threads, quiet."""

import json
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Loopback:
    """Serves from entering to leaving; its handlers find it as `self.server.fake`."""

    def __init__(self, handler: "type[Handler]") -> None:
        self._http = _Http(("127.0.0.1", 0), handler)
        self._http.fake = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    fake: Any

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Quiet where a client hung up; a mistake of the test's own script is printed."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """A connection that stays open, on which what is sent at once leaves at once."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 5
    server: _Http

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def body(self) -> bytes:
        """What the request brings."""
        return self.rfile.read(int(self.headers["content-length"]))

    def send(self, status: int, content: object, headers: Mapping[str, str] | None = None) -> None:
        """Answer with one JSON value."""
        data = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin_stream(self, kind: str) -> None:
        """The end of the head of an answer in parts."""
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def send_part(self, part: bytes) -> None:
        """One part; the empty one is the end."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        self.wfile.flush()
