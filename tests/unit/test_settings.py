"""Settings that hang together."""

from urllib.parse import quote

import pytest
from pydantic import SecretStr, ValidationError

from graphreader.errors import SettingsError
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
        (None, ("semantic", "association", "short_names")),
        ("association, Semantic", ("semantic", "association")),
        ("semantic,", ("semantic",)),
        ("names,short_names", ("short_names", "names")),
        ("none", ()),
    ],
)
def test_stages_of_normalization(
    monkeypatch: pytest.MonkeyPatch, given: str | None, stages: tuple[str, ...]
) -> None:
    if given is not None:
        monkeypatch.setenv("GRAPHREADER_NORMALIZE", given)

    assert Settings.read().stages == stages
    with pytest.raises(SettingsError, match=r"GRAPHREADER_NORMALIZE.*association.*names.*or none"):
        Settings.read(normalize="semantic,frequency")


# The sizes of pages are two numbers of words, the smaller one first.
@pytest.mark.parametrize("words", ["280", "600-280", "0-9", "280--600", "a-280-600"])
def test_page_words(words: str) -> None:
    with pytest.raises(SettingsError, match=r"GRAPHREADER_PAGE_WORDS.*280-600"):
        Settings.read(page_words=words)


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


# The address of PostgreSQL is refused where it would be read in another way than it is meant, as
# with an @ in the password, before any message of PostgreSQL quotes a part of that.
@pytest.mark.parametrize("password", ["p@ss", "p/ss", "p?ss", "p#ss", "100%", "p ss"])
def test_address_of_postgresql(password: str) -> None:
    quoted = quote(password, safe="")
    right = f"postgresql://anna:{quoted}@db.example:5432/graphreader?sslmode=require"
    assert Settings.read(database=SecretStr(right)).database_of("runs") == right
    with pytest.raises(SettingsError, match="GRAPHREADER_DATABASE: it has the form") as refused:
        Settings.read(database=SecretStr(f"postgresql://anna:{password}@db.example/graphreader"))
    assert password not in str(refused.value)


# The former name of the setting is refused, since it would be overlooked.
def test_former_name_of_a_setting() -> None:
    with pytest.raises(SettingsError, match="is named `database`"):
        Settings.read(runs="postgresql://localhost/runs")
    with pytest.raises(ValidationError, match="is named `database`") as refused:
        Settings(runs="postgresql://ada:secret@localhost/runs")
    assert "secret" not in str(refused.value)


# The former name of the variable works as before; the present one goes first.
def test_former_name_of_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHREADER_RUNS", "postgresql://db.example/former")
    assert Settings.read().database_of("runs") == "postgresql://db.example/former"
    monkeypatch.setenv("GRAPHREADER_DATABASE", "postgresql://db.example/present")
    assert Settings.read().database_of("runs") == "postgresql://db.example/present"
    monkeypatch.setenv("GRAPHREADER_DATABASE", "")
    monkeypatch.setenv("GRAPHREADER_RUNS", "mysql://db.example")
    with pytest.raises(SettingsError, match="GRAPHREADER_DATABASE: it has the form"):
        Settings.read()
