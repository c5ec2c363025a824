"""Files of questions and of answers, and the progress of asking them, without any server."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from filelock import FileLock

from graphreader.cli.ask import AskProgress, FileQuestion, ask_all
from graphreader.errors import (
    DecisionError,
    GraphReaderError,
    ModelClosedError,
    ModelRefusedError,
    ModelUnavailableError,
    Neo4jRefusedError,
    Neo4jUnavailableError,
)
from graphreader.reading import Path, Reading
from graphreader.usage import Usage
from tests.clock import Clock
from tests.terminal import Terminal


def reading(answered: bool = True) -> Reading:
    return Reading("Who?", "A.", "", answered, "c", "p", usage=Usage(4, 90, 10, dollars=0.5))


def failure() -> DecisionError:
    error = DecisionError("The model [x]\nwent away.")
    error.spent = Usage(1, 5, 5)
    return error


# How far it is, how fast it goes and how long it will take is told once something is known; at the
# end what came of all, and what it cost, failures too.
def test_progress() -> None:
    clock = Clock()
    progress = AskProgress(1_040, 1_000, clock=clock.now)
    first = progress.status()
    for outcome in [*[reading()] * 8, reading(answered=False), failure()]:
        clock.go_on(6)
        progress.add(1, outcome)

    assert first == "1,000 of 1,040 answered"
    assert progress.status() == (
        "1,009 of 1,040 answered, 1 failed, 10.0 a minute, about 3 min left"
    )
    assert progress.summary() == (
        "1,009 of 1,040 questions answered, 1,000 of them before, 1 not in the texts, 1 failed. "
        "Cost: 37 calls, 910 tokens, $4.50."
    )


# A log gets a line from time to time, and one for each of the first failures, on stderr alone.
def test_log(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with AskProgress(100, clock=clock.now) as progress:
        for number in range(50):
            clock.go_on(1)
            progress.add(f"q{number}", failure() if number % 7 == 3 else reading())
    out, err = capsys.readouterr()
    lines = err.splitlines()

    assert out == ""
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


# Bars that live in a terminal leave stdout to the answers, and give the cursor back.
def test_stdout_is_left_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TERM": "xterm", "TTY_INTERACTIVE": "1", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with AskProgress(2) as progress:
        sys.stdout.write('{"id": 1}\n')
        progress.add(1, reading())
    out, err = capsys.readouterr()

    assert out == '{"id": 1}\n'
    assert "of 2 answered" in err
    assert err.rindex("\x1b[?25h") > err.rindex("\x1b[?25l")


class Answering:
    """A reader that answers questions with these outcomes, one after the other."""

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
    questions = [FileQuestion(number, "Who?") for number in range(len(outcomes))]
    progress, said = AskProgress(len(outcomes)), ""
    try:
        ask_all(reader, questions, None, False, kept.append, progress)  # type: ignore[arg-type]
    except GraphReaderError as error:
        said = str(error)
    return reader.asked, len(kept), said


# What every question would meet ends all of them, a refusal of one question does not; a service
# that is gone ends all after three questions with no answer between them.
def test_what_ends_all() -> None:
    good, odd = reading(), failure()
    model, neo4j = ModelUnavailableError("The model is gone."), Neo4jUnavailableError("Gone.")

    for closed in (ModelClosedError("The key."), Neo4jRefusedError("The password.")):
        assert ask(good, closed, good, good) == (2, 1, str(closed))
    assert ask(good, ModelRefusedError("This one."), good, good) == (4, 4, "")
    assert ask(good, model, neo4j, odd, model, good, good) == (
        5,
        5,
        "The model is gone. No more questions are asked meanwhile.",
    )
    assert ask(model, model, good, model, model, good) == (6, 6, "")


# An answer whose every path failed is stored as an error.
def test_every_path_failed() -> None:
    failed = Reading(
        "Who?", "", "", False, "c", "p", paths=(Path("a", "", 0, "error", "Went away."),)
    )
    kept = list[Any]()
    progress = AskProgress(1)
    reader, questions = Answering(failed), [FileQuestion(1, "Who?")]
    ask_all(reader, questions, None, False, kept.append, progress)  # type: ignore[arg-type]

    assert kept == [{"id": 1, "question": "Who?", "error": "Went away."}]
    assert progress.failed == 1


# A line that is no question is told with its number before anything is asked or opened.
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"question": "Who?"', "it is not JSON"),
        ("Who met Anna?", "it is not JSON"),
        ('{"text": "Who?"}', "it has no question"),
        ("17", "it has no question"),
        ('{"question": "  "}', "its question is empty"),
        ('{"question": null}', "its question is empty"),
        ('{"question": "Who?", "id": 1.5}', "its id is neither"),
        ('{"question": "Who?", "id": "a"}', "the id 'a' is that of line 1, too"),
        ("\udcff", "it is not UTF-8"),
    ],
)
def test_wrong_lines(terminal: Terminal, line: str, said: str) -> None:
    text = f'{{"question": "Who?", "id": "a"}}\n"Why?"\n{line}\n'
    (terminal.folder / "q.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    outcome = terminal.run("ask", "--file", "q.jsonl", "--out", "a.jsonl")

    assert (outcome.code, outcome.out) == (2, "")
    assert f"q.jsonl, line 3: {said}" in outcome.err
    assert not (terminal.folder / "a.jsonl").exists()


# A file that holds other things than answers to these questions is left as it is.
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("My diary\n", "line 1: this is not an answer of"),
        ("My diary", "line 1: this is not an answer of"),
        ('{"id": 1, "question": "Why?", "answer": "", "corpus": "c"}\n', "was another one then"),
        ('{"id": 1, "question": "Who?", "answer": "", "corpus": "d"}\n', "from the corpus 'd'"),
        ('{"id": 1, "question": "Who?"}\n', "line 1: this is not an answer of"),
    ],
)
def test_other_files(terminal: Terminal, lines: str, said: str) -> None:
    (terminal.folder / "q.jsonl").write_text('"Who?"\n')
    (terminal.folder / "a.jsonl").write_text(lines)
    outcome = terminal.run("ask", "--file", "q.jsonl", "--out", "a.jsonl", "--corpus", "c")

    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert (terminal.folder / "a.jsonl").read_text() == lines


# Two processes never write one file of answers; a file without a question is refused.
def test_refused_files(terminal: Terminal) -> None:
    (terminal.folder / "q.jsonl").write_text('"Who?"\n')
    (terminal.folder / "empty.jsonl").write_text("\n")
    with FileLock(terminal.folder / ".a.jsonl.lock"):
        locked = terminal.run("ask", "--file", "q.jsonl", "--out", "a.jsonl")
    empty = terminal.run("ask", "--file", "empty.jsonl")

    assert (locked.code, locked.out, empty.code, empty.out) == (2, "", 2, "")
    assert "Another process writes its answers into" in locked.err
    assert "There is no question in empty.jsonl" in empty.err
