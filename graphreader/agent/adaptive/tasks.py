"""The decision of a turn: new findings, what is missing, and either actions or the answer.

A passage is numbered "3.12": chunk 12 of the third document that turned up. So a number stays the
same for the whole run, and the chunks around a passage can be named, too.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, TypedDict

from pydantic import Field

from graphreader import tokens
from graphreader.agent.adaptive.notebook import Notebook
from graphreader.llm.protocols import Decision, Task, bulleted, folded
from graphreader.reading import Confidence
from graphreader.usage import Phase

ActionName = Literal[
    "search",
    "read_node",
    "read_neighbor_node",
    "read_chunk",
    "read_previous_chunk",
    "read_subsequent_chunk",
    "outline",
    "count",
    "list",
    "sweep",
]
MAX_ACTIONS = 5  # actions of one turn
PATH_CALLS = 3  # calls of a path that explores where turns stall
NOTES_TOKENS = 300  # the longest notes: every later prompt contains them
LATEST_ACTIONS = 12  # earlier actions that a prompt lists


class Finding(Decision):
    """A statement of a passage, for the notebook."""

    finding: str
    passage: str = Field(description="Such as 3.12.")
    quote: str


class Action(Decision):
    """A search, or the reading of a node, chunk or outline, or a count or list.

    `within` limits it: a document, 3, a part of one, 3.20-40, or days, 2023-06..2023-08.
    """

    function: ActionName
    argument: str
    within: str = ""


class Conflict(Decision):
    """A contradiction between findings, of which two sides are named by their numbers."""

    about: str
    findings: list[int]


class Turn(Decision):
    """The decision of a turn: the update of the notebook, and actions or an answer.

    Numbers of findings are as in the prompt; the new ones are numbered on.
    """

    findings: list[Finding] = Field(default_factory=list)
    struck: list[int] = Field(default_factory=list)
    needs: list[str] = Field(default_factory=list)
    absent: list[str] = Field(default_factory=list)
    notes: str = ""
    actions: list[Action] = Field(default_factory=list)
    answer: str = ""
    explanation: str = ""
    confidence: Confidence = "stated"
    rests_on: list[int] = Field(default_factory=list)
    conflicts: list[Conflict] = Field(default_factory=list)

    @property
    def is_final(self) -> bool:
        """Whether the turn ends the run: without actions, or with an answer that is stated."""
        return not self.actions or (bool(self.answer.strip()) and self.confidence == "stated")


class ShownPassage(TypedDict):
    """A passage as a result shows it: `whole`, or by some of its facts.

    `facts` are their indexes in the chunk.
    """

    number: str
    title: str
    text: str
    chunk: str
    document_id: str
    index: int
    whole: bool
    facts: list[int]


class Result(TypedDict):
    """The result of one action: passages, best first, and a line of text."""

    action: str
    passages: list[ShownPassage]
    text: str


@dataclass(frozen=True, slots=True)
class TurnTask(Task[Turn]):
    """Update the notebook from the results, then act or answer.

    Its choices are the passages of all results, in turn the best of each; a result names those that
    did not fit. `turns` is the number of turns left; `earlier` is the exchange that the question
    follows up, or empty. `texts` is a sentence about the size of the texts, in the first turn;
    `room` is the number of tokens for the results of the next turn.
    """

    prompt = "adaptive_turn"
    decision = Turn
    phase: ClassVar[Phase] = "explore"
    reply_tokens = 1500
    streamed = True
    question: str
    notebook: Notebook
    actions: tuple[str, ...]
    results: tuple[Result, ...]
    turns: int
    earlier: str = ""
    texts: str = ""
    room: int = 0

    def values(self) -> dict[str, str]:
        """Question, notebook with the actions so far, results, and the actions still possible."""
        question = f"{self.question}\n\n{self.earlier}" if self.earlier else self.question
        actions = self.actions[-LATEST_ACTIONS:]
        done = f"\nActions so far:\n{bulleted(actions)}" if actions else ""
        results = [_shown(result) for result in self.results]
        return {
            "question": question,
            "notebook": self.notebook.shown() + done,
            "results": "\n\n".join(results) or "(nothing)",
            "outlook": self._outlook(),
        }

    def problem(self, decision: Turn) -> str | None:
        """Reject a turn without answer and actions, a last turn without answer, and long notes."""
        if tokens.count(decision.notes) > NOTES_TOKENS:
            return "The notes are too long: write them anew with at most 150 words."
        has_answer = bool(decision.answer.strip())
        if not self.turns and not has_answer and decision.confidence != "not in the texts":
            return "This is the last turn: give the best supported answer."
        if decision.actions or has_answer or decision.confidence == "not in the texts":
            return None
        return "Give an answer, or at least one action."

    @property
    def choices(self) -> int:
        """The number of passages in all results."""
        return sum(len(result["passages"]) for result in self.results)

    def keeping(self, number: int) -> Self:
        """A copy with the best passages of each result in turn; other passages are only named."""
        places = sorted(
            (rank, at)
            for at, result in enumerate(self.results)
            for rank in range(len(result["passages"]))
        )[:number]
        kept = [sum(at == one for _, at in places) for one in range(len(self.results))]
        results = tuple(map(_shortened, self.results, kept))
        return replace(self, results=results)

    def _outlook(self) -> str:
        if not self.turns:
            return "This is the last turn: answer now, with what there is."
        left = f"Turns left after this one: {self.turns}, with {self.room} tokens of results each."
        return f"{self.texts}\n{left}" if self.texts else left


@dataclass(frozen=True, slots=True)
class LastTurnTask(TurnTask):
    """The turn that must answer; the budget reserves its cost."""

    phase = "answer"


def _shown(result: Result) -> str:
    """The text of a result: the action, its passages, and its line of text."""
    passages = [
        f"[{one['number']}] {folded(one['title'])}\n{one['text'].strip()}"
        for one in result["passages"]
    ]
    return "\n".join([f"{folded(result['action'])}:", *passages, *filter(None, [result["text"]])])


def _shortened(result: Result, number: int) -> Result:
    """A copy of a result with its best passages, and the numbers of those without room."""
    passages = result["passages"]
    if number >= len(passages):
        return result
    left = ", ".join(one["number"] for one in passages[number:])
    line = f"No room for {left}: ask for fewer at once."
    text = "\n".join(filter(None, [result["text"], line]))
    return {**result, "passages": passages[:number], "text": text}


def passage_number(passage: str) -> str:
    """The number of a passage without brackets or other marks around it."""
    return passage.strip(" []().#")
