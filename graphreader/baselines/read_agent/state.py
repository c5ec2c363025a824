"""What a run knows, in plain JSON types only: so it can be stored, shown and resumed."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from graphreader.agent.state import Costs, add_costs


class PageRef(TypedDict):
    """A page: a slice of the document of that id, `index` counts from 0 within it."""

    document: str
    title: str
    index: int
    start: int
    end: int
    tokens: int


class Question(TypedDict):
    """What the world puts in; with `options` one of them is to be chosen."""

    question: str
    options: NotRequired[list[str]]


class Answered(TypedDict):
    """What the world gets back. `looked_up` and `shown` are numbers of pages, as in `Run`."""

    answer: str
    analysis: str
    answered: bool
    quotes: list[str]
    looked_up: list[int]
    shown: list[int]
    evidence: str
    notes: list[str]
    costs: Costs


def add_notes(one: list[str], other: list[str]) -> list[str]:
    """Both, each note once."""
    return list(dict.fromkeys([*one, *other]))


class Run(TypedDict, total=False):
    """What the whole run knows.

    `gists[n]` is that of `pages[n]`, which in prompts is page n + 1. `looking` says whether pages
    are (still) to be looked up. `looked_up` are their numbers, in the order in which they were
    chosen; `shown` those that stood in a prompt in full. `evidence` is what the answer was drawn
    from.
    """

    question: str
    options: list[str]
    pages: list[PageRef]
    gists: list[str]
    looking: bool
    looked_up: list[int]
    shown: list[int]
    answer: str
    analysis: str
    answered: bool
    quotes: list[str]
    evidence: str
    notes: Annotated[list[str], add_notes]
    costs: Annotated[Costs, add_costs]
