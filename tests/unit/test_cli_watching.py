"""What a person sees of a run: in a terminal, in a pipe, in a narrow one, without colours."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from graphreader.agent.events import (
    Event,
    FunctionChosen,
    NodesChosen,
    PathEnded,
    PlanMade,
    QuestionAnswered,
)
from graphreader.cli.watching import watch
from graphreader.reading import Citation, FunctionCall, Path, Reading, Usage

NODES = ("Joan of Arc", "圣女贞德", "[bold]odd[/bold] name", "canonized", "visions")
MORE = FunctionCall("search_more", "", "r")
CALLS = (
    FunctionCall("read_chunk", "life, chunk 0; life, chunk 3; letters, part 2, chunk 1", "r"),
    MORE,
    MORE,
    MORE,
    FunctionCall("read_neighbor_node", "Domrémy", "r"),
    FunctionCall("termination", "", "r"),
)
QUOTE = "She was canonized\n  in 1920. [red]"
READING = Reading(
    question="When?",
    answer="In 1920 [see 1].",
    analysis="",
    answered=True,
    corpus="c",
    plan="Look for the [year].",
    citations=(Citation("life", "d1", 3, 120, 155, QUOTE),),
    paths=(
        *(Path(node, "", len(CALLS), "termination", None, CALLS) for node in NODES[:4]),
        Path(NODES[4], "", 0, "error", "The model [x] went away."),
    ),
    usage=Usage(31, 12_000, 345, 4.25),
    decider="openai:fake",
    notes=("No language [model] is in use.",),
)


def events(reading: Reading = READING) -> Iterator[Event]:
    yield PlanMade(reading.plan)
    yield NodesChosen(NODES)
    for path in range(1, 5):
        for call in CALLS:
            yield FunctionChosen(path, NODES[path - 1], call)
        yield PathEnded(path, "termination", "", None)
    yield PathEnded(5, "error", "", "The model [x] went away.")
    yield QuestionAnswered(reading)


def shown(width: int, terminal: bool = False, reading: Reading = READING) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    assert watch(events(reading), console) is reading
    return file.getvalue()


# Plan, paths, answer, citations, cost and notes stand in this order, each exactly once.
@pytest.mark.parametrize("width", [40, 80, 120])
def test_in_a_pipe(width: int) -> None:
    text = shown(width)

    lines = text.splitlines()
    heads = [line.partition(" ")[0] for line in lines if line.endswith("──")]
    assert heads == ["Plan", "Paths", "Answer", "Citations"]
    assert max(map(len, lines)) <= width
    assert "\x1b" not in text
    flat = " ".join(text.split())
    assert flat.count("Look for the [year].") == 1
    assert flat.count("In 1920 [see 1].") == 1
    assert "1 life, chunk 3 characters 120-155" in flat
    assert "“She was canonized in 1920. [red]”" in flat
    assert "openai:fake: 31 decisions, 12,345 tokens, 4.2 s" in flat
    assert flat.endswith("No language [model] is in use.")


# A path's trail is short: chunks of a document share its name, equal calls in a row are counted.
def test_trails() -> None:
    text = " ".join(shown(200).split())

    assert (
        "1 Joan of Arc 6 calls, done read_chunk(life, chunks 0, 3; letters, part 2, chunk 1) →"
        in text
    )
    assert "→ search_more ×3 → read_neighbor_node(Domrémy) → termination 2 圣女贞德" in text
    assert "3 [bold]odd[/bold] name 6 calls" in text
    assert "5 visions 0 calls, error The model [x] went away." in text


# In a terminal the live lines go away: what stays is what a pipe gets.
def test_in_a_terminal() -> None:
    text = shown(80, terminal=True)

    assert text.count("Citations ──") == 1
    last = text.rindex("\x1b[1A")  # the last line of the live part that is taken back
    assert text[last:].count("read_neighbor_node(Domrémy)") == 4
    assert "\x1b[?25h" in text  # the cursor is shown again


# Questions that the texts do not answer say so in the heading.
def test_not_answered() -> None:
    reading = Reading("Why?", "The texts do not tell.", "", False, "c", "Look.", usage=Usage(1))

    text = shown(80, reading=reading)

    assert "Not answered ──" in text
    assert "Citations" not in text
    assert "1 decision, 0 tokens" in text


# A failure in the middle gives the terminal back before it goes on.
def test_a_failure() -> None:
    def fail() -> Iterator[Event]:
        yield PlanMade("Look.")
        raise ValueError("gone")

    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True)
    with pytest.raises(ValueError, match="gone"):
        watch(fail(), console)

    assert file.getvalue().rindex("\x1b[?25h") > file.getvalue().rindex("\x1b[?25l")
