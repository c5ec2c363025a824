"""Chunk Read and Chunk Read with Notes, to the letter of figures 16 and 17."""

import pytest

from graphreader.baselines.chunk_reading import (
    SUMMARY_TOKENS,
    ChunkAnswer,
    ChunkReader,
    ChunkReadTask,
    NotesRead,
    NotesReadTask,
)
from graphreader.baselines.session import ReaderModel
from graphreader.documents import Document
from graphreader.errors import BudgetError, ReplyError
from graphreader.llm.protocols import Budget
from graphreader.testing import ScriptedDecider

SENTENCES = (
    "Anna was born in Oslo.",
    "It rained all day.",
    "Anna moved to Bergen in 1990.",
    "The dog of the neighbors barked.",
)
DOCUMENTS = [
    Document("c", f"d{n}", f"Book {n}", "", text, "", "en") for n, text in enumerate(SENTENCES)
]
UNANSWERABLE = ChunkAnswer(function="unanswerable")


def model_of(decider: ScriptedDecider, calls: int | None = None) -> ReaderModel:
    return ReaderModel(decider, 4096, lambda: Budget(max_calls=calls))


# Each prompt shows one chunk, of one document; reading ends with the first answerable one.
async def test_stops_at_the_first_answerable_chunk() -> None:
    def read(task: ChunkReadTask) -> ChunkAnswer:
        answer = ChunkAnswer(function="answerable", answer="In Oslo.")
        return answer if "Bergen" in task.text else UNANSWERABLE

    decider = ScriptedDecider({ChunkReadTask: read})

    reading = await ChunkReader(DOCUMENTS, model_of(decider)).aask("Where?")

    texts = [task.text for task in decider.asked if isinstance(task, ChunkReadTask)]
    assert texts == list(SENTENCES[:3])
    assert (reading.answer, reading.answered) == ("In Oslo.", True)
    assert reading.documents_read == ("d0", "d1", "d2")
    assert reading.evidence == SENTENCES[2]
    assert set(reading.phases) == {"read"}


# The summary goes along, grows, and is evidence with the last chunk; quotes may be of both.
async def test_summary_goes_along() -> None:
    summaries: list[str] = []

    def read(task: NotesReadTask) -> NotesRead:
        summaries.append(task.summary)
        if "Oslo" in task.text:
            return NotesRead(summary="in Oslo", function="unanswerable", quotes=[task.text])
        if "Bergen" in task.text:
            answer = {"answer": "From Oslo to Bergen", "quotes": [task.text]}
            return NotesRead(summary="S", function="answerable", **answer)
        return NotesRead(summary="", function="unanswerable")

    decider = ScriptedDecider({NotesReadTask: read})

    reading = await ChunkReader(DOCUMENTS, model_of(decider), with_notes=True).aask("Where?")

    assert summaries == ["", "in Oslo", "in Oslo"]
    assert reading.answer == "From Oslo to Bergen"
    assert [one.document_id for one in reading.citations] == ["d0", "d2"]
    assert reading.evidence == f"S\n\n{SENTENCES[2]}"


# A summary has a limit, answerable needs an answer, and with options one of them.
@pytest.mark.parametrize(
    ("answer", "usable"),
    [
        *((one, True) for one in ("1", "[2]", "bergen.", "2. Bergen", "(2) Bergen")),
        *((one, False) for one in ("3", "Paris", " ", "1. Bergen", "2 boats")),
    ],
)
def test_problems(answer: str, usable: bool) -> None:
    task = ChunkReadTask("Where?", "l", "t", ("Oslo", "Bergen"))
    long = NotesRead(summary="word " * (SUMMARY_TOKENS + 1), function="unanswerable")

    assert (task.problem(ChunkAnswer(function="answerable", answer=answer)) is None) == usable
    assert "at most 200 words" in (NotesReadTask("Where?", "l", "t").problem(long) or "")


# A chunk without a usable reply is passed over with a note; if none has one, that is the error.
async def test_passes_over_a_failing_chunk() -> None:
    def read(task: ChunkReadTask) -> ChunkAnswer:
        if "Oslo" in task.text:
            raise ReplyError("It makes no sense.")
        return ChunkAnswer(function="answerable", answer="dry", quotes=[])

    model = model_of(ScriptedDecider({ChunkReadTask: read}))

    reading = await ChunkReader(DOCUMENTS, model).aask("Where?")

    assert reading.answer == "dry"
    assert reading.documents_read == ("d1",)
    assert reading.notes == (
        "1 of 1 claims has no quote that supports it: dry",
        "Book 0, chunk 0 was passed over: It makes no sense.",
    )
    with pytest.raises(ReplyError):
        await ChunkReader(DOCUMENTS[:1], model).aask("Where?")


# When the budget is used up, a note says how much was not read; before any chunk, it is an error.
async def test_budget() -> None:
    decider = ScriptedDecider({ChunkReadTask: lambda task: UNANSWERABLE})

    reading = await ChunkReader(DOCUMENTS, model_of(decider, 2)).aask("Where?")

    assert not reading.answered
    assert reading.notes[0].startswith("2 of 4 chunks were not read: The budget")
    assert reading.documents_read == ("d0", "d1")
    with pytest.raises(BudgetError):
        await ChunkReader(DOCUMENTS, model_of(decider, 0)).aask("Where?")
