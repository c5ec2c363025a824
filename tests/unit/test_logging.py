"""The log without and with `--log-level` and `--debug`."""

import io
import json
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from graphreader.cli.log import LogLevel, set_up_logging, set_up_server_logging
from tests.terminal import Keyboard, same_logging


@contextmanager
def shown(level: LogLevel | None = "info", debug: bool = False) -> Iterator[logging.Logger]:
    """A logger whose lines are shown on what `sys.stderr` is now."""
    with same_logging(), warnings.catch_warnings():
        logging.root.handlers[:] = []
        set_up_logging(level, debug=debug)
        yield logging.getLogger("graphreader.agent")


# Our messages are logged from the level on, those of libraries from WARNING on, none without an
# option. `--debug` means INFO, and lets Python's warnings through.
@pytest.mark.parametrize(
    ("level", "debug", "lines"),
    [
        (None, False, []),
        ("debug", False, ["detail", "news", "trouble", "gone"]),
        ("warning", False, ["trouble", "gone"]),
        (None, True, ["news", "trouble", "gone"]),
        ("error", True, []),
    ],
)
def test_levels(
    monkeypatch: pytest.MonkeyPatch, level: LogLevel | None, debug: bool, lines: list[str]
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    with shown(level, debug) as logger:
        for number, word in ((10, "detail"), (20, "news"), (30, "trouble")):
            logger.log(number, word)
        logging.getLogger("httpx").info("GET it")
        logging.getLogger("neo4j.pool").warning("gone")
        is_quiet = warnings.filters[0][0] == "ignore"

    assert [line.rpartition(" ")[2] for line in out.getvalue().splitlines()] == lines
    assert is_quiet == (not debug)


# Lines have time, level and logger; neither secrets nor control characters; and no text in them
# can pass for a line of its own.
def test_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "my-secret-1")
    with shown() as logger:
        logger.info("a\x1b[2J %s\n2026 ERROR b", "my-secret-1 http://me:secret@host/")
        try:
            raise ValueError("my-secret-1")
        except ValueError:
            logger.exception("c")
    first, second, *rest = out.getvalue().splitlines()

    assert first.endswith(" INFO    graphreader.agent: a [2J *** http://***@host/")
    assert second == "    2026 ERROR b"
    assert rest[0].endswith(" ERROR   graphreader.agent: c")
    assert all(line.startswith("    ") for line in rest[1:])
    assert rest[-1] == "    ValueError: ***"


# A server's log can be JSON: an object a line, without secrets and without an exception's words.
def test_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "my-secret-1")
    with shown(None) as logger:
        set_up_server_logging(as_json=True)
        logger.info("a\n%s", "my-secret-1", extra={"status": 200, "token": "anna"})
        try:
            raise ValueError("a question".upper())
        except ValueError:
            logger.exception("c")
    first, second = map(json.loads, out.getvalue().splitlines())

    assert first.pop("time").endswith("+00:00")
    logged = {"level": "info", "logger": "graphreader.agent", "message": "a\n***"}
    assert first == {**logged, "status": 200, "token": "anna"}
    assert (second["level"], second["error"]) == ("error", "ValueError")
    assert "test_json_lines" in second["trace"][0]
    assert "A QUESTION" not in out.getvalue()


# A live display in a terminal stands for stderr meanwhile, and gets the lines, to put them above
# itself. A file gets them whatever is shown elsewhere.
@pytest.mark.parametrize("terminal", [True, False])
def test_lines_and_live_displays(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    stderr, live = Keyboard() if terminal else io.StringIO(), Keyboard()
    monkeypatch.setattr(sys, "stderr", stderr)
    with shown() as logger:
        logger.info("before")
        monkeypatch.setattr(sys, "stderr", live)
        logger.info("meanwhile")

    assert "before" in stderr.getvalue()
    assert ("meanwhile" in live.getvalue()) == terminal
    assert ("meanwhile" in stderr.getvalue()) != terminal
