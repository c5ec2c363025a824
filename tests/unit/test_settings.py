"""Settings of the environment, and files that survive a crash."""

import io
import os
import stat
import sys
from pathlib import Path

import pytest

from graphreader.errors import SettingsError, UsageError
from graphreader.files import Line, LinesFile, atomic_write, bounded_lines
from graphreader.settings import Settings, display_url, misspelled, redact
from graphreader.usage import Phase


# A changed copy of settings chooses anew who decides.
def test_choices_of_a_copy() -> None:
    settings = Settings.read()
    before = settings.chosen_model, settings.chosen_embeddings
    changed = settings.model_copy(update={"model": "openai:fake", "embeddings": "openai:fake"})

    assert before == ("offline", "offline")
    assert (changed.chosen_model, changed.chosen_embeddings) == ("openai:fake", "openai:fake")


# Each phase has a model of its own, or the common one; the variable that names it is told.
def test_models_of_phases() -> None:
    settings = Settings.read(model="openai:all", build_model="openai:build", answer_model="x:y")
    phases: tuple[Phase, ...] = ("extract", "gist", "plan", "read", "answer", "rate")
    common = ("openai:all", "GRAPHREADER_MODEL")

    assert [(settings.model_for(one), settings.model_variable_for(one)) for one in phases] == [
        *[("openai:build", "GRAPHREADER_BUILD_MODEL")] * 2,
        *[common] * 2,
        ("x:y", "GRAPHREADER_ANSWER_MODEL"),
        common,
    ]


# Stages of normalization are words with commas between them, in any order; others are refused.
@pytest.mark.parametrize(
    ("given", "stages"),
    [
        (None, ("semantic", "association")),
        ("association, Semantic", ("semantic", "association")),
        ("semantic,", ("semantic",)),
        ("none", ()),
    ],
)
def test_stages_of_normalization(
    monkeypatch: pytest.MonkeyPatch, given: str | None, stages: tuple[str, ...]
) -> None:
    if given is not None:
        monkeypatch.setenv("GRAPHREADER_NORMALIZE", given)

    assert Settings.read().stages == stages
    with pytest.raises(SettingsError, match=r"GRAPHREADER_NORMALIZE.*association.*or none"):
        Settings.read(normalize="semantic,frequency")


# A name that is nearly that of a setting is found; names of others' are left alone.
def test_misspelled_names(monkeypatch: pytest.MonkeyPatch) -> None:
    slips = ("GRAPHREADER_CONCURENCY", "NEO4J_URL", "NEO4J_USER")
    others = ("NEO4J_HOME", "NEO4J_AUTH", "GRAPHREADER_TEST_NEO4J_URI", "GRAPHREADER_LIVE")
    for name in (*slips, *others, "NEO4J_URI", "GRAPHREADER_MODEL"):
        monkeypatch.setenv(name, "1")

    assert [name for name in misspelled() if name in slips or name in others] == list(slips)


# Keys are removed from a text: known ones, the environment's, those in URLs, those that look so.
def test_redact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "my-secret")
    monkeypatch.setenv("NEO4J_PASSWORD", "my-secret-and-more")
    words = "own-server-key, my-secret, my-secret-and-more, gsk_abcdefgh, http://me:p@w@host/?a@b"

    assert redact(words, {"own-server-key"}) == "***, ***, ***, ***, http://***@host/?a@b"
    assert redact("unknown key_elements of an api_version", {"k"}) == (
        "unknown key_elements of an api_version"
    )


# An address is shown without user, password, query and fragment.
def test_display_url() -> None:
    assert display_url("http://me:p@w@host:8000/v1?key=secret") == "http://host:8000/v1"
    assert display_url("me:pw@host/v1") == "host/v1"
    assert display_url("http://host/v1") == "http://host/v1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_bytes(b"old")
    return tmp_path / "a.jsonl"


# The new content replaces the old at the end and not before, also behind a link; a failure leaves
# the old content and no other file.
def test_atomic_write(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"new")
        file.flush()
        meanwhile = path.read_bytes()
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"newer" * (1 // 0))

    assert (meanwhile, path.read_bytes()) == (b"old", b"new")
    assert link.is_symlink()
    assert set(os.listdir(path.parent)) == {path.name, link.name}


# A file that is replaced keeps its permissions, a new one gets those that are given.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_permissions(path: Path) -> None:
    path.chmod(0o600)
    for target in (path, path.with_name("new")):
        with atomic_write(target, 0o600 if target != path else 0o666) as file:
            file.write(b"new")

        assert stat.S_IMODE(target.stat().st_mode) == 0o600


# Lines keep their numbers, blank ones are passed over, and of a long one only the start is held.
def test_bounded_lines() -> None:
    file = io.BytesIO(b"one\n \n" + b"x" * 100 + b"\ntwo")

    assert list(bounded_lines(file, 10)) == [(1, b"one\n"), (3, b"x" * 11), (4, b"two")]


class Numbers(LinesFile):
    def __init__(self, path: Path) -> None:
        super().__init__(path, frozenset({"n"}))
        self.numbers: list[int] = []

    def note(self, line: Line) -> None:
        self.numbers.append(line["n"])


# A last line that was cut off is removed; one that only lacks its line break is kept, and a file
# of something else stays as it is.
def test_lines_file(path: Path) -> None:
    with pytest.raises(UsageError, match="line 1: this is no line"), Numbers(path):
        pass
    untouched = path.read_bytes()
    kept = []
    for content in ('{"n": 1}\n{"n": 2', '{"n": 1}\n{"n": 2}'):
        path.write_text(content)
        with Numbers(path) as file:
            file.append({"n": 3})
        kept.append((file.numbers, len(path.read_text().splitlines())))

    assert untouched == b"old"
    assert kept == [([1, 3], 2), ([1, 2, 3], 3)]
