"""What a person sees of a run: in a terminal, in a pipe, in a narrow one, without colours."""

import io
import json
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
from graphreader.cli.console import Quiet
from graphreader.cli.runs import _print_runs
from graphreader.cli.signals import Interrupted
from graphreader.cli.watch import print_run, watch
from graphreader.reading import Citation, Claim, Contradiction, FunctionCall, Path, Reading
from graphreader.runs import KeptRun
from graphreader.usage import Usage
from graphreader.waiting import Waiting
from tests.snapshots import Snapshots

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


def terminal(file: io.StringIO, width: int) -> Console:
    """A terminal without a live picture."""
    options: dict[str, bool] = {"force_terminal": True, "force_interactive": False}
    return Console(file=file, width=width, color_system=None, **options)


def without_cursor(file: io.StringIO) -> str:
    """The output without the codes that hide and show the cursor."""
    return re.sub(r"\x1b\[\?25[lh]", "", file.getvalue())


def shown(width: int, reading: Reading = READING) -> str:
    """What stays in a terminal, without its codes."""
    file = io.StringIO()
    assert watch(events(reading), terminal(file, width)) is reading
    return without_cursor(file)


SPENT = "The budget of this run is used up."
CLAIMS = (Claim("She was canonized.", (1,)), Claim("It was in May.", (1,)))
WHY = "She was canonized. The year is inferred."
SCORED = tuple(replace(one, score=0.5) for one in READING.citations)
KINDS = {
    "answer": READING,
    "not answered": Reading("Why?", "No.", "", False, "c", "Look.", usage=Usage(1)),
    "ended by a budget, and kept as a run": replace(
        READING,
        paths=tuple(Path(node, "", 0, "budget", SPENT) for node in NODES),
        notes=(SPENT,),
        run="my run 1",
    ),
    "passages": replace(READING, decider="offline", citations=SCORED),
    "nearest passages": replace(READING, decider="offline", citations=SCORED, answered=False),
    "likely, with an explanation": replace(
        READING, claims=CLAIMS, explanation=WHY, confidence="likely"
    ),
    "not answered, with findings": replace(
        READING, claims=CLAIMS, explanation=WHY, confidence="likely", answered=False
    ),
    "claims and contradictions": replace(
        READING,
        answer="In 1920. By a [pope]. In May.",
        citations=(*READING.citations, Citation("letters", "d2", 0, 0, 9, "In 1919.")),
        claims=(
            Claim("In 1920.", (1, 2)),
            Claim("By a [pope].", ()),
            Claim("It was spring.", (1,)),
        ),
        contradictions=(Contradiction("The year is 1920 or 1919.", (1, 2)),),
    ),
}


# Of each kind of reading its plan, paths, answer, citations, cost and notes stay in a terminal:
# without a model passages with their scores, after a refusal the nearest; numbers of citations
# behind the claims; a budget that ended all paths is named once.
@pytest.mark.parametrize("kind", KINDS)
def test_what_stays(snapshots: Snapshots, kind: str) -> None:
    lines = shown(100, KINDS[kind]).splitlines()

    snapshots.check(kind, [line.rstrip() for line in lines])


# No line is wider than a narrow terminal, and nothing of the answer is left out there.
def test_narrow() -> None:
    narrow, wide = shown(40), shown(120)

    assert max(map(len, narrow.splitlines())) <= 40
    assert "\x1b" not in narrow
    assert narrow.replace("─", "").split() == wide.replace("─", "").split()


# A pipe has the answer alone, or its JSON; the steps and what is waited for are lines on stderr,
# where --quiet leaves nothing.
@pytest.mark.parametrize("as_json", [False, True])
def test_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    def waits() -> Iterator[Event]:
        yield Waiting("Neo4j", "Neo4j does not answer", 2.0)
        yield from events()

    watch(waits(), as_json=as_json)
    out, err = capsys.readouterr()
    monkeypatch.setattr(Quiet, "enabled", True)
    watch(waits(), as_json=as_json)

    lines = err.splitlines()
    assert lines[:2] == ["Neo4j does not answer", "Plan: Look for the [year]."]
    assert lines[2].startswith("5 paths, from: Joan of Arc, 圣女贞德")
    assert lines[3] == "Path 1 at Joan of Arc: read_chunk life, chunk 0; life, chunk 3"
    assert lines[-1] == "Path 5 ended: error"
    assert (out.count("\n") == 1) == as_json
    assert json.loads(out)["answer"] == READING.answer if as_json else out.startswith("Answer ──")
    assert capsys.readouterr() == (out, "")


def frames(happens: list[Event]) -> list[str]:
    """The live display after each event, once the initial nodes are chosen."""
    screen = io.StringIO()
    console = Console(file=screen, width=80, force_terminal=True, color_system=None)
    seen: list[str] = []

    def stream() -> Iterator[Event]:
        yield NodesChosen(NODES[:2])
        for event in happens:
            yield event
            screen.seek(0)
            screen.truncate()
            console._live_stack[-1].refresh()
            seen.append(screen.getvalue())
        yield QuestionAnswered(READING)

    watch(stream(), console)
    # What stays is the answer, and the cursor.
    assert screen.getvalue().count("Citations ──") == 1
    assert "\x1b[?25h" in screen.getvalue()
    return seen


# Each path shows what it does just now, and below that what it noted last. The answer grows as it
# is written; one that is begun again stands alone.
def test_live_frames() -> None:
    shown = frames(
        [
            FactsRead(1, "Joan [of] Arc", ("A fact.", "B."), ("life, chunk 0", "life, chunk 3")),
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
    assert "reads life, chunk 3" in shown[3]
    assert "She was [canonized] in 1920." in shown[3]
    assert "looks at neighbors: pope, Rome" in shown[4]
    assert "1  Joan of Arc  1  done" in shown[5]
    assert "Exploring" in shown[5]
    assert "Answering" in shown[6]
    assert "In the [year] 1919." in shown[8]
    assert "In 1920." in shown[9]
    assert "1919" not in shown[9]


HOSTILE = "odd\x1b]0;owned\x07\x1b[2J\x9b31m\r\x7f\u202egnp.exe\u2066"
OBEYED = set("\x1b\x07\x9b\r\x7f\u202e\u2066")


def hostile_events() -> list[Event]:
    """A run in which every text is written by an enemy."""
    call = FunctionCall("read_chunk", HOSTILE, HOSTILE, HOSTILE)
    reading = Reading(
        question=HOSTILE,
        answer=f"{HOSTILE} and more",
        analysis=HOSTILE,
        explanation=f"{HOSTILE}!",
        answered=True,
        corpus="c",
        plan=HOSTILE,
        citations=(Citation(HOSTILE, "d", 1, 0, 9, HOSTILE, 7, HOSTILE),),
        paths=(Path(HOSTILE, HOSTILE, 1, "error", HOSTILE, (call,)),),
        claims=(Claim(HOSTILE, (1,)), Claim(f"{HOSTILE}, said otherwise", (1,))),
        contradictions=(Contradiction(HOSTILE, (1,)),),
        decider=HOSTILE,
        notes=(HOSTILE,),
        run=HOSTILE,
    )
    return [
        PlanMade(HOSTILE, (HOSTILE,)),
        NodesChosen((HOSTILE,)),
        FactsRead(1, HOSTILE, (HOSTILE,), (HOSTILE,)),
        ChunkRead(1, HOSTILE, HOSTILE, "d", 1),
        NoteTaken(1, HOSTILE),
        NeighborsSeen(1, HOSTILE, (HOSTILE,)),
        FunctionChosen(1, HOSTILE, call),
        AnswerToken(HOSTILE, True),
        QuestionAnswered(reading),
    ]


# Nothing that a text, a model or a person wrote moves, names or clears the terminal: not in the
# output of a run, nor in its live display, nor in a kept run or the list of runs.
def test_hostile_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    events = hostile_events()
    out = [io.StringIO() for _ in range(3)]
    consoles = [terminal(file, 400) for file in out]
    watch(events, consoles[0])
    summary = RunSummary(
        HOSTILE, HOSTILE, HOSTILE, "failed", 1.0, 2.0, "offline", HOSTILE, 7, HOSTILE
    )
    ended = PathEnded(1, "error", HOSTILE, HOSTILE)
    print_run(consoles[1], KeptRun(summary, (*events[:-1], ended), None, {1: "plan"}))
    monkeypatch.setattr(console_module, "wide_console", lambda: consoles[2])
    _print_runs([summary])
    texts = [without_cursor(file) for file in out]
    shown = frames(events[2:-1])

    assert not OBEYED & set("".join(texts))
    assert [text.count("owned") for text in texts] == [17, 14, 3]
    assert "gnp.exe  [1] and more" in texts[0]
    assert all("owned" in frame for frame in shown)
    assert not any((OBEYED - set("\x1b\r")) & set(frame) for frame in shown)
    assert not any("\x1b]0" in frame for frame in shown)


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
