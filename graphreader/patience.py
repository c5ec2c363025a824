"""When asking many questions is to end because one of them failed."""

from graphreader.errors import (
    EmbeddingMismatchError,
    GraphReaderError,
    ModelClosedError,
    ModelUnavailableError,
    Neo4jRefusedError,
    Neo4jUnavailableError,
    SchemaError,
    SettingsError,
)

FOR_ALL = (
    EmbeddingMismatchError,
    SettingsError,
    SchemaError,
    Neo4jRefusedError,
    ModelClosedError,
)
"""What one question meets, and so every other one."""

_GONE = (Neo4jUnavailableError, ModelUnavailableError)
"""What may pass, but where it does not, each question would wait for it in vain."""

QUESTIONS = 3
"""That find a service gone, with no answer between them."""


class Patience:
    """Counts the questions in a row for which a service was gone."""

    def __init__(self) -> None:
        self._gone = 0

    def answered(self) -> None:
        """A question was answered: the services are there."""
        self._gone = 0

    def after(self, error: GraphReaderError) -> GraphReaderError | None:
        """With what all is to end after one more question failed; None: the next one is asked."""
        if isinstance(error, FOR_ALL):
            return error
        self._gone += isinstance(error, _GONE)
        if self._gone < QUESTIONS:
            return None
        return GraphReaderError(f"{error} No more questions are asked meanwhile.")
