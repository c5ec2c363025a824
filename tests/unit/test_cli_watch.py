"""What a person sees of a run: in a terminal, in a pipe, in a narrow one, without colours."""

import io
import re
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from graphreader.agent.events import (
    AnswerToken,
    CandidatesFound,
    ChunkRead,
    Event,
    FactsRead,
    FunctionChosen,
    NeighborsSeen,
    NodesChosen,
    NoteTaken,
    PathEnded,
    PlanMade,
    QuestionAnswered,
    RunBegan,
)
from graphreader.agent.run_store import RunSummary
from graphreader.cli import console as console_module
from graphreader.cli.console import cost_text
from graphreader.cli.main import Interrupted
from graphreader.cli.runs import _print_runs
from graphreader.cli.watch import print_run, watch
from graphreader.reading import Citation, Claim, Contradiction, FunctionCall, Path, Reading
from graphreader.runs import KeptRun
from graphreader.usage import Usage

NODES = ("Joan of Arc", "圣女贞德", "[bold]odd[/bold] name", "canonized", "visions")
CALLS = (
    FunctionCall("read_chunk", "life, chunk 0; life, chunk 3", "r"),
    FunctionCall("search_more", "", "r"),
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
    citations=(Citation("life", "d1", 3, 120, 155, QUOTE, 7, "Her [trial]"),),
    paths=(
        *(Path(node, "", len(CALLS), "termination", None, CALLS) for node in NODES[:4]),
        Path(NODES[4], "", 0, "error", "The model [x] went away."),
    ),
    usage=Usage(31, 12_000, 345, 4.25, dollars=0.0105525, reused=2),
    phases={
        "plan": Usage(1, 300, 45),
        "select": Usage(reused=2),
        "explore": Usage(29, 11_000, 250),
        "answer": Usage(1, 700, 50),
    },
    decider="openai:fake",
    notes=("No language [model] is in use.",),
)


def events(reading: Reading = READING) -> Iterator[Event]:
    yield RunBegan(reading.run)
    yield PlanMade(reading.plan, ("the [year]", "the pope"))
    yield CandidatesFound((*NODES, "another"))
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
@pytest.mark.parametrize("width", [40, 120])
def test_in_a_pipe(width: int) -> None:
    text = shown(width)

    lines = text.splitlines()
    heads = [line.partition(" ")[0] for line in lines if line.endswith("──")]
    assert heads == ["Plan", "Paths", "Answer", "Citations"]
    assert max(map(len, lines)) <= width
    assert "\x1b" not in text
    flat = " ".join(text.split())
    assert flat.count("Look for the [year]. Needed: the [year]; the pope") == 1
    assert (
        "4 canonized 4 calls, done read_chunk(life, chunk 0; life, chunk 3) → search_more →" in flat
    )
    assert "→ read_neighbor_node(Domrémy) → termination" in flat
    assert "3 [bold]odd[/bold] name 4 calls" in flat
    assert "5 visions 0 calls, error The model [x] went away." in flat
    assert flat.count("In 1920 [see 1].") == 1
    assert "1 life, page 7, “Her [trial]”, chunk 3 characters 120-155" in flat
    assert "“She was canonized in 1920. [red]”" in flat
    assert "openai:fake: 31 calls, 12,345 tokens, $0.0106, 2 from the cache, 4.2 s" in flat
    assert "calls (tokens): plan 1 (345), explore 29 (11,250), answer 1 (750)" in flat
    assert flat.endswith("No language [model] is in use.")


# In a terminal the live lines go away: what stays is what a pipe gets.
def test_in_a_terminal() -> None:
    text = shown(80, terminal=True)

    assert text.count("Citations ──") == 1
    last = text.rindex("\x1b[1A")  # the last line of the live part that is taken back
    assert text[last:].count("read_neighbor_node(Domrémy)") == 4
    assert "\x1b[?25h" in text  # the cursor is shown again


# The cost has what is known of it, and is marked where it is an estimate.
@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (Usage(18), "18 calls"),
        (Usage(3, 1000, 234, estimated=1, dollars=0.5), "3 calls, about 1,234 tokens, about $0.5"),
        (Usage(3, 1000, 234, dollars=0.5, unpriced=1), "3 calls, 1,234 tokens, at least $0.5000"),
        (Usage(3, 1000, 234, unpriced=3), "3 calls, 1,234 tokens"),
        (Usage(reused=12), "0 calls, 12 from the cache"),
    ],
)
def test_cost(usage: Usage, text: str) -> None:
    assert cost_text(usage).startswith(text)


# What else a reading may be: not answered, ended by a budget (which is said once), kept as a run.
def test_other_readings() -> None:
    spent = "The budget of this run is used up."
    paths = tuple(Path(node, "", 0, "budget", spent) for node in NODES)
    nothing = shown(80, reading=Reading("Why?", "No.", "", False, "c", "Look.", usage=Usage(1)))
    ended = shown(80, reading=replace(READING, paths=paths, notes=(spent,), run="my run 1"))

    assert "Not answered ──" in nothing
    assert not re.search(r"Citations|calls \(tokens\)|runs show", nothing)
    assert (ended.count("0 calls, budget"), ended.count(spent)) == (5, 1)
    assert "graphreader runs show 'my run 1'\n" in ended


class Screen(io.StringIO):
    """A terminal that can tell what lives on it just now."""

    def frame(self, console: Console) -> str:
        """Its live part, as it is drawn last."""
        self.seek(0)
        self.truncate()
        assert console._live_stack
        console._live_stack[-1].refresh()
        return self.getvalue()


def frames(happens: list[Event]) -> list[str]:
    """What is seen in a terminal after each event, once the initial nodes stand."""
    screen = Screen()
    console = Console(file=screen, width=80, force_terminal=True, color_system=None)
    seen: list[str] = []

    def told() -> Iterator[Event]:
        yield NodesChosen(NODES[:2])
        for event in happens:
            yield event
            seen.append(screen.frame(console))
        yield QuestionAnswered(READING)

    watch(told(), console)
    return seen


# Each path shows what it does just now, and below that what it noted last. The answer grows as it
# is written; one that is begun again stands alone.
def test_live_frames() -> None:
    facts = ("A fact.", "Another one.")
    shown = frames(
        [
            FactsRead(1, "Joan [of] Arc", facts, ("life, chunk 0", "life, chunk 3")),
            FunctionChosen(1, "Joan of Arc", CALLS[0]),
            ChunkRead(1, "Joan of Arc", "life", "d1", 3),
            NoteTaken(1, "- She had visions.\n- She was [canonized] in 1920.\n"),
            NeighborsSeen(1, "Joan of Arc", ("pope", "Rome")),
            PathEnded(1, "termination", "", None),
            PathEnded(2, "termination", "", None),
            AnswerToken("In the [year] ", True),
            AnswerToken("1919."),
            AnswerToken("In 1920.", True),
        ]
    )

    assert "looks at 2 facts of Joan [of] Arc  life, chunk 0; life" in shown[0]
    assert "1  Joan of Arc  1  read_chunk(life, chunk 0; life, chunk 3" in shown[1]
    assert "reads life, chunk 3" in shown[2]
    assert "She was [canonized] in 1920." in shown[3]
    assert "reads life, chunk 3" in shown[3]
    assert "looks at neighbors: pope, Rome" in shown[4]
    assert "1  Joan of Arc  1  done" in shown[5]
    assert "She was [canonized] in 1920." in shown[5]
    assert all("2  圣女贞德     0  …" in frame for frame in shown[:6])
    assert "Exploring" in shown[5]
    assert "Answering" in shown[6]
    assert "In the [year] 1919." in shown[8]
    assert "In 1920." in shown[9]
    assert "1919" not in shown[9]


# What the answer states is followed by the numbers of its citations, and marked where none supports
# it; a claim in other words stands below, and what the documents dispute, with both of them.
def test_claims() -> None:
    second = Citation("letters", "d2", 0, 0, 9, "In 1919.")
    reading = replace(
        READING,
        answer="In 1920. By a [pope]. In May.",
        citations=(*READING.citations, second),
        claims=(
            Claim("In 1920.", (1, 2)),
            Claim("By a [pope].", ()),
            Claim("It was spring.", (1,)),
            Claim("It rained."),
        ),
        contradictions=(Contradiction("The year is 1920 or 1919.", (1, 2)),),
    )

    text = " ".join(shown(200, reading=reading).split())

    assert "In 1920. [1, 2] By a [pope]. [unsupported] In May. - It was spring. [1]" in text
    assert "- It rained. [unsupported]" in text
    assert (
        "- The texts differ: The year is 1920 or 1919. [1, 2] (life, chunk 3 against letters, "
        "chunk 0)" in text
    )


HOSTILE = "odd\x1b]0;owned\x07\x1b[2J\x9b31m\r\x7f\u202egnp.exe\u2066"
OBEYED = set("\x1b\x07\x9b\r\x7f\u202e\u2066")


def hostile_events() -> Iterator[Event]:
    """A run in which every text is written by an enemy."""
    call = FunctionCall("read_chunk", HOSTILE, HOSTILE, HOSTILE)
    yield PlanMade(HOSTILE, (HOSTILE,))
    yield NodesChosen((HOSTILE,))
    yield FactsRead(1, HOSTILE, (HOSTILE,), (HOSTILE,))
    yield ChunkRead(1, HOSTILE, HOSTILE, "d", 1)
    yield NoteTaken(1, HOSTILE)
    yield NeighborsSeen(1, HOSTILE, (HOSTILE,))
    yield FunctionChosen(1, HOSTILE, call)
    yield AnswerToken(HOSTILE, True)
    citation = Citation(HOSTILE, "d", 1, 0, 9, HOSTILE, 7, HOSTILE)
    yield QuestionAnswered(
        Reading(
            question=HOSTILE,
            answer=f"{HOSTILE} and more",
            analysis=HOSTILE,
            answered=True,
            corpus="c",
            plan=HOSTILE,
            citations=(citation,),
            paths=(Path(HOSTILE, HOSTILE, 1, "error", HOSTILE, (call,)),),
            claims=(Claim(HOSTILE, (1,)), Claim(f"{HOSTILE}, said otherwise", (1,))),
            contradictions=(Contradiction(HOSTILE, (1,)),),
            decider=HOSTILE,
            notes=(HOSTILE,),
            run=HOSTILE,
        )
    )


# Nothing that a text, a model or a person wrote moves, names or clears the terminal: not in the
# output of a run, nor in its live display, nor in a kept run.
def test_hostile_texts() -> None:
    file = io.StringIO()
    watch(hostile_events(), Console(file=file, width=400))
    happens = [
        one
        for one in hostile_events()
        if not isinstance(one, PlanMade | NodesChosen | QuestionAnswered)
    ]
    shown = frames(happens)
    summary = RunSummary(HOSTILE, HOSTILE, HOSTILE, "failed", 1.0, 2.0, "offline", error=HOSTILE)
    ended = PathEnded(1, "error", HOSTILE, HOSTILE)
    kept = KeptRun(summary, (*list(hostile_events())[:-1], ended), None, {1: "plan"})
    kept_file = io.StringIO()
    print_run(Console(file=kept_file, width=400), kept)
    text = file.getvalue() + kept_file.getvalue() + listed(summary, width=400)

    assert not OBEYED & set(text)
    assert (file.getvalue().count("owned"), kept_file.getvalue().count("owned")) == (15, 13)
    assert "gnp.exe  [1] and more" in text
    assert all("owned" in frame for frame in shown)
    assert not any((OBEYED - set("\x1b\r")) & set(frame) for frame in shown)
    assert not any("\x1b]0" in frame for frame in shown)


def listed(*runs: RunSummary, width: int) -> str:
    """What `runs list` prints in a terminal of this width."""
    file = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console_module, "wide_console", lambda: Console(file=file, width=width))
        _print_runs(runs)
    return file.getvalue()


# A listed run keeps its id whole, also in a narrow terminal and one that looks like markup; a long
# question is cut.
def test_listed_runs() -> None:
    run = RunSummary("98e01db5c7aa", "books", "Who? " * 30, "interrupted", 1.0, 2.0, "offline")
    text = listed(run, replace(run, id="q[/x]"), width=80)

    cells = ("98e01db5c7aa", "1970-01-01 ", "interrupted", "books", "Who?", "q[/x]")
    assert all(cell in text for cell in cells)
    assert text.count("Who?") < 50


# An interrupted run that is kept says how to go on with it.
def test_interrupted() -> None:
    def interrupted() -> Iterator[Event]:
        yield RunBegan("my run")
        raise Interrupted(signal.SIGINT)

    with pytest.raises(Interrupted) as caught:
        watch(interrupted(), Console(file=io.StringIO()))

    assert getattr(caught.value, "__notes__", []) == [
        "Go on with `graphreader runs resume 'my run'`."
    ]
