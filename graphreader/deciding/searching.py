"""The next step of an agent that searches: keywords, meaning, reading chunks, answering.

In the manner of A-RAG (Du et al. 2026, arXiv 2602.03442): search shows only numbers and snippets of
chunks, and reading one shows it whole, once. A-RAG keeps all results in a window of 128,000 tokens.
Here they must fit a small one: the latest result is shown as it came, of earlier ones the actions
remain with the chunks' numbers, the labels of chunks that are not read yet, and the agent's notes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from pydantic import Field

from graphreader import tokens
from graphreader.deciding.decisions import Decision
from graphreader.deciding.tasks import Task, folded, names
from graphreader.usage import Phase

NOTES_TOKENS = 400
"""The agent's notes at most: they stand in every later prompt."""

MOST_READ = 3
"""Chunks that may be read in one step."""


class SearchStep(Decision):
    """What an agent does next that searches chunks and reads them."""

    notes: str = Field(
        default="",
        description="The notes anew: what they held and what the latest result adds that helps "
        "to answer, and in one sentence what is still missing.",
    )
    function: Literal["keyword_search", "semantic_search", "read_chunk", "answer"] = Field(
        description="keyword_search for names and exact words; semantic_search for what may be "
        "worded otherwise; read_chunk to read listed chunks in full; answer when what was read "
        "is enough, or when nothing more can be found."
    )
    words: list[str] = Field(
        default_factory=list, description="For keyword_search: one to five words or names."
    )
    query: str = Field(default="", description="For semantic_search: a sentence or a phrase.")
    chunks: list[int] = Field(
        default_factory=list,
        description="For read_chunk: the numbers of at most three chunks that are not read yet. "
        "For answer: the numbers of the chunks on which the answer rests, the best first.",
    )

    @property
    def argument(self) -> str:
        """What is searched for, in one line; empty for the other functions."""
        if self.function == "keyword_search":
            return ", ".join(word for one in self.words if (word := folded(one)))
        return folded(self.query) if self.function == "semantic_search" else ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk under its number: in full where it is read now, else with what was found in it.

    `read` where it was read before: it is not shown in full again.
    """

    number: int
    label: str
    text: str
    in_full: bool = False
    read: bool = False

    def shown(self) -> str:
        """With its text, in one line unless it is in full."""
        if self.in_full:
            return f"[{self.number}] {folded(self.label)}, in full:\n{self.text.strip()}"
        read = " (read before)" if self.read else ""
        return f"[{self.number}] {folded(self.label)}{read}: {folded(self.text)}"


@dataclass(frozen=True, slots=True)
class Search:
    """An action that was taken, and the chunks that it showed."""

    function: str
    argument: str
    numbers: tuple[int, ...]

    def shown(self) -> str:
        """One line."""
        numbers = " ".join(f"[{number}]" for number in self.numbers) or "nothing"
        return f"- {self.function}({folded(self.argument)}): {numbers}"


@dataclass(frozen=True, slots=True)
class SearchStepTask(Task[SearchStep]):
    """Choose the next step. Its choices are the latest result, best first, then `waiting` chunks.

    `waiting` are chunks that were found and are not read yet, without text, the latest first;
    `unread` the numbers that may be read, `steps` how many more there may be after this one.
    """

    prompt = "search_step"
    decision = SearchStep
    phase: ClassVar[Phase] = "read"
    reply_tokens: ClassVar[int] = 900
    question: str
    notes: str
    actions: tuple[Search, ...]
    result: tuple[Hit, ...]
    waiting: tuple[Hit, ...]
    unread: frozenset[int]
    steps: int
    options: tuple[str, ...] = ()
    left_out: int = 0

    def values(self) -> dict[str, str]:
        """Question with options, notes, actions, the latest result, what waits, steps left."""
        options = f"Options:\n{names(self.options)}" if self.options else ""
        left_out = [f"({self.left_out} more are not shown.)"] if self.left_out else []
        waiting = [f"[{hit.number}] {folded(hit.label)}" for hit in self.waiting]
        return {
            "question": self.question,
            "options": options,
            "notes": self.notes or "(empty)",
            "actions": "\n".join(action.shown() for action in self.actions) or "(none yet)",
            "result": "\n\n".join(hit.shown() for hit in self.result) or "(nothing)",
            "waiting": "\n".join([*waiting, *left_out]) or "(none)",
            "steps": str(self.steps),
        }

    def problem(self, decision: SearchStep) -> str | None:
        """A search for nothing or for the same again; no chunk to read; an answer from nothing."""
        length = tokens.count(decision.notes)
        if length > NOTES_TOKENS:
            return f"The notes have {length} tokens: write them anew with at most 200 words."
        if decision.function == "read_chunk":
            return self._problem_of_reading(decision.chunks)
        if decision.function == "answer":
            has_read = any(action.function == "read_chunk" for action in self.actions)
            return "Read a chunk before you answer." if self.unread and not has_read else None
        if not decision.argument:
            return f"{decision.function} needs what is to be searched for."
        if self.was_searched(decision.function, decision.argument):
            return "That was searched for already: search for something else, read, or answer."
        return None

    def _problem_of_reading(self, chunks: Sequence[int]) -> str | None:
        if self.unread.intersection(chunks):
            return None
        unread = sorted(self.unread)
        return (
            f"read_chunk needs numbers of chunks that are not read yet, out of {unread}."
            if unread
            else "There is no chunk that is not read yet: search for something else, or answer."
        )

    def was_searched(self, function: str, argument: str) -> bool:
        """Whether the same search was made before."""
        return any(
            action.function == function and action.argument.casefold() == argument.casefold()
            for action in self.actions
        )

    @property
    def choices(self) -> int:
        """What was found last, and what waits."""
        return len(self.result) + len(self.waiting)

    def keeping(self, number: int) -> Self:
        """The best of the latest result, then the chunks that wait."""
        kept = min(number, len(self.result))
        return replace(
            self,
            result=self.result[:kept],
            waiting=self.waiting[: number - kept],
            left_out=self.left_out + self.choices - number,
        )
