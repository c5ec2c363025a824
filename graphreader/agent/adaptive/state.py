"""The state of a run of mode `adaptive`, in plain JSON types only."""

from dataclasses import asdict
from typing import Any

from typing_extensions import TypedDict

from graphreader.agent.adaptive.tasks import Notebook, Result
from graphreader.agent.state import Costs, NodeRef, Plain, RunState, Seen
from graphreader.reading import FunctionCall, Stopped
from graphreader.tokens import count

OWN_PATH = 1  # the turns count as this path; exploring paths come after it

_NOTEBOOK_TOKENS = 900  # tokens of findings in a prompt; longer findings are shown without quotes


class KeptFinding(TypedDict):
    """A finding; `quote` is the index of its verified quote in the run's quotes, or None."""

    text: str
    passage: str
    quote: int | None


class AdaptiveState(RunState, total=False):
    """The state of a run.

    `documents` are the ids of documents, by number; `passages` the ids of the chunks that were
    shown, by number. `turn` counts the turns that were taken, `stalled` the latest ones without a
    finding; `pending` are the actions of the latest, `thoughts` its notes. `draft` is the final
    answer before its claims are checked. The fields of a path (`PathState`) stand for the turns.
    """

    path: int
    initial_node: NodeRef
    functions: list[Plain]
    notebook: str
    quotes: list[Plain]
    read: list[str]
    seen: Seen
    stopped: Stopped | None
    error: str | None
    documents: list[str]
    passages: dict[str, str]
    results: list[Result]
    pending: list[dict[str, str]]
    actions: list[str]
    absent: list[str]
    findings: list[KeptFinding]
    thoughts: str
    turn: int
    turns_left: int
    stalled: int
    own_costs: Costs
    draft: dict[str, Any]


def first_state(question: str) -> AdaptiveState:
    """The state before the first search."""
    return {
        "path": OWN_PATH,
        "initial_node": {"id": "", "name": "question"},
        "functions": [asdict(FunctionCall("search", question, "", "question"))],
        "notebook": "",
        "quotes": [],
        "read": [],
        "seen": {},
        "own_costs": {},
        "stopped": None,
        "error": None,
        "documents": [],
        "passages": {},
        "results": [],
        "pending": [],
        "actions": [],
        "absent": [],
        "findings": [],
        "thoughts": "",
        "turn": 0,
        "stalled": 0,
        "plan": "",
        "needs": [],
        "related": [],
        "nodes": [],
    }


def notebook_of(state: AdaptiveState) -> Notebook:
    """The notebook for prompts; if it is too long, without quotes, then without old findings.

    Each finding names its passage.
    """
    findings = [_with_quote(one, state["quotes"]) for one in state["findings"]]
    if count("\n".join(findings)) > _NOTEBOOK_TOKENS:
        findings = [f"{one['text']} [{one['passage']}]" for one in state["findings"]]
    first = 0
    while count("\n".join(findings[first:])) > _NOTEBOOK_TOKENS:
        first += 1
    return Notebook(
        tuple(state["needs"]), tuple(state["absent"]), tuple(findings), state["thoughts"], first
    )


def _with_quote(finding: KeptFinding, quotes: list[Plain]) -> str:
    place = finding["quote"]
    quote = "" if place is None else f": “{quotes[place]['quote']}”"
    return f"{finding['text']} [{finding['passage']}{quote}]"
