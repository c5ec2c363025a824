"""Every block of every document is run, in the order of its page, but for those that are listed."""

import ast
import gc
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock
from neo4j import READ_ACCESS, AsyncDriver, GraphDatabase

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.project.markdown import Block, all_blocks, pages, read
from tests.project.shell import Shell, same_environment
from tests.project.world import prepare
from tests.terminal import environment_of, same_logging

# Blocks that are not run: the page, words that no other block of it has, and why.
NOT_RUN = (
    ("README.md", "docker compose up", "Docker"),
    ("docs/start.md", "uv venv", "installs"),
    ("docs/start.md", "python3 -m venv .venv", "installs"),
    ("docs/start.md", "OPENAI_API_KEY", "a key"),
    ("docs/your-files.md", 'pip install -e ".[documents]"', "installs"),
    ("docs/neo4j-in-production.md", "docker compose up", "Docker"),
    ("docs/neo4j-in-production.md", "docker compose stop", "Docker"),
    ("docs/studio.md", "make studio", "a server"),
    ("docs/studio.md", "get_sync_client", "a server"),
    ("cypher/README.md", "docker compose exec", "Docker"),
)
OTHERS = ("ANTHROPIC_", "LANGSMITH_", "OTEL_")  # variables that are not ours to check
USER = os.getuid() if hasattr(os, "getuid") else "user"
LOCK = Path(tempfile.gettempdir(), f"graphreader-documents-{USER}.lock")
SHOWN = ("", "text", "mermaid")
# The variables of tracing, which are not ours.
TRACING = {
    *(f"LANGSMITH_{name}" for name in ("TRACING", "API_KEY", "PROJECT")),
    *("LANGSMITH_OTEL_ENABLED", "LANGSMITH_OTEL_ONLY"),
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME"),
}
# What differs from run to run.
CHANGING = re.compile(r"\d+\.\d+ s\b|\b[0-9a-f]{12,64}\b|[─━]{3,}")


def not_run(block: Block) -> bool:
    """Whether a block is one of the list."""
    return any(block.page == page and words in block.text for page, words, _ in NOT_RUN)


class Page:
    """A page on its way: one shell, one Python, and what the block before printed."""

    def __init__(self, shell: Shell, settings: Settings, capfd: pytest.CaptureFixture[str]) -> None:
        self._shell = shell
        self._settings = settings
        self._capfd = capfd
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed = ""
        self._runs: dict[str, Callable[[Block], None]] = {
            "sh": self._sh,
            "python": self._python,
            "cypher": self._cypher,
            "json": lambda block: json.loads(block.text),
            "jsonl": lambda block: [json.loads(line) for line in block.text.splitlines()],
            "toml": lambda block: tomllib.loads(block.text),
            "yaml": lambda block: yaml.safe_load(block.text),
            "dotenv": self._dotenv,
        }

    def run(self, block: Block) -> None:
        """Run a block, or compare what it shows; a language that nobody knows is a mistake."""
        if block.language in SHOWN:
            if block.mark == "output":
                assert fits(block.text, self._printed), f"{block} shows not\n{self._printed}"
        elif not not_run(block):
            self._runs[block.language](block)

    def forget(self) -> None:
        """Let go of what the Python of the page still holds."""
        self._names.clear()
        gc.collect()

    def _sh(self, block: Block) -> None:
        self._printed = self._shell.run(block.text)

    def _python(self, block: Block) -> None:
        code = compile("\n" * (block.line - 1) + block.text, block.page, "exec")
        self._capfd.readouterr()
        with same_environment():
            exec(code, self._names)
        self._printed = "".join(self._capfd.readouterr())

    def _cypher(self, block: Block) -> None:
        if query := re.sub(r"^:.*$", "", block.text, flags=re.MULTILINE).strip():
            found = rows(self._settings, query, parameters(block.text))

            assert found, f"{block} finds nothing"

    def _dotenv(self, block: Block) -> None:
        given = dict(re.findall(r"^#?(\w+)=(.*)$", block.text, re.MULTILINE))
        known = {"ANTHROPIC_API_KEY", *TRACING, *variables()}

        assert set(given) <= known, block


def variables() -> Iterator[str]:
    """The variables of all settings, as the table of the page of settings has them."""
    yield from re.findall(r"^\| `([A-Z0-9_]+)` \|", read("docs/settings.md"), re.MULTILINE)


def parameters(text: str) -> dict[str, Any]:
    """What `:param` lines, or comments of such, set."""
    lines = re.findall(r"^(?:// )?:param (\w+) => (.+?);?$", text, re.MULTILINE)
    return {name: ast.literal_eval(value) for name, value in lines}


def rows(settings: Settings, query: str, values: dict[str, Any]) -> list[Any]:
    """What a statement finds."""
    entry = environment_of(settings)
    user = entry["NEO4J_USERNAME"], entry["NEO4J_PASSWORD"]
    with GraphDatabase.driver(
        entry["NEO4J_URI"], auth=user, notifications_min_severity="OFF"
    ) as driver:
        return driver.execute_query(query.rstrip(";"), values).records


def corpora_of(page: str) -> set[str]:
    """The corpora that a page names, and those of commands and examples that name none."""
    named = re.findall(r"--corpus (\w[\w.-]*)|GraphReader\((?:corpus=)?\"([^\"]+)\"", read(page))
    return {"default", "demo", "my-files", "in-your-code"} | {
        first or second for first, second in named
    }


def delete(reader: GraphReader, corpora: set[str]) -> None:
    """Take them out, if they are there."""
    for corpus in corpora & {one.corpus for one in reader.corpora()}:
        reader.corpus = corpus
        reader.delete(everything=True)


def refuse(reader: GraphReader, corpora: set[str]) -> None:
    """Fail where any of them is there: it is somebody's own, and a page would change it."""
    if found := sorted(corpora & {one.corpus for one in reader.corpora()}):
        pytest.fail(
            f"The Neo4j of the tests has corpora that this page reads into: {', '.join(found)}. "
            "Name another server, or delete them: `graphreader delete --all --corpus NAME`.",
            pytrace=False,
        )


def fits(shown: str, printed: str) -> bool:
    """Whether output is what the page shows; `...` in it stands for anything."""
    wanted = re.escape(plain(shown)).replace(re.escape("..."), ".*?")
    return bool(re.fullmatch(wanted, plain(printed), re.DOTALL))


def plain(text: str) -> str:
    """Text without what changes: times, ids, the ends of lines."""
    lines = [CHANGING.sub("~", line).rstrip() for line in text.strip().splitlines()]
    return "\n".join(lines)


@pytest.fixture
def folder(
    page: str,
    neo4j: Settings,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Path]:
    """What the page names, a home of its own, and the server, where none of its corpora may be yet.

    They are taken out again, whatever came of the page. One page at a time, also of other
    processes: they would take each other's corpora away.
    """
    prepare(tmp_path)
    variables = {**environment_of(neo4j), "COLUMNS": "80"}
    variables["GRAPHREADER_HOME"] = str(tmp_path_factory.mktemp("home"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with FileLock(LOCK), GraphReader(settings=neo4j) as reader:
        refuse(reader, corpora_of(page))
        yield tmp_path
        delete(reader, corpora_of(page))


# Every command, program and statement of a page runs as it stands, and shown output is real.
# langchain-neo4j warns of its own next version, and its vector store cannot be closed.
@pytest.mark.filterwarnings("ignore:The default returned 'id' field:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:unclosed  BoltDriver:ResourceWarning")
@pytest.mark.parametrize("page", pages())
def test_blocks_run(
    page: str,
    folder: Path,
    neo4j: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with same_logging():
        running = Page(Shell(monkeypatch, capfd, folder), neo4j, capfd)
        for block in all_blocks(page):
            try:
                running.run(block)
            except BaseException as error:
                error.add_note(f"in the block at {block}")
                raise
        running.forget()


# A corpus that somebody else has made is neither changed nor deleted: its page is not run, and who
# runs the tests learns what to do.
def test_corpora_of_others(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    prepare(tmp_path)
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(tmp_path / "mybooks" / "teacher.txt")
        refuse(reader, {"no-such-corpus"})
        with pytest.raises(pytest.fail.Exception, match=f"reads into: {corpus}\\."):
            refuse(reader, {"no-such-corpus", corpus})
        left = [one.title for one in reader.documents()]
        delete(reader, {corpus})

    assert left == ["teacher"]


# The list of blocks that are not run is exact: each entry is one block of its page.
@pytest.mark.parametrize(("page", "words", "why"), NOT_RUN)
def test_the_list_is_exact(page: str, words: str, why: str) -> None:
    found = [one for one in all_blocks(page) if words in one.text and one.language not in SHOWN]

    assert len(found) == 1
    assert why in {"installs", "Docker", "a key", "a browser", "a server"}


# No fence is hidden from the tests by standing further in, or by another kind of mark.
@pytest.mark.parametrize("page", pages())
def test_all_blocks_are_seen(page: str) -> None:
    fences = re.findall(r"^\s*(?:```|~~~)", read(page), re.MULTILINE)

    assert len(fences) == 2 * len(all_blocks(page))


# A user who may only read can do all that the page on production says: Neo4j refuses writes in
# sessions that read, and no other is opened.
def test_asking_only_reads(
    neo4j: Settings, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path)
    opened = set()
    session = AsyncDriver.session

    def noted(driver: AsyncDriver, **options: Any) -> Any:
        opened.add(options.get("default_access_mode"))
        return session(driver, **options)

    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(tmp_path / "mybooks" / "teacher.txt")
    with monkeypatch.context() as watched, GraphReader(corpus, settings=neo4j) as reader:
        watched.setattr(AsyncDriver, "session", noted)
        answered = reader.ask("Where was Vera Holm born?").answered
        found = reader.search("Bergen"), reader.documents(), reader.stats(), reader.corpora()
        reader.export(tmp_path / "export.jsonl")
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.delete(everything=True)

    assert answered
    assert all(found)
    assert opened == {READ_ACCESS}
