"""When a failed question ends all: what every other would meet, and a service that stays away."""

import pytest

from graphreader.errors import (
    DecisionError,
    GraphReaderError,
    ModelUnavailableError,
    Neo4jUnavailableError,
    SchemaError,
    SettingsError,
)
from graphreader.llm.retry import QUESTIONS, CircuitBreaker


# What all questions would meet ends them at once, as it is.
@pytest.mark.parametrize("error", [SettingsError("Set a key."), SchemaError("Another schema.")])
def test_for_all(error: GraphReaderError) -> None:
    assert CircuitBreaker().after(error) is error


# A service that is gone is given time; each answer shows that it is there, and other errors do not.
def test_gone() -> None:
    patience = CircuitBreaker()
    gone = [Neo4jUnavailableError("No Neo4j."), ModelUnavailableError("No model.")] * QUESTIONS

    assert [patience.after(error) for error in gone[: QUESTIONS - 1]] == [None] * (QUESTIONS - 1)
    patience.answered()
    assert [patience.after(error) for error in gone[: QUESTIONS - 1]] == [None] * (QUESTIONS - 1)
    assert patience.after(DecisionError("One reply was no use.")) is None
    end = patience.after(ModelUnavailableError("No model."))
    assert str(end) == "No model. No more questions are asked meanwhile."
