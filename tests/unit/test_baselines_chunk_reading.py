"""Chunk Read and Chunk Read with Notes, to the letter of figures 16 and 17."""

from collections.abc import Callable
from typing import Any

import pytest

from graphreader.baselines.chunk_reading import (
    SUMMARY_TOKENS,
    ChunkReader,
    ChunkReaderWithNotes,
    ChunkReadTask,
    NotesRead,
    NotesReadTask,
)
from graphreader.baselines.chunk_reading import ChunkRead as Read
from graphreader.documents import Document
from graphreader.errors import BudgetError, ReplyError
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import Budget
from graphreader.llm.providers import adapter_for
from graphreader.llm.retry import ModelService
from graphreader.testing import ChatRequest, FunctionChatModel, ScriptedDecider

SENTENCES = (
    "Anna was born in Oslo.",
    "It rained all day.",
    "Anna moved to Bergen in 1990.",
    "The dog of the neighbors barked.",
)
DOCUMENTS = [
    Document("c", f"d{n}", f"Book {n}", "", text, "", "en") for n, text in enumerate(SENTENCES)
]
NOT_ANSWERED = Read(function="unanswerable")


def decider_of(function: Callable[[ChatRequest], Any]) -> LanguageModelDecider:
    model = FunctionChatModel(function=function)
    return LanguageModelDecider(
        lambda: model, ModelService("fake:model"), window=4096, adapter=adapter_for("openai", model)
    )


def chunks_of(decider: ScriptedDecider) -> list[str]:
    return [task.text for task in decider.asked]  # type: ignore[attr-defined]


# Reading ends with the first chunk that the model calls answerable.
async def test_stops_at_the_first_answerable_chunk() -> None:
    seen: list[str] = []

    def reply(request: ChatRequest) -> Read:
        seen.append(request.user)
        if "Bergen" not in request.user:
            return NOT_ANSWERED
        return Read(function="answerable", answer="In Oslo.")

    reading = await ChunkReader(DOCUMENTS, decider_of(reply), window=4096).aask("Where?")

    assert len(seen) == 3
    assert (reading.answer, reading.answered) == ("In Oslo.", True)
    assert reading.documents_read == ("d0", "d1", "d2")
    assert reading.evidence == SENTENCES[2]
    assert set(reading.phases) == {"read"}


# Each prompt shows one chunk, of one document.
async def test_one_chunk_at_a_time() -> None:
    decider = ScriptedDecider({ChunkReadTask: lambda task: NOT_ANSWERED})

    await ChunkReader(DOCUMENTS, decider, window=4096).aask("Where?")

    assert chunks_of(decider) == list(SENTENCES)


# If no chunk answers, the question is not answered, whatever single chunks may have held.
async def test_none_is_unanswered() -> None:
    hint = NOT_ANSWERED.model_copy(update={"quotes": [SENTENCES[0]], "answer": "perhaps Oslo"})
    decider = ScriptedDecider({ChunkReadTask: lambda task: hint})

    reading = await ChunkReader(DOCUMENTS, decider, window=4096).aask("Where?")

    assert not reading.answered
    assert reading.answer == "The texts do not tell."
    assert not reading.citations
    assert reading.notes == ("No chunk answers the question.",)
    assert len(reading.documents_read) == 4


# The summary goes along, grows, and is evidence beside the last chunk; quotes may be of both.
async def test_summary_goes_along() -> None:
    summaries: list[str] = []

    def read(task: NotesReadTask) -> NotesRead:
        summaries.append(task.summary)
        if "Oslo" in task.text:
            quotes = [task.text]
            return NotesRead(summary="born in Oslo", function="unanswerable", quotes=quotes)
        if "Bergen" in task.text:
            quotes, answer = [task.text], "From Oslo to Bergen"
            return NotesRead(summary="S", function="answerable", answer=answer, quotes=quotes)
        return NotesRead(summary="", function="unanswerable")

    decider = ScriptedDecider({NotesReadTask: read})

    reading = await ChunkReaderWithNotes(DOCUMENTS, decider, window=4096).aask("Where?")

    assert summaries == ["", "born in Oslo", "born in Oslo"]
    assert reading.answer == "From Oslo to Bergen"
    assert [one.document_id for one in reading.citations] == ["d0", "d2"]
    assert reading.evidence == f"S\n\n{SENTENCES[2]}"


# A summary has a limit, answerable needs an answer, and with options one of them.
def test_what_is_sent_back() -> None:
    task = NotesReadTask("Where?", "l", "t")
    with_options = ChunkReadTask("Where?", "l", "t", ("Oslo", "Bergen"))

    def answered(words: str) -> str | None:
        return with_options.problem(Read(function="answerable", answer=words))

    long = NotesRead(summary="word " * (SUMMARY_TOKENS + 1), function="unanswerable")
    assert "at most 200 words" in (task.problem(long) or "")
    assert task.problem(NotesRead(function="answerable", answer=" ")) is not None
    assert task.problem(NotesRead(function="unanswerable")) is None
    assert [answered(words) for words in ("1", "[2]", "bergen.", '"Oslo"')] == [None] * 4
    assert all(answered(words) for words in ("3", "0", "Paris", "Oslo or Bergen"))


# A chunk without a usable reply is passed over and told; if none has one, that is the error.
async def test_passes_over_a_failing_chunk() -> None:
    def read(task: ChunkReadTask) -> Read:
        if "Oslo" in task.text:
            raise ReplyError("It makes no sense.")
        return Read(function="answerable", answer="dry", quotes=[])

    decider = ScriptedDecider({ChunkReadTask: read})

    reading = await ChunkReader(DOCUMENTS, decider, window=4096).aask("Where?")

    assert reading.answer == "dry"
    assert reading.documents_read == ("d1",)
    assert reading.notes == ("Book 0, chunk 0 was passed over: It makes no sense.",)
    with pytest.raises(ReplyError):
        await ChunkReader(DOCUMENTS[:1], decider, window=4096).aask("Where?")


# When the budget is used up, what was read so far is told; before, it is an error.
@pytest.mark.parametrize("calls", [0, 2])
async def test_budget(calls: int) -> None:
    decider = ScriptedDecider({ChunkReadTask: lambda task: NOT_ANSWERED})
    reader = ChunkReader(DOCUMENTS, decider, window=4096, budget=lambda: Budget(max_calls=calls))

    if not calls:
        with pytest.raises(BudgetError):
            await reader.aask("Where?")
        return
    reading = await reader.aask("Where?")

    assert not reading.answered
    assert reading.notes[0].startswith("2 of 4 chunks were not read: The budget")
    assert reading.documents_read == ("d0", "d1")
