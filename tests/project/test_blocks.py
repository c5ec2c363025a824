"""Every block of every document runs, in the order of its page, but for those that are listed.

All blocks of a page run in this process, in a folder with what the pages name:

mybooks/        the texts of examples/mybooks, and Joan of Arc (a part of her, on most pages)
letters/        Markdown, and drafts that are to be left out
notes.txt       a few lines for standard input
questions.jsonl two questions, one of which the texts answer
examples/, cypher/   of this project
"""

import ast
import gc
import json
import os
import re
import shutil
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
from tests.project.markdown import ROOT, Block, all_blocks, pages, part_of_joan, read
from tests.project.shell import Shell, same_environment
from tests.terminal import environment_of, same_logging

pytestmark = pytest.mark.slow

# Blocks that are not run: the page, words that no other block of it has, and why.
NOT_RUN = (
    ("README.md", "docker compose up", "Docker"),
    ("docs/start.md", "uv venv", "installs"),
    ("docs/start.md", "python3 -m venv .venv", "installs"),
    ("docs/start.md", "OPENAI_API_KEY", "a key"),
    ("docs/your-files.md", 'pip install -e ".[documents]"', "installs"),
    ("docs/your-files.md", 'pip install -e ".[documents,ocr]"', "installs"),
    ("docs/your-files.md", "ingest https://", "the internet"),
    ("docs/your-files.md", "--watch", "no end"),
    ("docs/models-and-cost.md", "ingest --batch", "a key"),
    ("docs/neo4j-in-production.md", "docker compose up", "Docker"),
    ("docs/neo4j-in-production.md", "docker compose stop", "Docker"),
    ("docs/scaling.md", "--ray", "a cluster"),
    ("docs/serve.md", 'pip install -e ".[serve]"', "a server"),
    ("docs/serve.md", "curl", "a server"),
    ("docs/serve.md", "docker compose up", "Docker"),
    ("docs/serve.md", "OpenAI(", "a server"),
    ("docs/serve.md", "token create anna --role writer --corpus books --calls", "a server"),
    ("docs/serve.md", "GRAPHREADER_DATABASE", "several servers"),
    ("docs/studio.md", "make studio", "a server"),
    ("docs/studio.md", "get_sync_client", "a server"),
    ("cypher/README.md", "docker compose exec", "Docker"),
)
SHOWN = ("", "text", "mermaid")
# Pages that show what the whole text on Joan of Arc gives; a tenth of it is read in less time.
WHOLE = ("docs/start.md", "docs/models-and-cost.md")
USER = os.getuid() if hasattr(os, "getuid") else "user"
LOCK = Path(tempfile.gettempdir(), f"graphreader-documents-{USER}.lock")
# The variables of tracing and of a provider, which are not ours.
OTHER_VARIABLES = {
    *(f"LANGSMITH_{name}" for name in ("TRACING", "API_KEY", "PROJECT")),
    *("LANGSMITH_OTEL_ENABLED", "LANGSMITH_OTEL_ONLY", "ANTHROPIC_API_KEY"),
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME"),
}
# What differs from run to run.
CHANGING = re.compile(r"\d+\.\d+ s\b|\b[0-9a-f]{12,64}\b|[─━]{3,}")

FILES = {
    "letters/1933-04-02.md": (
        "---\nfrom: Emil Rask\n---\n\n# To Vera Holm\n\n"
        "Dear Vera, the school opened on Monday. Eleven pupils came to Malmö.\n"
    ),
    "letters/drafts/unsent.md": "Dear Vera, the roof leaks again.\n",
    "notes.txt": "The roof of the Malmö School was mended in May 1934 by Nils Berg.\n",
    "questions.jsonl": '{"id": "teacher", "question": "Who taught Emil Rask?"}\n'
    '{"id": "pope", "question": "Which pope canonized Joan of Arc?"}\n',
}


class Page:
    """A page on its way: one shell, one Python, and the output of the block before."""

    def __init__(self, shell: Shell, settings: Settings, capfd: pytest.CaptureFixture[str]) -> None:
        self._shell = shell
        self._settings = settings
        self._capfd = capfd
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed = ""
        self._runs: dict[str, Callable[[Block], Any]] = {
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
        """Run a block, or compare the output that it shows; an unknown language is a mistake."""
        if block.language in SHOWN:
            if block.mark == "output":
                assert fits(block.text, self._printed), f"{block} shows not\n{self._printed}"
        elif not any(block.page == page and words in block.text for page, words, _ in NOT_RUN):
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
        """A statement has rows; `:param` lines, or comments of such, set its parameters."""
        query = re.sub(r"^:.*$", "", block.text, flags=re.MULTILINE).strip().rstrip(";")
        lines = re.findall(r"^(?:// )?:param (\w+) => (.+?);?$", block.text, re.MULTILINE)
        values = {name: ast.literal_eval(value) for name, value in lines}
        entry = environment_of(self._settings)
        user = entry["NEO4J_USERNAME"], entry["NEO4J_PASSWORD"]
        with GraphDatabase.driver(
            entry["NEO4J_URI"], auth=user, notifications_min_severity="OFF"
        ) as driver:
            assert not query or driver.execute_query(query, values).records, block

    def _dotenv(self, block: Block) -> None:
        """A file of variables names only those of the settings, and a few of others."""
        ours = re.findall(r"^\| `([A-Z0-9_]+)` \|", read("docs/settings.md"), re.MULTILINE)
        names = re.findall(r"^#?(\w+)=", block.text, re.MULTILINE)

        assert set(names) <= {*ours, *OTHER_VARIABLES}, block


def fits(shown: str, printed: str) -> bool:
    """Whether output is what the page shows; `...` in it stands for anything."""
    pattern = re.escape(plain(shown)).replace(re.escape("..."), ".*?")
    return bool(re.fullmatch(pattern, plain(printed), re.DOTALL))


def plain(text: str) -> str:
    """Text without what changes: times, ids, the ends of lines."""
    return "\n".join(CHANGING.sub("~", line).rstrip() for line in text.strip().splitlines())


def corpora_of(page: str) -> set[str]:
    """The corpora that a page names, and those of commands and examples that name none."""
    names = re.findall(r"--corpus (\w[\w.-]*)|GraphReader\((?:corpus=)?\"([^\"]+)\"", read(page))
    return {"default", "demo", "my-files", "in-your-code"} | {a or b for a, b in names}


@pytest.fixture
def folder(
    page: str,
    neo4j: Settings,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Path]:
    """What the page names, a home of its own, and the server, where none of its corpora may be yet.

    A corpus that somebody else has made is neither changed nor deleted; those of the page are taken
    out again, whatever came of it. One page at a time, also of other processes: they would take
    each other's corpora away.
    """
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "cypher").symlink_to(ROOT / "cypher")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    if page not in WHOLE:
        part_of_joan(tmp_path / "examples")
    shutil.copytree(tmp_path / "examples" / "mybooks", tmp_path / "mybooks")
    shutil.copy(tmp_path / "examples" / "joan_of_arc.txt", tmp_path / "mybooks")
    mode = Settings.model_fields["mode"].default  # of a reader of the docs, not of the tests
    variables = environment_of(neo4j.model_copy(update={"mode": mode})) | {"COLUMNS": "80"}
    variables["GRAPHREADER_HOME"] = str(tmp_path_factory.mktemp("home"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with FileLock(LOCK), GraphReader(settings=neo4j) as reader:

        def present() -> list[str]:
            return sorted(corpora_of(page) & {one.corpus for one in reader.corpora()})

        if names := present():
            pytest.fail(
                f"The Neo4j of the tests has corpora that this page reads into: {names}. Name "
                "another server, or delete them: `graphreader delete --all --corpus NAME`.",
                pytrace=False,
            )
        yield tmp_path
        for name in present():
            reader.at(name).delete(everything=True)


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


# What ends otherwise than the page says is a failure, here and in bash; so is what should install.
@pytest.mark.parametrize(
    "line", ["graphreader ask", "false | cat", "true  # exit code 1", "pip list"]
)
def test_wrong_ends(
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    with pytest.raises(AssertionError, match=r"exit code|to be listed"):
        Shell(monkeypatch, capfd, tmp_path).run(line)


# Each entry of the list of blocks that are not run is one block of its page, and no fence is hidden
# from the tests by standing further in, or by another kind of mark.
def test_all_blocks_are_run_or_listed() -> None:
    for page, words, _ in NOT_RUN:
        matching = [
            one for one in all_blocks(page) if words in one.text and one.language not in SHOWN
        ]
        assert len(matching) == 1, (page, words)
    for page in pages():
        fences = re.findall(r"^\s*(?:```|~~~)", read(page), re.MULTILINE)
        assert len(fences) == 2 * len(all_blocks(page)), page


# A user who may only read can do all that the page on production says: Neo4j refuses writes in
# sessions that read, and no other is opened.
def test_asking_only_reads(
    neo4j: Settings, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = set()
    session = AsyncDriver.session

    def noted(driver: AsyncDriver, **options: Any) -> Any:
        opened.add(options.get("default_access_mode"))
        return session(driver, **options)

    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(ROOT / "examples" / "mybooks" / "teacher.txt")
        with monkeypatch.context() as watched, GraphReader(corpus, settings=neo4j) as asking:
            watched.setattr(AsyncDriver, "session", noted)
            answered = asking.ask("Where was Vera Holm born?").answered
            rows = asking.search("Bergen"), asking.documents(), asking.stats(), asking.corpora()
            asking.export(tmp_path / "export.jsonl")
        reader.delete(everything=True)

    assert answered
    assert all(rows)
    assert opened == {READ_ACCESS}
