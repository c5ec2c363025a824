"""The agent that searches: its tools, its prompts, when it ends."""

from typing import Any

import pytest

from graphreader.baselines.answering import RefusableAnswer, RefusablePassagesTask
from graphreader.baselines.search_agent import (
    MOST_HITS,
    NOTES_TOKENS,
    ChunkIndex,
    SearchAction,
    SearchAgent,
    SearchHit,
    SearchStep,
    SearchStepTask,
)
from graphreader.baselines.session import ReaderModel, passages_of
from graphreader.documents import Document
from graphreader.errors import ReplyError
from graphreader.llm.protocols import Budget
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.testing import ChatRequest, ScriptedDecider
from tests.unit.read_agent_fakes import modelled

TEXTS = (
    "Ida wrote The Glass Road. It sold well.",
    "The Glass Road is a book about glass, glass and roads of glass.",
    "Ida was raised in Turku by an uncle.",
    "Bread is baked at night.",
)
ANSWER = RefusableAnswer(
    answer="Turku", answered=True, quotes=["Ida was raised in Turku by an uncle."]
)
MEANING = SearchStep(function="semantic_search", query="Where was Ida raised?")


def documents(*texts: str) -> list[Document]:
    return [Document("c", f"d{n}", f"Page {n}", "", text, "", "en") for n, text in enumerate(texts)]


def search(*words: str) -> SearchStep:
    return SearchStep(function="keyword_search", words=list(words))


def read(*numbers: int, notes: str = "") -> SearchStep:
    return SearchStep(function="read_chunk", chunks=list(numbers), notes=notes)


def answer(*numbers: int, notes: str = "") -> SearchStep:
    return SearchStep(function="answer", chunks=list(numbers), notes=notes)


GLASS, IDA = search("Glass Road"), search("Ida")


def scripted(*steps: SearchStep | Exception) -> ScriptedDecider:
    """Takes the steps one after the other, and answers in the end."""
    left = iter(steps)

    def step(task: SearchStepTask) -> SearchStep:
        taken = next(left)
        if isinstance(taken, Exception):
            raise taken
        return taken

    return ScriptedDecider({SearchStepTask: step, RefusablePassagesTask: lambda task: ANSWER})


def agent(
    decider: Any, *texts: str, window: int = 4096, budget: Any = Budget, **options: int
) -> SearchAgent:
    model = ReaderModel(decider, window, budget)
    return SearchAgent(documents(*(texts or TEXTS)), model, OfflineEmbedder(), **options)


def steps_of(decider: ScriptedDecider) -> list[SearchStepTask]:
    return [task for task in decider.asked if isinstance(task, SearchStepTask)]


def chunks(*texts: str, limit: int = 1000) -> ChunkIndex:
    return ChunkIndex(passages_of(documents(*texts), limit), OfflineEmbedder())


# Keywords count by how often a chunk has them, times their length; letters' case does not matter.
# A snippet has the sentences with a keyword, and is short.
def test_keyword_search() -> None:
    some = chunks("an ox", "Ox, ox and OX", "the rhinoceros is here", "nothing")
    text = "First one. The ox came home. Nobody saw. The ox slept." + " The ox ate." * 90
    (_, snippet), *_ = chunks(text).by_keywords(["ox"])

    assert [at for at, _ in some.by_keywords(["ox", "rhinoceros"])] == [2, 1, 0]
    assert some.by_keywords(["giraffe"]) == []
    assert len(chunks(*["ox"] * 9).by_keywords(["ox"])) == MOST_HITS
    assert snippet.startswith("The ox came home. … The ox slept. … ")
    assert len(snippet) == 300


# Search, read, search again, read, answer: each step sees the latest result and its own notes.
async def test_steps() -> None:
    notes = "Ida wrote it [2]."
    decider = scripted(GLASS, read(2), IDA, read(3, notes=notes), answer(3, notes=notes))

    reading = await agent(decider).aask("Where was the author of The Glass Road raised?")

    first, second, third, fourth, fifth = steps_of(decider)
    assert (first.result, first.steps, first.actions) == ((), 14, ())
    assert second.result[0] == SearchHit(1, "Page 0, chunk 0", "Ida wrote The Glass Road.")
    assert third.result == (SearchHit(2, "Page 1, chunk 0", TEXTS[1], in_full=True),)
    assert ([hit.number for hit in third.waiting], third.unread) == ([1], {1})
    assert [(hit.number, hit.read) for hit in fourth.result] == [(1, False), (3, False)]
    assert fifth.notes == notes
    assert [action.shown() for action in fifth.actions] == [
        "- keyword_search(Glass Road): [1] [2]",
        "- read_chunk(): [2]",
        "- keyword_search(Ida): [1] [3]",
        "- read_chunk(): [3]",
    ]
    assert reading.answered
    assert reading.documents_read == ("d1", "d2")


# It answers from its notes, then the chunks that it named, then the others, the latest first; each
# has the number by which the notes refer to it.
async def test_answers_from_what_was_read() -> None:
    decider = scripted(GLASS, read(1, 2), IDA, read(3), answer(2, notes="Turku it is."))

    await agent(decider).aask("Where?")

    assert decider.asked[-1].values()["texts"] == (
        "Notes of the search\nTurku it is.\n\n"
        f"[2] Page 1, chunk 0\n{TEXTS[1]}\n\n[3] Page 2, chunk 0\n{TEXTS[2]}\n\n"
        f"[1] Page 0, chunk 0\n{TEXTS[0]}"
    )


# A chunk is shown in full once: later searches say that it was read, and it cannot be read again.
async def test_reads_nothing_twice() -> None:
    decider = scripted(GLASS, read(1, 2), IDA, read(1, 3), answer(3))

    reading = await agent(decider).aask("Where?")

    fourth, fifth = steps_of(decider)[3:]
    assert [(hit.number, hit.read) for hit in fourth.result] == [(1, True), (3, False)]
    assert "[1] Page 0, chunk 0 (read before): " in fourth.values()["result"]
    assert [hit.number for hit in fifth.result] == [3]
    assert fourth.problem(read(1)) == (
        "read_chunk needs numbers of chunks that are not read yet, out of [3]."
    )
    assert reading.documents_read == ("d0", "d1", "d2")


# Reading a chunk lists the adjacent ones, so that reading can go on where a text does.
async def test_lists_adjacent_chunks() -> None:
    text = "Ida set out.\n\nShe came to a town.\n\nIt was called Turku."
    decider = scripted(IDA, read(1), read(2), read(3), answer(3))

    reading = await agent(decider, text, chunk_tokens=8).aask("Where?")

    waiting = [[hit.label for hit in task.waiting] for task in steps_of(decider)]
    assert waiting == [[], [], ["Page 0, chunk 1"], ["Page 0, chunk 2"], []]
    assert reading.tokens_read > 10


# After the last step it answers with what it has, also with what that step was to show. A step that
# fails ends the search, and so does the budget: it answers with what was read, or it is an error.
async def test_early_ends() -> None:
    broken = ReplyError("It makes no sense.")
    limited = agent(scripted(IDA, read(1)), max_calls=2)
    failing = agent(scripted(IDA, read(2), broken))
    steps = scripted(IDA, read(2), MEANING, GLASS)
    spent = agent(steps, budget=lambda: Budget(max_calls=4, answer_tokens=100))

    for reader, document, note in (
        (limited, "d0", "The search ended after 2 steps."),
        (failing, "d2", "The search ended early: It makes no sense."),
        (spent, "d2", "The search ended early: The budget of this run is used up"),
    ):
        reading = await reader.aask("Where?")
        assert reading.answered
        assert document in reading.documents_read
        assert any(one.startswith(note) for one in reading.notes)
    with pytest.raises(ReplyError):
        await agent(scripted(IDA, broken)).aask("Where?")


# The same search again, one without words, an answer from nothing and a chunk that is not shown are
# refused.
def test_problems() -> None:
    done = (SearchAction("keyword_search", "Glass Road", (1, 2)),)
    task = SearchStepTask("Where?", "", done, (), (), frozenset({1, 2}), 3)
    long = answer(notes="word " * (NOTES_TOKENS + 1))

    for step in (search("glass road"), search(" "), answer(), read(3, 4), long):
        assert task.problem(step) is not None
    for step in (search("glass", "road"), MEANING, read(4, 2)):
        assert task.problem(step) is None


# Where a small window cannot show all chunks at once, those that it does not show were not read.
async def test_small_window() -> None:
    texts = [" ".join(f"w{n}x{i}" for i in range(220)) for n in range(3)]
    replies = [search("w"), read(1, 2, 3), answer(1)]

    def reply(request: ChatRequest) -> SearchStep | RefusableAnswer:
        return replies.pop(0) if request.decision == "SearchStep" else ANSWER

    decider, model = modelled(reply, 3000)

    reading = await agent(decider, *texts, window=3000).aask("Where?")

    third = model.requests[2].user
    assert "w0x219" in third
    assert "w2x219" not in third
    assert "more are not shown" in third
    assert "- read_chunk(): [1] [2] [3]" in third
    assert third.count(", in full:") == 2
    assert reading.documents_read == ("d0", "d1")
