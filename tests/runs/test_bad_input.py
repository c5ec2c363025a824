"""What a person does wrong and what goes wrong around it: one sentence, an exit code, no harm.

Every refusal here is checked to have nothing on stdout, no traceback, and no secret in it.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from graphreader.errors import SettingsError
from graphreader.graph_reader import GraphReader
from graphreader.llm import retry
from graphreader.settings import Settings, load_environment
from graphreader.store import connection
from tests.runs.openai_server import Fault, OpenAIServer
from tests.terminal import (
    Outcome,
    SilentService,
    Terminal,
    closed_port,
    environment_of,
)

GOOD = "Vera Holm was born in Bergen in 1901.\n"
KEY = "sk-secret-words-4711"


@pytest.fixture
def terminal(terminal: Terminal, neo4j: Settings) -> Terminal:
    (terminal.folder / "good.txt").write_text(GOOD, encoding="utf-8")
    terminal.set(**environment_of(neo4j))
    return terminal


pytestmark = pytest.mark.usefixtures("cleaned")


def corpora(settings: Settings) -> set[str]:
    with GraphReader(settings=settings) as reader:
        return {one.corpus for one in reader.corpora()}


def is_refused(outcome: Outcome, code: int, *said: str, within: float = 15.0) -> bool:
    """One sentence (or two in one line) that says all that, in time, and nothing else."""
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1, outcome.err
    assert "Traceback" not in outcome.err
    assert KEY not in outcome.err
    assert outcome.seconds < within
    return all(one in outcome.err for one in said)


def bad_files(folder: Path) -> dict[str, str]:
    """Files that cannot be read, each with words that its refusal must have."""
    (folder / "empty.txt").touch()
    (folder / "blank.md").write_text(" \n\t\n", encoding="utf-8")
    (folder / "binary.txt").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    (folder / "blank16.txt").write_text("\n", encoding="utf-16")
    (folder / "paper.pdf").write_bytes(b"%PDF-1.7")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "circle.txt").symlink_to("circle.txt")
    (folder / "gone.txt").symlink_to("nowhere.txt")
    (folder / "folder.txt").mkdir()
    os.mkfifo(folder / "pipe.txt")
    with open(folder / "huge.txt", "wb") as huge:
        huge.truncate(70 * 2**20)  # sparse: it takes no room
    return {
        "missing.txt": "missing.txt does not exist: check the path",
        "empty.txt": "empty.txt has no text in it",
        "blank.md": "blank.md has no text in it",
        "binary.txt": "binary.txt is binary",
        "blank16.txt": "blank16.txt has no text in it",
        "paper.pdf": "paper.pdf cannot be read (",
        "picture.png": "picture.png is not a .docx, .epub, ",
        "circle.txt": "circle.txt cannot be opened",
        "gone.txt": "gone.txt does not exist",
        "folder.txt": "folder.txt holds no .docx, .epub, ",
        "pipe.txt": "pipe.txt is not a regular file",
        "huge.txt": "huge.txt has more than the limit of 64 MiB: cut it into smaller files",
    }


# Files that cannot be read are refused one by one, and the good one of the call is read.
def test_bad_files_beside_a_good_one(terminal: Terminal, corpus: str, neo4j: Settings) -> None:
    words = bad_files(terminal.folder)

    outcome = terminal.run("ingest", *words, "good.txt", "--corpus", corpus)

    assert outcome.code == 2
    assert f"{corpus}: 1 read (1 chunk, 1 fact), 12 refused." in outcome.out
    lines = outcome.err.splitlines()
    assert len(lines) == 13
    assert "read       good  1 chunk" in lines
    for word in words.values():
        (line,) = [line for line in lines if word in line]
        assert line.startswith("refused    ")
    with GraphReader(corpus, settings=neo4j) as reader:
        assert [(one.title, one.status) for one in reader.documents()] == [("good", "complete")]


# Where nothing at all can be read, that is said at once: no server is asked, no corpus made, by a
# method of Python neither.
def test_only_bad_files(terminal: Terminal, corpus: str, neo4j: Settings) -> None:
    words = bad_files(terminal.folder)
    terminal.set(NEO4J_URI=f"bolt://127.0.0.1:{closed_port()}")
    outcome = terminal.run("ingest", *words, "--corpus", corpus, "--json")
    with GraphReader(corpus, settings=neo4j) as reader:
        report = reader.ingest("missing.txt", terminal.folder / "missing too.txt")

    assert (outcome.code, outcome.out) == (2, "")
    assert len(outcome.err.splitlines()) == len(words)
    assert all(word in outcome.err for word in words.values())
    assert [one.status for one in report.documents] == ["refused", "refused"]
    assert not report.complete
    assert corpus not in corpora(neo4j)


# A file that its reader may not open is refused as well.
def test_an_unreadable_file(terminal: Terminal, corpus: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        locked = Path(folder) / "locked.txt"
        locked.write_text(GOOD, encoding="utf-8")
        locked.chmod(0)
        os.chmod(folder, 0o755)
        with nobody():
            outcome = terminal.run("ingest", str(locked), "--corpus", corpus, "--json")

    assert is_refused(outcome, 2, f"{locked} cannot be opened (Permission denied): check the path")


@contextmanager
def nobody() -> Iterator[None]:
    """Root may open everything: be somebody else for a moment."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


# Names that mean nothing are refused with those that there are, and an empty question as such.
def test_unknown_names(terminal: Terminal, corpus: str) -> None:
    terminal.run("ingest", "good.txt", "--corpus", corpus)
    other = f"{corpus}-other"

    for command in (["ask", "Who?"], ["stats"], ["list"], ["delete", "--all"], ["delete", "x"]):
        outcome = terminal.run(*command, "--corpus", other, "--json")
        assert is_refused(outcome, 2, f"There is no corpus '{other}'", corpus, "graphreader ingest")
    document = terminal.run("delete", "nobody", "--corpus", corpus, "--json")
    assert is_refused(document, 2, "no document 'nobody'", f"graphreader list --corpus {corpus}")
    for question in ("", "  \n"):
        empty = terminal.run("ask", question, "--corpus", corpus, "--json")
        assert is_refused(empty, 2, "The question is empty")
    unnamed = terminal.run("ask", "Who?", "--corpus", " ", "--json")
    assert is_refused(unnamed, 2, "A corpus needs a name")


# Settings that make no sense are named, before anything is opened.
@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"GRAPHREADER_WINDOW": "abc"}, "GRAPHREADER_WINDOW: Input should be a valid integer"),
        ({"GRAPHREADER_WINDOW": "12"}, "GRAPHREADER_WINDOW: Input should be greater than or equal"),
        ({"GRAPHREADER_CONCURRENCY": "0"}, "GRAPHREADER_CONCURRENCY"),
        ({"GRAPHREADER_NEO4J_VERSION": "4.4"}, "'2026.08.1' or '5.26.30'"),
        ({"NEO4J_PASSWORD": ""}, "NEO4J_URI is set but NEO4J_PASSWORD is not: set both"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_settings(terminal: Terminal, variables: dict[str, str], said: str) -> None:
    terminal.set(**variables)

    assert is_refused(terminal.run("list", "--json"), 2, said, within=5)


# A chunk that can never fit into a model's window is said at once, with the numbers.
def test_a_chunk_too_large_for_the_window(terminal: Terminal) -> None:
    sizes = {"GRAPHREADER_CHUNK_TOKENS": "2677", "GRAPHREADER_MODEL": "openai:fake"}
    terminal.set(**sizes, OPENAI_API_KEY=KEY)
    refused = terminal.run("runs", "list", "--json")
    terminal.set(GRAPHREADER_CHUNK_TOKENS="2300")
    fitting = terminal.run("runs", "list", "--json")
    terminal.set(GRAPHREADER_CHUNK_TOKENS="2677", GRAPHREADER_MODEL="offline")
    without_model = terminal.run("runs", "list", "--json")

    numbers = ("GRAPHREADER_CHUNK_TOKENS, 2,677", "GRAPHREADER_WINDOW, 4,096")
    assert is_refused(refused, 2, *numbers, within=5)
    assert (fitting.code, without_model.code) == (0, 0)


# A `.env` in another encoding, or that may not be read, is named and never shown, with `--debug`
# neither.
@pytest.mark.parametrize(
    "content",
    [
        f"OPENAI_API_KEY={KEY}".encode("utf-16"),
        f"OPENAI_API_KEY={KEY}\n# caf\xe9".encode("latin-1"),
    ],
    ids=["utf-16", "latin-1"],
)
def test_an_env_file_in_another_encoding(terminal: Terminal, content: bytes) -> None:
    file = terminal.folder / ".env"
    file.write_bytes(content)
    plain, debug = terminal.run("list", "--json"), terminal.run("--debug", "list", "--json")

    assert is_refused(plain, 2, f"{file} is not UTF-8: save it as UTF-8.")
    assert (debug.code, debug.out) == (2, "")
    assert "Traceback (most recent call last)" in debug.err
    assert debug.err.splitlines()[-1] == plain.err.strip()
    assert "secret" not in debug.err.replace("\0", "").replace("\\x00", "")


# A `.env` that may not be read is named.
def test_an_env_file_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / ".env"
        file.write_text(f"OPENAI_API_KEY={KEY}")
        file.chmod(0)
        os.chmod(folder, 0o755)
        monkeypatch.chdir(folder)
        with nobody(), pytest.raises(SettingsError, match=r"\.env cannot be read \(Permission"):
            load_environment()


# A mark at the beginning of `.env`, as some editors put it, does not hide its first line.
def test_an_env_file_with_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("GRAPHREADER_CALLS=7\n", encoding="utf-8-sig")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHREADER_CALLS", "")
    monkeypatch.delenv("GRAPHREADER_CALLS")
    load_environment()

    assert Settings.read().calls == 7


# A name with a tilde that is nobody's home is a file's name like any other.
def test_a_tilde_that_is_nobody(terminal: Terminal, corpus: str) -> None:
    (terminal.folder / "~backup.txt").write_text(GOOD, encoding="utf-8")

    read = terminal.run("ingest", "~backup.txt", "--corpus", corpus, "--json")
    missing = terminal.run("ingest", "~nobody-there.txt", "--corpus", corpus, "--json")
    terminal.set(NEO4J_URI="", GRAPHREADER_HOME="~nobody-there")
    home = terminal.run("neo4j", "status", "--json")

    assert read.code == 0
    assert [one["title"] for one in read.json["documents"]] == ["~backup"]
    assert is_refused(missing, 2, "~nobody-there.txt does not exist")
    assert is_refused(home, 1, "is not running")


# A corpus's name that cannot be stored or shown is refused before any server is started.
@pytest.mark.parametrize("name", ["\udcff", "a\nb", "a\x1b[31m", "x" * 201, "", " "], ids=repr)
def test_names_that_are_none(terminal: Terminal, name: str) -> None:
    terminal.set(NEO4J_URI=f"bolt://127.0.0.1:{closed_port()}")

    for command in (["ingest", "good.txt"], ["ask", "Who?"], ["list"]):
        outcome = terminal.run(*command, "--corpus", name, "--json")
        said = "A corpus needs a name" if not name.strip() else "at most 200 characters"
        assert is_refused(outcome, 2, said, within=5)


# A model that cannot be had is said with the setting to change, and nothing is written.
@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"GRAPHREADER_MODEL": "nonsense"}, "must be provider:model"),
        ({"GRAPHREADER_MODEL": "nonsense:x"}, "'nonsense:x', which cannot be opened"),
        ({"GRAPHREADER_MODEL": "groq:llama3"}, "pip install langchain-groq"),
        ({"GRAPHREADER_MODEL": "openai:gpt-x"}, "OPENAI_API_KEY is not set"),
        ({"GRAPHREADER_EMBEDDINGS": "nonsense"}, "GRAPHREADER_EMBEDDINGS is 'nonsense'"),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)
def test_models_that_cannot_be_had(
    terminal: Terminal, corpus: str, neo4j: Settings, variables: dict[str, str], said: str
) -> None:
    terminal.set(**variables)

    outcome = terminal.run("ingest", "good.txt", "--corpus", corpus, "--json")

    assert is_refused(outcome, 2, said)
    assert corpus not in corpora(neo4j)


# A refused key is said at once, for reading and for asking, and leaves nothing behind.
def test_a_refused_key(terminal: Terminal, corpus: str, neo4j: Settings) -> None:
    with OpenAIServer(always=Fault(401, f"Incorrect API key provided: {KEY}")) as server:
        terminal.set(OPENAI_BASE_URL=server.url, GRAPHREADER_MODEL="openai:fake")
        terminal.set(OPENAI_API_KEY=KEY, GRAPHREADER_EMBEDDINGS="offline")
        reading = terminal.run("ingest", "good.txt", "--corpus", corpus, "--json")
        made = corpora(neo4j)
        terminal.set(GRAPHREADER_MODEL="offline")
        terminal.run("ingest", "good.txt", "--corpus", corpus)
        terminal.set(GRAPHREADER_MODEL="openai:fake")
        asking = terminal.run("ask", "Where was Vera Holm born?", "--corpus", corpus, "--json")

    for outcome in (reading, asking):
        assert is_refused(outcome, 1, "refuses the key: check OPENAI_API_KEY", within=5)
    assert corpus not in made
    assert len(server.chats) == 2


# A service that takes a call and never says a word is given up when our patience is at its end;
# with the start of the program that is well under half a minute.
@pytest.mark.parametrize("which", ["model", "neo4j"])
def test_services_that_never_answer(
    terminal: Terminal, corpus: str, neo4j: Settings, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    assert max(retry.HEALTH_CHECK_TIMEOUT, connection.FIRST_ANSWER_SECONDS) <= 15
    monkeypatch.setattr(retry, "HEALTH_CHECK_TIMEOUT", 1.0)
    monkeypatch.setattr(connection, "FIRST_ANSWER_SECONDS", 1.0)
    with SilentService() as silent:
        address = f"127.0.0.1:{silent.port}"
        if which == "model":
            terminal.set(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=f"http://{address}/v1")
            terminal.set(GRAPHREADER_EMBEDDINGS="offline")
            said = f"Nothing answers at http://{address}/v1 within 1 seconds"
        else:
            terminal.set(NEO4J_URI=f"{which}://{address}")
            said = f"No Neo4j answers at {which}://{address}: start it, or check NEO4J_URI"
        outcome = terminal.run("ingest", "good.txt", "--corpus", corpus, "--json")

    assert silent.asked_at is not None
    assert is_refused(outcome, 1, said, within=10)
    assert corpus not in corpora(neo4j)


# A Neo4j that cannot be entered is said with the setting to change; a password is never shown.
@pytest.mark.parametrize(
    ("variables", "code", "said"),
    [
        ({"NEO4J_URI": "bolt://127.0.0.1:{closed}"}, 1, "No Neo4j answers at bolt://127.0.0.1:"),
        ({"NEO4J_URI": "http://127.0.0.1:7474"}, 2, "must look like bolt://HOST:PORT"),
        ({"NEO4J_URI": "bolt://127.0.0.1:port"}, 2, "must look like bolt://HOST:PORT"),
        ({"NEO4J_URI": f"bolt://neo4j:{KEY}@127.0.0.1"}, 2, "password stand in NEO4J_USERNAME"),
        ({"NEO4J_URI": "{encrypted}"}, 1, "+s asks for encryption"),
        (
            {"NEO4J_USERNAME": "nobody", "NEO4J_PASSWORD": KEY},
            1,
            "refuses the user or the password",
        ),
        ({"NEO4J_DATABASE": "elsewhere"}, 1, "has no database 'elsewhere': check NEO4J_DATABASE"),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)
def test_neo4j(
    terminal: Terminal, neo4j: Settings, variables: dict[str, str], code: int, said: str
) -> None:
    assert neo4j.neo4j_uri
    encrypted = "bolt+s://" + neo4j.neo4j_uri.partition("://")[2]
    places = {"closed": str(closed_port()), "encrypted": encrypted}
    terminal.set(**{name: value.format(**places) for name, value in variables.items()})

    assert is_refused(terminal.run("list", "--json"), code, said)


# Folders that cannot be written are named with the variable that chooses another.
def test_unwritable_folders(terminal: Terminal, tmp_path: Path) -> None:
    below_a_file = str(tmp_path / "good.txt" / "home")
    terminal.set(NEO4J_URI="", GRAPHREADER_HOME=below_a_file)
    home = terminal.run("list", "--json")
    terminal.set(GRAPHREADER_HOME=str(tmp_path / "home"), GRAPHREADER_CACHE=below_a_file)
    cache = terminal.run("list", "--json")

    assert is_refused(home, 1, f"{below_a_file}", "set GRAPHREADER_HOME to another folder")
    assert is_refused(cache, 1, f"{below_a_file}", "set GRAPHREADER_CACHE to another folder")


# A disk without room for a graph is said at once: on it Neo4j would neither start nor end.
def test_a_full_disk(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal.set(NEO4J_URI="", GRAPHREADER_HOME=str(tmp_path / "home"))
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 7 * 10**6}))

    outcome = terminal.run("list", "--json")

    assert is_refused(outcome, 1, "has 7 MB of room", "set GRAPHREADER_HOME")


# Without a network the jars cannot be fetched: said with the three ways out.
def test_no_network_for_the_jars(terminal: Terminal, tmp_path: Path) -> None:
    terminal.set(NEO4J_URI="", GRAPHREADER_HOME=str(tmp_path / "home"))
    terminal.set(GRAPHREADER_CACHE=str(tmp_path / "cache"))
    terminal.set(GRAPHREADER_MAVEN_MIRROR=f"http://127.0.0.1:{closed_port()}/maven")

    outcome = terminal.run("list", "--json")

    assert (outcome.code, outcome.out) == (1, "")
    *progress, sentence = outcome.err.splitlines()
    assert progress == ["Downloading Neo4j (173 MB) ..."]
    assert "cannot be fetched from 127.0.0.1" in sentence
    for way_out in ("the network", "GRAPHREADER_MAVEN_MIRROR", "NEO4J_URI"):
        assert way_out in sentence
    assert outcome.seconds < 30


# Another embedding than the corpus was read with is refused with the command that mends it.
def test_another_embedding(terminal: Terminal, corpus: str) -> None:
    terminal.run("ingest", "good.txt", "--corpus", corpus)
    with OpenAIServer() as server:
        terminal.set(OPENAI_BASE_URL=server.url, OPENAI_API_KEY=KEY, GRAPHREADER_MODEL="offline")
        terminal.set(GRAPHREADER_EMBEDDINGS="openai:text-embedding-3-small")
        asking = terminal.run("ask", "Where was Vera Holm born?", "--corpus", corpus, "--json")
        reading = terminal.run("ingest", "good.txt", "--corpus", corpus, "--json")
        mended = terminal.run("reindex", "--corpus", corpus, "--json")
        again = terminal.run("ask", "Where was Vera Holm born?", "--corpus", corpus, "--json")

    for outcome in (asking, reading):
        assert is_refused(
            outcome, 2, f"graphreader reindex --corpus {corpus}", "GRAPHREADER_EMBEDDINGS=offline"
        )
    assert mended.json == {"embedded": [corpus]}
    assert "Bergen" in again.json["answer"]
