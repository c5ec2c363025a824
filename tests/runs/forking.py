"""The process out of which `forks` gets its commands: it has loaded all that they need.

It reads one JSON object a line: a command to be started, or the number of a process to be looked
after. It answers each with one line: the number of the process, or the exit code (null: it runs).
"""

import asyncio
import atexit
import gc
import itertools
import json
import logging
import os
import resource
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import genai_prices.data  # noqa: F401  # as the next ones: loaded for those who are forked from here
from langchain_openai import ChatOpenAI
from openai import APIConnectionError
from pydantic import SecretStr

from graphreader import (
    mcp_server,  # noqa: F401
    tokens,
)
from graphreader.cli.main import main
from graphreader.evaluation.metrics.answers import rouge
from graphreader.store import connection
from graphreader.web import app  # noqa: F401
from tests.runs import forks  # noqa: F401
from tests.terminal import closed_port


def serve() -> None:
    """Start and look after commands until nobody asks any more."""
    asyncio.run(warm())
    gc.collect()
    gc.freeze()  # a collection in a fork would copy all that is loaded here
    for line in sys.stdin:
        request = json.loads(line)
        if "process" in request:
            answer = _code(request["process"])
        else:
            answer = os.fork()
            if answer == 0:
                return _run(**request)
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


async def warm() -> None:
    """Load what is loaded only when it is first used: ranks of tokens, an HTTP client's parts."""
    tokens.count("one")
    rouge("one", ["one"], "en")
    nobody = f"http://127.0.0.1:{closed_port()}/v1"
    with suppress(APIConnectionError):
        await ChatOpenAI(
            model="nobody", base_url=nobody, api_key=SecretStr("none"), max_retries=0
        ).ainvoke("Is anybody there?")


def _code(process: int) -> int | None:
    ended, status = os.waitpid(process, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _run(
    environment: dict[str, str],
    arguments: list[str],
    out: str,
    err: str,
    stdin: str = os.devnull,
    largest: int = 0,
    jumps: float = 0.0,
) -> None:
    """Be the command from here on, with outputs and an environment of its own."""
    logging.root.handlers.clear()  # which a library made while it was loaded
    connection.SLOW_SECONDS = 60.0  # nothing is said of a busy machine
    if largest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    if jumps:
        _let_clock_jump(jumps)
    os.environ.clear()
    os.environ.update(environment)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, path in ((0, stdin), (1, out), (2, err)):
        # A pipe that is open for writing, too, has no end.
        os.dup2(os.open(path, flags if number else os.O_RDWR), number)
    streams: Any = sys
    streams.stdin = os.fdopen(0)
    streams.stdout = os.fdopen(1, "w", encoding="utf-8")
    streams.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
    sys.argv = ["graphreader", *arguments]
    try:
        main()
    except SystemExit as end:
        # To take down all that is loaded would take longer than the command.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        streams.stdout.flush()
        streams.stderr.flush()
        os._exit(int(end.code or 0))


def _let_clock_jump(seconds: float) -> None:
    """Set the clock of this process back and forth, at each look at it."""
    now, now_ns = time.time, time.time_ns
    leaps = itertools.cycle((0.0, -seconds, seconds))
    setattr(time, "time", lambda: now() + next(leaps))  # noqa: B010
    setattr(time, "time_ns", lambda: now_ns() + int(1e9 * next(leaps)))  # noqa: B010


if __name__ == "__main__":
    serve()
