"""What a person sees while the questions of a file are asked."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from graphreader.cli.ask_file import AskDisplay, FileQuestion, ask_all
from graphreader.errors import (
    DecisionError,
    GraphReaderError,
    ModelClosedError,
    ModelRefusedError,
    ModelUnavailableError,
    Neo4jRefusedError,
    Neo4jUnavailableError,
)
from graphreader.reading import Reading
from graphreader.usage import Usage


class Clock:
    """Seconds that a test moves on."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def reading(answered: bool = True) -> Reading:
    return Reading("Who?", "A.", "", answered, "c", "p", usage=Usage(4, 90, 10, dollars=0.5))


def failure() -> DecisionError:
    error = DecisionError("The model [x]\nwent away.")
    error.spent = Usage(1, 5, 5)
    return error


@pytest.fixture
def clock() -> Clock:
    return Clock()


# How far it is, how fast it goes and how long it will take is told once something is known.
def test_the_line(clock: Clock) -> None:
    display = AskDisplay(1_040, 1_000, clock=clock)
    first = display.line()
    for _ in range(9):
        clock.now += 6
        display.add(1, reading())
    clock.now += 6
    display.add(2, failure())

    assert first == "1,000 of 1,040 answered"
    assert display.line() == "1,009 of 1,040 answered, 1 failed, 10.0 a minute, about 3 min left"


# The rate is that of the latest answers, and nothing is told of it when all are through.
def test_the_rate(clock: Clock) -> None:
    display = AskDisplay(400, clock=clock)
    for seconds in [60] * 150 + [1] * 249:
        clock.now += seconds
        display.add(1, reading())
    before = display.line()
    display.add(1, reading())

    assert before == "399 of 400 answered, 60.0 a minute, about 1 s left"
    assert display.line() == "400 of 400 answered"


# At the end it is told what came of all, and what it cost, failures too.
def test_the_summary(clock: Clock) -> None:
    display = AskDisplay(5, 1, clock=clock)
    for outcome in (reading(), reading(answered=False), failure()):
        display.add(3, outcome)

    assert display.summary() == (
        "3 of 5 questions answered, 1 of them before, 1 not in the texts, 1 failed. "
        "Cost: 9 calls, 210 tokens, $1.00."
    )


# A log gets a line from time to time, and one for each of the first failures, on stderr alone.
def test_a_log(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with AskDisplay(100, clock=clock) as drawing:
        for number in range(50):
            clock.now += 1
            drawing.add(f"q{number}", failure() if number % 7 == 3 else reading())
    said = capsys.readouterr()
    lines = said.err.splitlines()

    assert said.out == ""
    assert [line for line in lines if line.startswith("q")] == [
        f"q{number}: The model [x] went away." for number in (3, 10, 17, 24, 31)
    ]
    assert lines.count("... further failures are recorded in the answers only") == 1
    assert [line for line in lines if line.startswith("ask: ")] == [
        "ask: 9 of 100 answered, 1 failed, 60.0 a minute, about 1 min 30 s left",
        "ask: 17 of 100 answered, 3 failed, 60.0 a minute, about 1 min 20 s left",
        "ask: 26 of 100 answered, 4 failed, 60.0 a minute, about 1 min 10 s left",
        "ask: 34 of 100 answered, 6 failed, 60.0 a minute, about 1 min left",
        "ask: 43 of 100 answered, 7 failed, 60.0 a minute, about 50 s left",
    ]


# A line that lives in a terminal leaves stdout to the answers.
def test_stdout_is_left_alone(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with AskDisplay(2, clock=clock) as drawing:
        sys.stdout.write('{"id": 1}\n')
        drawing.add(1, reading())
    said = capsys.readouterr()

    assert said.out == '{"id": 1}\n'
    assert "of 2 answered" in said.err
    assert said.err.rindex("\x1b[?25h") > said.err.rindex("\x1b[?25l")


class Answering:
    """Answers questions with these outcomes, one after the other."""

    corpus = "c"

    def __init__(self, *outcomes: Reading | GraphReaderError) -> None:
        self.outcomes = outcomes
        self.asked = 0

    def documents(self) -> list[str]:
        return ["a document"]

    def batch_as_completed(
        self, questions: list[str], **_: Any
    ) -> Iterator[tuple[int, Reading | GraphReaderError]]:
        for place, outcome in enumerate(self.outcomes):
            self.asked += 1
            yield place, outcome


def ask(*outcomes: Reading | GraphReaderError) -> tuple[int, int, str]:
    """How many questions were asked, how many outcomes were kept, what ended it before its end."""
    reader, kept = Answering(*outcomes), list[Any]()
    runs = dict.fromkeys(FileQuestion(number, "Who?") for number in range(len(outcomes)))
    said = ""
    try:
        ask_all(reader, runs, False, kept.append, AskDisplay(len(outcomes)))  # type: ignore[arg-type]
    except GraphReaderError as error:
        said = str(error)
    return reader.asked, len(kept), said


# What every question would meet ends all of them; a refusal of one question does not.
def test_what_ends_all() -> None:
    good = reading()

    for closed in (ModelClosedError("The key."), Neo4jRefusedError("The password.")):
        assert ask(good, closed, good, good) == (2, 1, str(closed))
    assert ask(good, ModelRefusedError("This one."), good, good) == (4, 4, "")


# A service that is gone ends all after three questions with no answer between them.
def test_a_service_that_is_gone() -> None:
    good, odd = reading(), failure()
    model, neo4j = ModelUnavailableError("The model is gone."), Neo4jUnavailableError("Gone.")

    assert ask(good, model, neo4j, odd, model, good, good) == (
        5,
        5,
        "The model is gone. No more questions are asked meanwhile.",
    )
    assert ask(model, model, good, model, model, good) == (6, 6, "")
    assert ask(model, model, model) == (3, 3, "")
