"""The log: who writes it, what becomes of it without and with `--log-level` and `--debug`."""

import ast
import io
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import graphreader
from graphreader.cli.app import LogLevel, set_up_logging
from tests.terminal import Keyboard, same_logging


def loggers_of(path: Path) -> Iterator[str]:
    """The names for which a module asks for a logger; empty is the root's."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("getLogger"):
            yield ast.unparse(node.args[0]).strip("'") if node.args else ""


# A package has one logger, its subpackages use it, and no module has another one; a module beside
# the packages uses that of one of them. What is not of ours is spoken to in three places: the log
# that a person asks for, pypdf's and bm25s's.
def test_one_logger_a_package() -> None:
    root = Path(graphreader.__path__[0])
    asked = {
        (path.relative_to(root.parent), name)
        for path in root.rglob("*.py")
        for name in loggers_of(path)
    }
    others = {(str(path), name) for path, name in asked if "graphreader" not in name}
    ours = {(path, name) for path, name in asked if name.startswith("graphreader.")}
    packages = {(".".join(path.parts[:2]), name) for path, name in ours if len(path.parts) > 2}

    assert all(package == name for package, name in packages)
    assert {name for _, name in packages} == {name for _, name in ours}
    assert others == {
        ("graphreader/__init__.py", "__name__"),
        ("graphreader/baselines/retrieval.py", "bm25s"),
        ("graphreader/cli/app.py", ""),
        ("graphreader/ingestion/loading/formats.py", "pypdf"),
    }


@contextmanager
def shown(level: LogLevel | None = "info", debug: bool = False) -> Iterator[logging.Logger]:
    """A logger whose lines are shown on what `sys.stderr` is now."""
    with same_logging(), warnings.catch_warnings():
        logging.root.handlers[:] = []
        set_up_logging(level, debug=debug)
        yield logging.getLogger("graphreader.agent")


# Of ours everything from the level on is told, of libraries only what is wrong, of neither anything
# where nobody asks. `--debug` asks for INFO, and lets Python's warnings through.
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


# Lines hold when, how bad and who; neither secrets nor what a terminal obeys; and no text in them
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
