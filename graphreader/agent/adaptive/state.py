"""The state of a run of mode `adaptive`, in plain JSON types only."""

from dataclasses import asdict
from typing import Any

from graphreader.agent.adaptive.notebook import (
    KeptFinding,
    Notebook,
    finding_lines,
    room_of,
)
from graphreader.agent.adaptive.tasks import LATEST_ACTIONS, Action, Result
from graphreader.agent.state import Costs, NodeRef, Plain, RunState, Seen
from graphreader.reading import FunctionCall, Stopped
from graphreader.tokens import count

OWN_PATH = 1  # the turns count as this path; exploring paths come after it


class AdaptiveState(RunState, total=False):
    """The state of a run.

    `documents` are the ids of documents, by number; `passages` the ids of the chunks that were
    shown, by number. `turn` counts the turns that were taken, `stalled` the latest ones without a
    finding; `pending` are the actions of the latest, `thoughts` its notes. `swept` are the
    sweeps so far, each by the sentence on its coverage. `draft` is the final answer before its
    claims are checked, `first_answer` the likely answer before a second try. The fields of a path
    (`PathState`) stand for the turns.
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
    swept: list[str]
    texts: str
    turn: int
    turns_left: int
    stalled: int
    own_costs: Costs
    draft: dict[str, Any]
    first_answer: str


def first_state(action: Action) -> AdaptiveState:
    """The state before the first action, a search or a list."""
    return {
        "path": OWN_PATH,
        "initial_node": {"id": "", "name": "question"},
        "functions": [asdict(FunctionCall(action.function, action.argument, "", "question"))],
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
        "swept": [],
        "turn": 0,
        "stalled": 0,
        "plan": "",
        "needs": [],
        "related": [],
        "nodes": [],
    }


def notebook_of(state: AdaptiveState, window: int) -> Notebook:
    """The notebook for prompts: each finding with its passages, and its quote if there is room."""
    swept = bool(state.get("swept"))
    room = room_of(window, swept=swept)
    if swept:
        rest = [state["question"], state.get("earlier", ""), state["thoughts"], *state["needs"]]
        rest += [*state["absent"], *state["actions"][-LATEST_ACTIONS:]]
        room -= count("\n".join([*rest, *(one["text"] for one in state["results"])]))
    lines, first = finding_lines(state["findings"], state["quotes"], room, swept=swept)
    needs, absent = tuple(state["needs"]), tuple(state["absent"])
    return Notebook(needs, absent, tuple(lines), state["thoughts"], first)
