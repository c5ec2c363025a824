"""Settings that hang together."""

import pytest

from graphreader.errors import SettingsError
from graphreader.settings import Settings


# A changed copy of settings chooses anew who decides.
def test_choices_of_a_copy() -> None:
    settings = Settings.read()
    before = settings.chosen_model, settings.chosen_embeddings
    changed = settings.model_copy(update={"model": "openai:fake", "embeddings": "openai:fake"})

    assert before == ("offline", "offline")
    assert (changed.chosen_model, changed.chosen_embeddings) == ("openai:fake", "openai:fake")


# Stages of normalization are words with commas between them, in any order; `none` is none.
@pytest.mark.parametrize(
    ("given", "stages"),
    [
        (None, ("frequency", "semantic", "association")),
        ("linking, Frequency", ("frequency", "linking")),
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


# A stage that there is not is refused, with those that there are.
def test_unknown_stages_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"GRAPHREADER_NORMALIZE.*semantic.*or none"):
        Settings.read(normalize="semantics")
