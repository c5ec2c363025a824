"""Shell blocks of documents, run as a person types them, but for the seconds that imports take.

`graphreader ...` runs in this process, also with one file as its input or for one of its outputs.
So do `python FILE.py ...`, and of `make demo` the commands that it runs, without what it installs.
Lines that need a shell (pipes, other tools) are given to bash, where the `graphreader` on the path
is the tested one. A line whose comment says `exit code 3` must end with that, any other with 0.
"""

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from examples.demo import QUESTION
from tests.terminal import Outcome, Terminal

_DEMO = (
    "graphreader ingest examples/joan_of_arc.txt --corpus demo",
    f"graphreader ask {shlex.quote(QUESTION)} --corpus demo --keep-run",
)

_NEEDS_A_SHELL = re.compile(r"[|&;<>()$`*?\\]")
_REDIRECTED = re.compile(r"(graphreader [^<>|]*) (<|>|2>) ([\w.]+)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")
_EXIT_CODE = re.compile(r"#.*\bexit code (\d+)")
_INSTALLS = {"make", "pip", "uv", "docker", "apt-get", "brew", "sudo", "source"}
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)")


def lines_of(text: str) -> Iterator[str]:
    """The commands of a block: a line each, with those that continue it or are its input."""
    rest = text.splitlines()
    while rest:
        line = rest.pop(0)
        while line.endswith("\\"):
            line = line[:-1] + rest.pop(0)
        if document := _HEREDOC.search(line):
            until = rest.index(document[1]) + 1
            line, rest = "\n".join([line, *rest[:until]]), rest[until:]
        if line.split("#")[0].split() == ["make", "demo"]:
            yield from _DEMO
        elif line.strip() and not line.lstrip().startswith("#"):
            yield line


def words_of(line: str) -> tuple[dict[str, str], list[str]]:
    """The assignments before a command, and the command itself, by its last name."""
    words = shlex.split(line.partition("\n")[0], comments=True)
    given: dict[str, str] = {}
    while words and (found := re.fullmatch(r"(\w+)=(.*)", words[0])):
        given[found[1]] = found[2]
        words = words[1:]
    return given, [Path(words[0]).name, *words[1:]] if words else []


class Shell:
    """A folder, and an environment that changes by `export` and `cd` alone."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], folder: Path
    ) -> None:
        self._terminal = Terminal(monkeypatch, capfd, folder)
        self._capfd = capfd

    def run(self, text: str) -> str:
        """Run a block; returns what it printed: on stderr, where a command says nothing else."""
        printed = []
        for line in lines_of(text):
            wanted = int(found[1]) if (found := _EXIT_CODE.search(line)) else 0
            done = self._line(line)
            said = done.out + done.err
            assert done.code == wanted, f"exit code {done.code} of: {line}\n{said}"
            printed.append(done.out or done.err)
        return "".join(printed)

    def _line(self, line: str) -> Outcome:
        given, words = words_of(line)
        assert not _INSTALLS.intersection(words[:1]), f"to be listed as not run: {line}"
        if found := _REDIRECTED.fullmatch(line):
            return self._redirected(*found.groups())
        simple = not _NEEDS_A_SHELL.search(_QUOTED.sub("", line.partition(" #")[0]))
        if simple and words[:1] == ["graphreader"]:
            with same_environment(given):
                return self._terminal.run(*words[1:])
        if simple and words[:1] == ["python"] and words[1].endswith(".py"):
            with same_environment(given):
                return self._script(words[1:])
        if words[:1] == ["export"]:
            os.environ.update(word.split("=", 1) for word in words[1:])
            return Outcome(0, "", "", 0)
        return self._bash(line)

    def _redirected(self, line: str, sign: str, name: str) -> Outcome:
        file = self._terminal.folder / name
        with file.open("w" if ">" in sign else "r", encoding="utf-8") as opened:
            if sign == "<":
                with patch.object(sys, "stdin", opened):
                    return self._line(line)
            done = self._line(line)
            opened.write(done.out if sign == ">" else done.err)
        return replace(done, **{"out" if sign == ">" else "err": ""})

    def _script(self, words: list[str]) -> Outcome:
        self._capfd.readouterr()
        code: int | str | None = 0
        with patch.object(sys, "argv", words), patch.object(sys, "path", list(sys.path)):
            sys.path.insert(0, str(Path(words[0]).parent))
            try:
                runpy.run_path(words[0], run_name="__main__")
            except SystemExit as ended:
                code = ended.code or 0
        out, err = self._capfd.readouterr()
        return Outcome(code, out, err, 0)

    def _bash(self, line: str) -> Outcome:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr, 0)


@contextmanager
def same_environment(given: Mapping[str, str] | None = None) -> Iterator[None]:
    """Set variables for a while; what is set meanwhile, from `.env` too, goes with them."""
    with patch.dict(os.environ, given or {}):
        yield
