"""The log: who writes it, what becomes of it without and with `--log-level` and `--debug`."""

import ast
import io
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import graphreader
from graphreader.cli.app import LogLevel, set_up_logging
from tests.terminal import Keyboard, same_logging

IMPORTER = """
import importlib, logging, pkgutil
import graphreader
for one in pkgutil.walk_packages(graphreader.__path__, "graphreader."):
    if one.name != "graphreader.__main__":
        importlib.import_module(one.name)
known = {name: logging.getLogger(name) for name in logging.root.manager.loggerDict}
ours = {name: one for name, one in known.items() if name.startswith("graphreader")}
assert {"graphreader", "graphreader.agent", "graphreader.store"} <= ours.keys()
assert not any(one.level for one in ours.values())
print([f"{name} {type(one).__name__}" for name, logger in ours.items() for one in logger.handlers])
"""


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
    assert {name for _, name in ours} >= {
        "graphreader.agent",
        "graphreader.llm",
        "graphreader.ingestion",
        "graphreader.store",
    }
    assert others == {
        ("graphreader/__init__.py", "__name__"),
        ("graphreader/baselines/retrieval.py", "bm25s"),
        ("graphreader/cli/app.py", ""),
        ("graphreader/ingestion/loading/formats.py", "pypdf"),
    }


# Who imports the package decides what becomes of its log: it sets no level and adds no handler that
# shows anything.
def test_importing_shows_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTER], check=False, capture_output=True, encoding="utf-8"
    )

    assert done.stdout == "['graphreader NullHandler']\n", done.stderr


@contextmanager
def shown(level: LogLevel | None = LogLevel.info, debug: bool = False) -> Iterator[logging.Logger]:
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
        (LogLevel.debug, False, ["detail", "news", "trouble", "gone"]),
        (LogLevel.info, False, ["news", "trouble", "gone"]),
        (LogLevel.warning, False, ["trouble", "gone"]),
        (LogLevel.error, False, []),
        (None, True, ["news", "trouble", "gone"]),
        (LogLevel.error, True, []),
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
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-1")
    with shown() as logger:
        logger.info("a\x1b[2J %s\n2026 ERROR b", "sk-secret-1 http://me:secret@host/")
        try:
            raise ValueError("sk-secret-1")
        except ValueError:
            logger.exception("c")
    first, second, *rest = out.getvalue().splitlines()

    assert first.endswith(" INFO    graphreader.agent: a [2J *** http://***@host/")
    assert second == "    2026 ERROR b"
    assert rest[0].endswith(" ERROR   graphreader.agent: c")
    assert all(line.startswith("    ") for line in rest[1:])
    assert rest[-1] == "    ValueError: ***"


# What lives in a terminal stands for stderr meanwhile, and gets the lines, to put them above
# itself. A file gets them whatever lives elsewhere.
@pytest.mark.parametrize("terminal", [True, False])
def test_lines_and_what_lives(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    stderr, living = Keyboard() if terminal else io.StringIO(), Keyboard()
    monkeypatch.setattr(sys, "stderr", stderr)
    with shown() as logger:
        logger.info("before")
        monkeypatch.setattr(sys, "stderr", living)
        logger.info("meanwhile")
        monkeypatch.setattr(sys, "stderr", stderr)
        logger.info("after")
    where = {"stderr": stderr.getvalue(), "living": living.getvalue()}

    assert "before" in where["stderr"]
    assert "after" in where["stderr"]
    assert "meanwhile" in where["living" if terminal else "stderr"]
    assert "meanwhile" not in where["stderr" if terminal else "living"]


# Texts that are logged are not put together where nobody reads them.
def test_cost_when_off() -> None:
    root = Path(graphreader.__path__[0])
    methods = {"debug", "info", "warning", "error", "exception", "log"}
    built = []
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                ours = ast.unparse(node.func.value) == "logger" and node.func.attr in methods
                if ours and any(isinstance(one, ast.JoinedStr) for one in node.args):
                    built.append(f"{path.name}:{node.lineno}")

    assert not built
