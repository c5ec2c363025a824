"""Starts what LangGraph Studio talks to: `make studio`.

Neo4j comes first, where it is the embedded one. Then `langgraph dev` serves the graphs of
`langgraph.json` on loopback until Ctrl-C. It reports nothing to anybody: no analytics, no
check for newer versions, no usage, and no traces unless LANGSMITH_TRACING asks for them.
"""

import argparse
import logging
import os
import socket
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from graphreader.cli.startup import start_embedded
from graphreader.errors import GraphReaderError
from graphreader.settings import Settings, load_environment

HOST, PORT, JOBS = "127.0.0.1", 2024, 10
CONFIG = Path(__file__).parents[1] / "langgraph.json"
DISCREET = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    # Else a key for traces switches traces and usage reports on.
    "LANGSMITH_CONTROL_PLANE_API_KEY": "",
    "LOG_LEVEL": "WARNING",
    "LOG_COLOR": str(sys.stderr.isatty()),
}
WELCOME = """\
LangGraph Studio   https://smith.langchain.com/studio/?baseUrl={address}

Studio is a page that LangChain hosts: it needs an account there, and talks to this machine from
your browser. What works without it: the API ({address}/docs), langgraph-sdk, Neo4j Browser
(`graphreader browser`) and the report of a run (`graphreader ask ... --report FILE.html`).
Ctrl-C ends the server."""


def main() -> None:
    """Serve until Ctrl-C."""
    port = _port()
    if not (find_spec("langgraph_api") and find_spec("langgraph_cli")):
        sys.exit('The server is not installed: pip install -e ".[studio]" in the checkout.')
    if not _is_free(port):
        sys.exit(f"Port {port} is in use, or not ours to use. Another one: make studio PORT=2055")
    try:
        load_environment()
        settings = Settings.read()
        if not settings.neo4j_uri:
            start_embedded(settings)
    except GraphReaderError as error:
        sys.exit(str(error))
    for name, value in DISCREET.items():
        os.environ.setdefault(name, value)
    os.umask(0o077)  # the server keeps questions, notebooks and quotes in files of this folder
    threading.Thread(target=_tell, args=[port], daemon=True).start()
    _serve(port)
    print("Stopped.")


def _port() -> int:
    parser = argparse.ArgumentParser(description="Start what LangGraph Studio talks to.")
    parser.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}")
    port: int = parser.parse_args().port
    return port


def _is_free(port: int) -> bool:
    try:
        with socket.create_server((HOST, port)):
            return True
    except (OSError, OverflowError):
        return False


def _tell(port: int) -> None:
    """Say where Studio is, as soon as the server answers."""
    while not _answers(port):
        time.sleep(0.1)
    print(WELCOME.format(address=f"http://{HOST}:{port}"), flush=True)


def _answers(port: int) -> bool:
    connection = HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/ok")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _serve(port: int) -> None:
    """Be `langgraph dev`, which ends by itself on Ctrl-C."""
    logging.getLogger("langgraph_api.cli").setLevel(logging.WARNING)  # it greets at length
    server = ["--host", HOST, "--port", str(port), "--n-jobs-per-worker", str(JOBS)]
    options = ["--config", str(CONFIG), "--no-browser", "--no-reload"]
    import_module("langgraph_cli.cli").dev.main([*server, *options], standalone_mode=False)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
