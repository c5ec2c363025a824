"""Telling an answer while it is written, so that what was told is the answer in the end."""

from collections.abc import Callable

from graphreader.agent.events import AnswerToken


class Telling:
    """Hands the pieces of an answer on as events, and what of them was not told at the end."""

    def __init__(self, write: Callable[[AnswerToken], None]) -> None:
        self._write = write
        self._told = ""

    def __call__(self, piece: str, begins: bool) -> None:
        """Tell a piece. Where it begins an answer, what was told before is void."""
        begins = begins or not self._told
        self._told = piece if begins else self._told + piece
        self._write(AnswerToken(piece, begins))

    def ends_with(self, answer: str) -> None:
        """The whole answer is this: tell what is missing, or all of it if another was told."""
        if not self._told or not answer.startswith(self._told):
            self(answer, True)
        elif rest := answer.removeprefix(self._told):
            self(rest, False)
