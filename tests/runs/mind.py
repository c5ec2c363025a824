"""A model's mind for the OpenAI-compatible server: sensible replies, a function of the request.

It knows a prompt by the marks around its materials, so it makes no difference to it in which form
the reply is asked for. It reads as it was told: every sentence is a fact, names and numbers are its
key elements, and a sentence that holds all names and numbers of the question is the answer.
"""

import re
from collections.abc import Callable
from typing import Any

from tests.runs.openai_faults import Body

Reply = dict[str, Any]

_SENTENCE = re.compile(r"[^.?!。？！]+[.?!。？！]")
_NUMBER = re.compile(r"<\d+>")
_NAME = re.compile(r"\b[A-Z][a-z]*\d+\b|\b\d{3,}\b")
NEIGHBORS_TRIED = 2


def decision_of(body: Body) -> str:
    """The name of the decision that is asked for."""
    text = _user(body)
    marks = ("passage", "nodes", "facts", "chunk", "neighbors", "claims", "quotes", "notebooks")
    mark = next((mark for mark in marks if f"\n</{mark}>" in text), "")
    return _DECISIONS[mark][0]


def think(body: Body) -> Reply:
    """The reply."""
    decide = {name: decide for name, decide in _DECISIONS.values()}[decision_of(body)]
    return decide(_user(body))


def passage(body: Body) -> str:
    """The text to be extracted, in single spaces, without the numbers of its sentences."""
    return " ".join(_NUMBER.sub("", _between(_user(body), "passage")).split())


def names(text: str) -> list[str]:
    """Names and numbers of a text, each once."""
    return list(dict.fromkeys(_NAME.findall(text)))


def _user(body: Body) -> str:
    """The task itself; what follows are corrections."""
    return str(body["messages"][1]["content"])


def _between(text: str, mark: str) -> str:
    found = re.search(rf"<{mark}>\n(.*?)\n</{mark}>", text, re.DOTALL)
    return found[1] if found else ""


def _question(text: str) -> str:
    found = re.search(r"^Question: (.*)$", text, re.MULTILINE)
    assert found, text
    return found[1]


def _numbered(text: str, mark: str) -> dict[int, str]:
    """The numbered things of a part, each with the lines below it."""
    parts = re.split(r"^\[(\d+)\] ", _between(text, mark), flags=re.MULTILINE)
    return dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))


def _extract(text: str) -> Reply:
    sentences = [" ".join(one.split()) for one in _SENTENCE.findall(_between(text, "passage"))]
    return {"facts": [{"fact": one, "key_elements": names(one)} for one in sentences if names(one)]}


def _plan(text: str) -> Reply:
    question = _question(text)
    return {"plan": f"Find the sentence that answers: {question}", "needs": names(question)[:8]}


def _choose_nodes(text: str) -> Reply:
    nodes, asked = _numbered(text, "nodes"), names(_question(text))
    best_first = sorted(nodes, key=lambda number: nodes[number].strip() not in asked)[:12]
    return {"nodes": [{"number": one, "score": 100 - rank} for rank, one in enumerate(best_first)]}


def _look_at_facts(text: str) -> Reply:
    groups = _numbered(text, "facts")
    unread = [n for n, group in groups.items() if "(already read)" not in group.split("\n")[0]]
    function = "read_chunk" if unread else "stop_and_read_neighbor"
    notebook = _between(text, "notebook").removeprefix("(empty)")
    reason = f"Of {len(groups)} chunks {len(unread)} are not read."
    return {
        "notebook": notebook,
        "rationale": reason,
        "function": function,
        "chunks": unread[:2],
    }


def _read_chunk(text: str) -> Reply:
    asked = set(names(_question(text)))
    sentences = [one.strip() for one in _SENTENCE.findall(_between(text, "chunk"))]
    quotes = [one for one in sentences if asked <= set(names(one))]
    notebook = _between(text, "notebook").removeprefix("(empty)")
    return {
        "notebook": "\n".join(dict.fromkeys([notebook, *quotes])).strip(),
        "quotes": quotes,
        "rationale": f"It holds {len(quotes)} answers.",
        "function": "termination" if quotes else "search_more",
    }


def _choose_neighbor(text: str) -> Reply:
    tried = text.count(": read_neighbor_node(")
    goes_on = tried < NEIGHBORS_TRIED
    return {
        "rationale": f"{tried} neighbors were tried.",
        "function": "read_neighbor_node" if goes_on else "termination",
        "neighbor": 1 if goes_on else 0,
    }


def _answer(text: str) -> Reply:
    asked = set(names(_question(text)))
    quotes = _numbered(text, "quotes")
    good = [number for number, quote in quotes.items() if asked <= set(names(quote))]
    answer = quotes[good[0]].split(": ", 1)[1].strip() if good else "The texts do not tell."
    return {
        "analysis": f"{len(good)} quotes answer.",
        "answer": answer,
        "explanation": "",
        "confidence": "stated" if good else "not in the texts",
        "claims": [{"claim": answer, "citations": good[:1]}] if good else [],
        "contradictions": [],
    }


def _condense(text: str) -> Reply:
    words = _between(text, "notebooks").split()
    return {"notebook": " ".join(words[:200])}


_DECISIONS: dict[str, tuple[str, Callable[[str], Reply]]] = {
    "passage": ("Extraction", _extract),
    "nodes": ("InitialNodes", _choose_nodes),
    "facts": ("FactsDecision", _look_at_facts),
    "chunk": ("ChunkDecision", _read_chunk),
    "neighbors": ("NeighborDecision", _choose_neighbor),
    "claims": ("ClaimCheck", lambda text: {"claims": [], "confidence": "stated"}),
    "quotes": ("Answer", _answer),
    "notebooks": ("Condensed", _condense),
    "": ("RationalPlan", _plan),
}
