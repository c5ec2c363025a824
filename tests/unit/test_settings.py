"""Settings that hang together."""

import pytest

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


# Stages of normalization are words with commas between them, in any order; `none` is none.
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


# An unknown stage is refused.
def test_unknown_stages_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"GRAPHREADER_NORMALIZE.*semantic, association.*none"):
        Settings.read(normalize="semantics")


# A name that is nearly that of a setting is found; names of others' are left alone.
def test_misspelled_names(monkeypatch: pytest.MonkeyPatch) -> None:
    slips = ("GRAPHREADER_CONCURENCY", "NEO4J_URL", "NEO4J_USER")
    others = ("NEO4J_HOME", "NEO4J_AUTH", "GRAPHREADER_TEST_NEO4J_URI", "GRAPHREADER_LIVE")
    for name in (*slips, *others, "NEO4J_URI", "GRAPHREADER_MODEL"):
        monkeypatch.setenv(name, "1")

    assert [name for name in misspelled() if name in slips or name in others] == list(slips)


# Keys are removed from a service's words, the configured one whatever it looks like.
def test_redact() -> None:
    words = redact("No own-server-key, gsk_abcdefgh or http://me:pw@host/v1.", {"own-server-key"})

    assert words == "No ..., ... or http://host/v1."
    assert redact("unknown", {"k"}) == "unknown"
    assert display_url("http://me:p@w@host:8000/v1?key=secret") == "http://host:8000/v1"
    assert display_url("me:pw@host/v1") == "host/v1"
    assert display_url("http://host/v1") == "http://host/v1"
