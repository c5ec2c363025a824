"""Files of questions and of answers, and the progress of asking them, without any server."""

from collections.abc import Iterator
from typing import Any

import pytest

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


GOOD, FAILED = reading(), failure()
GONE, NO_NEO4J = ModelUnavailableError("The model is gone."), Neo4jUnavailableError("Gone.")


# The status has the count, the rate and the time left once they are known; the summary at the end
# the outcome of all questions and the cost, of failures too.
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
    with AskProgress(50, clock=clock.now) as progress:
        for number in range(20):
            clock.go_on(1)
            progress.add(f"q{number}", failure() if number % 3 == 0 else reading())
    out, err = capsys.readouterr()
    lines = err.splitlines()

    assert out == ""
    assert [line for line in lines if line.startswith("q")] == [
        f"q{number}: The model [x] went away." for number in (0, 3, 6, 9, 12)
    ]
    assert lines.count("... further failures are recorded in the answers only") == 1
    assert [line for line in lines if line.startswith("ask: ")] == [
        "ask: 6 of 50 answered, 4 failed, 60.0 a minute, about 40 s left",
        "ask: 13 of 50 answered, 7 failed, 60.0 a minute, about 30 s left",
    ]


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


def ask(*outcomes: Reading | GraphReaderError) -> tuple[int, list[Any], str]:
    """How many questions were asked, the lines that were stored, and the error that ended it."""
    reader, lines = Answering(*outcomes), list[Any]()
    questions = [FileQuestion(number, "Who?") for number in range(len(outcomes))]
    progress, message = AskProgress(len(outcomes)), ""
    try:
        ask_all(reader, questions, None, False, lines.append, progress)  # type: ignore[arg-type]
    except GraphReaderError as error:
        message = str(error)
    return reader.asked, lines, message


# What every question would meet ends all of them, a refusal of one question does not; a service
# that is gone ends all after three questions with no answer between them.
@pytest.mark.parametrize(
    ("outcomes", "asked", "stored", "message"),
    [
        ([GOOD, ModelClosedError("The key."), GOOD], 2, 1, "The key."),
        ([GOOD, Neo4jRefusedError("The password."), GOOD], 2, 1, "The password."),
        ([GOOD, ModelRefusedError("This one."), GOOD], 3, 3, ""),
        ([GONE, NO_NEO4J, FAILED, GONE, GOOD, GOOD], 4, 4, "The model is gone. No more questions"),
        ([GONE, GONE, GOOD, GONE, GONE, GOOD], 6, 6, ""),
    ],
    ids=["key", "password", "one", "gone", "between"],
)
def test_what_ends_all(
    outcomes: list[Reading | GraphReaderError], asked: int, stored: int, message: str
) -> None:
    done, lines, error = ask(*outcomes)

    assert (done, len(lines)) == (asked, stored)
    assert error.startswith(message)
    assert bool(error) == bool(message)


# An answer whose every path failed is stored as an error.
def test_every_path_failed() -> None:
    paths = (Path("a", "", 0, "error", "Went away."),)
    _, lines, _ = ask(Reading("Who?", "", "", False, "c", "p", paths=paths))

    assert lines == [{"id": 0, "question": "Who?", "error": "Went away."}]


# A line that is not a question is named by its number before anything is asked or opened.
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Who met Anna?", "this is not a question: write "),
        ('{"text": "Who?"}', "this is not a question"),
        ("17", "this is not a question"),
        ('{"question": "  "}', "this is not a question"),
        ('{"question": "Who?", "id": 1.5}', "this is not a question"),
        ('{"question": "Who?", "id": "a"}', "another question has the id 'a', too"),
        ("\udcff", "this is not a question"),
        pytest.param("[" * 100_000, "this is not a question", id="nested"),
    ],
)
def test_wrong_lines(terminal: Terminal, line: str, message: str) -> None:
    text = f'{{"question": "Who?", "id": "a"}}\n"Why?"\n{line}\n'
    (terminal.folder / "q.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    outcome = terminal.run("ask", "--file", "q.jsonl", "--out", "a.jsonl")

    assert (outcome.code, outcome.out) == (2, "")
    assert f"q.jsonl, line 3: {message}" in outcome.err
    assert not (terminal.folder / "a.jsonl").exists()


# A file that holds other things than answers to these questions is left as it is.
@pytest.mark.parametrize(
    "lines",
    [
        "My diary",
        '{"id": 1}',
        '{"id": 1, "question": "Why?", "answer": "", "corpus": "c"}\n',
        '{"id": 1, "question": "Who?", "answer": "", "corpus": "d"}\n',
        '{"id": 1, "question": "Who?"}\n',
    ],
)
def test_other_files(terminal: Terminal, lines: str) -> None:
    (terminal.folder / "q.jsonl").write_text('"Who?"\n')
    (terminal.folder / "a.jsonl").write_text(lines)
    outcome = terminal.run("ask", "--file", "q.jsonl", "--out", "a.jsonl", "--corpus", "c")

    assert (outcome.code, outcome.out) == (2, "")
    assert "line 1: this is not an answer from the corpus 'c'" in outcome.err
    assert (terminal.folder / "a.jsonl").read_text() == lines
