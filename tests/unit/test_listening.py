"""An answer is passed on piece by piece, and put right where the pieces were not its own."""

import pytest

from graphreader.agent.answering import AnswerStream
from graphreader.agent.events import AnswerToken


class Listener:
    """Puts together what is told."""

    def __init__(self) -> None:
        self.tokens: list[AnswerToken] = []

    @property
    def text(self) -> str:
        begin = max(n for n, token in enumerate(self.tokens) if token.begins)
        return "".join(token.text for token in self.tokens[begin:])


# Whatever was heard, in the end it is the answer, and nothing is told twice without need.
@pytest.mark.parametrize(
    ("pieces", "tokens"),
    [
        ([], [("Danny won.", True)]),
        ([("Danny ", True), ("won.", False)], [("Danny ", True), ("won.", False)]),
        ([("Danny ", True)], [("Danny ", True), ("won.", False)]),
        ([("Alice", True), ("Danny", True)], [("Alice", True), ("Danny", True), (" won.", False)]),
        ([("Alice", True)], [("Alice", True), ("Danny won.", True)]),
        ([("Danny won. Or", True)], [("Danny won. Or", True), ("Danny won.", True)]),
    ],
)
def test_telling(pieces: list[tuple[str, bool]], tokens: list[tuple[str, bool]]) -> None:
    listener = Listener()
    telling = AnswerStream(listener.tokens.append)
    for piece, begins in pieces:
        telling(piece, begins)
    telling.finish("Danny won.")

    assert [(token.text, token.begins) for token in listener.tokens] == tokens
    assert listener.text == "Danny won."
