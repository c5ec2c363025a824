"""What a reading says of itself: which claims are borne out, and where the texts contradict."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.decisions import Answer, CitedClaim, CitedContradiction
from graphreader.agent.events import AnswerToken, QuestionAnswered
from graphreader.agent.tasks import AnswerTask, ChunkTask
from graphreader.errors import ReplyError
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs import world

LETTERS = "Alma was born in 1950 at the coast."
REGISTER = "Alma was born in 1952 at the coast."
FACTS = {text: ["Alma", "coast"] for text in (LETTERS, REGISTER)}
QUESTION = "When was Alma born?"


def quote_it(task: ChunkTask) -> Any:
    found = next(text for text in FACTS if text in task.text)
    return world.chunk("search_more", f"{task.notebook} {found}".strip(), [found])


def number_of(task: AnswerTask, words: str) -> int:
    return 1 + next(n for n, one in enumerate(task.evidence) if one.quote == words)


def conclude(task: AnswerTask) -> Answer:
    both = [number_of(task, REGISTER), number_of(task, LETTERS)]
    return Answer(
        analysis="",
        answer="In 1952.",
        answered=True,
        claims=[
            CitedClaim(claim="Alma was born in 1952.", citations=[both[0], 99]),
            CitedClaim(claim="Registers are right.", citations=[99]),
        ],
        contradictions=[
            CitedContradiction(about="The register says 1952, the letters 1950.", citations=both),
            CitedContradiction(about="Something is odd.", citations=both[:1]),
        ],
    )


@pytest.fixture
def events(
    request: pytest.FixtureRequest, neo4j: Settings, corpus: str, tmp_path: Path
) -> Iterator[list[Any]]:
    """All events of the question, to a reader of two documents with the test's script."""
    texts = world.write_files(tmp_path, {"letters": [LETTERS], "register": [REGISTER]})
    with world.reader(neo4j, corpus, world.scripted(FACTS, request.param)) as reader:
        reader.ingest(texts)
        yield list(reader.stream(QUESTION))
        reader.delete(everything=True)


def reading_of(events: list[Any]) -> Reading:
    assert isinstance(events[-1], QuestionAnswered)
    return events[-1].reading


# Two documents that contradict each other are both cited, also by the answer that chose one; a
# claim that cites nothing that was shown is marked, and a note names it.
@pytest.mark.parametrize(
    "events", [{ChunkTask: quote_it, AnswerTask: conclude}], indirect=True, ids=[""]
)
def test_claims_and_contradictions(events: list[Any]) -> None:
    reading = reading_of(events)
    record = reading.as_dict()

    assert [(one.document, one.quote) for one in reading.citations] == [
        ("register", REGISTER), ("letters", LETTERS),
    ]  # fmt: skip
    assert [(one.text, one.citations, one.supported) for one in reading.claims] == [
        ("Alma was born in 1952.", (1,), True), ("Registers are right.", (), False),
    ]  # fmt: skip
    assert [(one.text, one.citations) for one in reading.contradictions] == [
        ("The register says 1952, the letters 1950.", (1, 2)),
    ]
    assert "1 of 2 claims has no quote that supports it: Registers are right." in reading.notes
    assert [one["supported"] for one in record["claims"]] == [True, False]


def no_answer(task: AnswerTask) -> Answer:
    return conclude(task).model_copy(update={"answered": False, "answer": " "})


def useless(task: AnswerTask) -> Answer:
    raise ReplyError("The model does not make sense.")


# What is not answered rests on nothing and claims nothing, and always says something.
@pytest.mark.parametrize(
    ("events", "answer"),
    [
        ({ChunkTask: quote_it, AnswerTask: no_answer}, "The texts do not tell."),
        ({ChunkTask: quote_it, AnswerTask: useless}, LETTERS),
        ({}, "The texts do not tell."),
    ],
    indirect=["events"],
    ids=["unanswered", "unjoined", "nothing found"],
)
def test_without_an_answer(events: list[Any], answer: str) -> None:
    reading = reading_of(events)

    assert answer in reading.answer
    assert (reading.claims, reading.contradictions, reading.citations) == ((), (), ())
    assert not any("claim" in note for note in reading.notes)
    assert [one for one in events if isinstance(one, AnswerToken)] == [
        AnswerToken(reading.answer, begins=True)
    ]
