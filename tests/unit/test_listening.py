"""An answer is passed on piece by piece, and put right where the pieces were not its own."""

import pytest

from graphreader.agent.answering import AnswerStream
from graphreader.agent.events import AnswerToken


# Whatever was streamed, in the end it is the answer, and nothing is sent twice without need.
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
def test_answer_stream(pieces: list[tuple[str, bool]], tokens: list[tuple[str, bool]]) -> None:
    sent: list[AnswerToken] = []
    stream = AnswerStream(sent.append)
    for piece, begins in pieces:
        stream(piece, begins)
    stream.finish("Danny won.")

    assert [(token.text, token.begins) for token in sent] == tokens
