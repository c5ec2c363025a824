"""Settings that hang together."""

from graphreader.settings import Settings


# A changed copy of settings chooses anew who decides.
def test_choices_of_a_copy() -> None:
    settings = Settings.read()
    before = settings.chosen_model, settings.chosen_embeddings
    changed = settings.model_copy(update={"model": "openai:fake", "embeddings": "openai:fake"})

    assert before == ("offline", "offline")
    assert (changed.chosen_model, changed.chosen_embeddings) == ("openai:fake", "openai:fake")
