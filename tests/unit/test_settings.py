"""Settings that hang together."""

import pytest

from graphreader.deciding.exploring import NOTEBOOK_TOKENS, ChunkTask
from graphreader.deciding.fitting import Form, fit
from graphreader.settings import PROMPT_TOKENS, Settings
from graphreader.tokens import count


def words(tokens: int) -> str:
    text = ("word " * tokens).strip()
    assert count(text) == tokens
    return text


# A model's window holds a whole chunk and what is kept free beside it for a path that knows much.
@pytest.mark.parametrize("form", ["schema", "tool", "text"])
def test_what_a_prompt_holds(form: Form) -> None:
    settings = Settings.read(model="openai:fake", chunk_tokens=3000, window=3000 + PROMPT_TOKENS)
    task = ChunkTask(
        question=words(20),
        plan=words(40),
        actions=(words(10), words(10)),
        notebook=words(NOTEBOOK_TOKENS),
        node=words(3),
        label=words(5),
        text=words(settings.chunk_tokens),
    )

    fitted = fit(task, form, settings.window)

    assert settings.window - 100 < fitted.tokens <= settings.window


# A changed copy of settings chooses anew who decides.
def test_choices_of_a_copy() -> None:
    settings = Settings.read()
    before = settings.chosen_model, settings.chosen_embeddings
    changed = settings.model_copy(update={"model": "openai:fake", "embeddings": "openai:fake"})

    assert before == ("offline", "offline")
    assert (changed.chosen_model, changed.chosen_embeddings) == ("openai:fake", "openai:fake")
