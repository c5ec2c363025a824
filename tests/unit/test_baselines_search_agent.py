"""The agent that searches: its tools, what it is shown, when it ends."""

from collections.abc import Iterator

import pytest

from graphreader.baselines.search_agent import (
    MOST_HITS,
    NOTES_TOKENS,
    ChunkIndex,
    ChunkNumbers,
    Hit,
    SearchAction,
    SearchAgent,
    SearchStep,
    SearchStepTask,
)
from graphreader.baselines.session import passages_of
from graphreader.baselines.tasks import PassagesTask, TextAnswer
from graphreader.documents import Document
from graphreader.errors import BudgetError, ReplyError
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import Budget
from graphreader.llm.providers import adapter_for
from graphreader.llm.retry import ModelService
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.testing import ChatRequest, FunctionChatModel, ScriptedDecider

TEXTS = (
    "Ida wrote The Glass Road. It sold well.",
    "The Glass Road is a book about glass, glass and roads of glass.",
    "Ida was raised in Turku by an uncle.",
    "Bread is baked at night.",
)
DOCUMENTS = [
    Document("c", f"d{n}", f"Page {n}", "", text, "", "en") for n, text in enumerate(TEXTS)
]
ANSWER = TextAnswer(answer="Turku", answered=True, quotes=["Ida was raised in Turku by an uncle."])
KEYWORDS = SearchStep(function="keyword_search", words=["Glass Road"])
NAME = SearchStep(function="keyword_search", words=["Ida"])
MEANING = SearchStep(function="semantic_search", query="Where was Ida raised?")


def read(*numbers: int, notes: str = "") -> SearchStep:
    return SearchStep(function="read_chunk", chunks=list(numbers), notes=notes)


def answer(*numbers: int, notes: str = "") -> SearchStep:
    return SearchStep(function="answer", chunks=list(numbers), notes=notes)


def scripted(*steps: SearchStep | Exception) -> ScriptedDecider:
    """Takes the steps one after the other, and answers in the end."""
    left: Iterator[SearchStep | Exception] = iter(steps)

    def step(task: SearchStepTask) -> SearchStep:
        taken = next(left)
        if isinstance(taken, Exception):
            raise taken
        return taken

    return ScriptedDecider({SearchStepTask: step, PassagesTask: lambda task: ANSWER})


def agent(decider: ScriptedDecider, **options: int) -> SearchAgent:
    return SearchAgent(DOCUMENTS, decider, OfflineEmbedder(), window=4096, **options)


def steps_of(decider: ScriptedDecider) -> list[SearchStepTask]:
    return [task for task in decider.asked if isinstance(task, SearchStepTask)]


def chunks(*texts: str, limit: int = 1000) -> ChunkIndex:
    documents = [Document("c", f"d{n}", "T", "", text, "", "en") for n, text in enumerate(texts)]
    return ChunkIndex(passages_of(documents, limit), OfflineEmbedder())


# Keywords count by how often a chunk has them, times their length; letters' case does not matter.
def test_keyword_search() -> None:
    some = chunks("an ox", "Ox, ox and OX", "the rhinoceros is here", "nothing")

    assert [at for at, _ in some.by_keywords(["ox", "rhinoceros"])] == [2, 1, 0]
    assert some.by_keywords(["giraffe"]) == []
    assert len(chunks(*["ox"] * 9).by_keywords(["ox"])) == MOST_HITS


# A snippet has the sentences with a keyword, and is short.
def test_snippets() -> None:
    text = "First one. The ox came home. Nobody saw. The ox slept." + " The ox ate." * 90
    found = chunks(text).by_keywords(["ox"])[0]

    assert found[1].startswith("The ox came home. … The ox slept. … ")
    assert len(found[1]) == 300


# Meaning counts by the most alike sentence of a chunk, and shows it.
async def test_semantic_search() -> None:
    some = chunks(
        "Rain fell. Otters sleep on the water. Snow fell.", "Kings ruled here.", "Otters are old."
    )

    found = await some.by_meaning("Where do otters sleep?")

    assert found[0] == (0, "Otters sleep on the water.")
    assert len(found) == 3
    assert await chunks().by_meaning("Who?") == []


# Only chunks of the same document stand beside a chunk.
def test_beside() -> None:
    some = chunks("One ox ate hay.\n\nTwo ox ate hay.\n\nThree ox ate hay.", "Alone.", limit=8)
    assert len(some.passages) == 4

    assert [some.adjacent(at) for at in range(4)] == [[1], [0, 2], [1], []]


# ChunkIndex are numbered as they turn up, and a number stays what it is.
def test_tracker() -> None:
    tracker = ChunkNumbers()

    assert [tracker.number(at) for at in (7, 3, 7, 5)] == [1, 2, 1, 3]
    assert tracker.chunks([3, 9, 1, 3]) == [5, 7]
    tracker.read.append(3)
    assert tracker.unread() == [5, 7]


# Search, read, search again, read, answer: each step sees the latest result and its own notes.
async def test_steps() -> None:
    notes = "Ida wrote it [2]."
    decider = scripted(KEYWORDS, read(2), NAME, read(3, notes=notes), answer(3, notes=notes))

    reading = await agent(decider).aask("Where was the author of The Glass Road raised?")

    first, second, third, fourth, fifth = steps_of(decider)
    assert (first.result, first.steps, first.actions) == ((), 14, ())
    assert [hit.label for hit in second.result] == ["Page 0, chunk 0", "Page 1, chunk 0"]
    assert second.result[0].text == "Ida wrote The Glass Road."
    assert not second.result[0].in_full
    assert third.result == (Hit(2, "Page 1, chunk 0", TEXTS[1], in_full=True),)
    assert [hit.number for hit in third.waiting] == [1]
    assert third.unread == {1}
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
    assert {phase: usage.calls for phase, usage in reading.phases.items()} == {
        "read": 5,
        "answer": 1,
    }


# It answers from its notes, then the chunks that it named, then the others, the latest first; each
# has the number by which the notes tell of it.
async def test_answers_from_what_was_read() -> None:
    decider = scripted(KEYWORDS, read(1, 2), NAME, read(3), answer(2, notes="Turku it is."))

    await agent(decider).aask("Where?")

    shown = decider.asked[-1].values()["texts"]
    assert shown == (
        "Notes of the search\nTurku it is.\n\n"
        f"[2] Page 1, chunk 0\n{TEXTS[1]}\n\n[3] Page 2, chunk 0\n{TEXTS[2]}\n\n"
        f"[1] Page 0, chunk 0\n{TEXTS[0]}"
    )


# A chunk is shown in full once: later searches say that it was read, and it cannot be read again.
async def test_reads_nothing_twice() -> None:
    decider = scripted(KEYWORDS, read(1, 2), NAME, read(1, 3), answer(3))

    reading = await agent(decider).aask("Where?")

    fourth, fifth = steps_of(decider)[3:]
    assert [(hit.number, hit.read) for hit in fourth.result] == [(1, True), (3, False)]
    assert "[1] Page 0, chunk 0 (read before): " in fourth.values()["result"]
    assert [hit.number for hit in fifth.result] == [3]
    assert fourth.problem(read(1)) == (
        "read_chunk needs numbers of chunks that are not read yet, out of [3]."
    )
    assert reading.documents_read == ("d0", "d1", "d2")


# Reading a chunk lists those beside it, so that reading can go on where a text does.
async def test_lists_what_stands_beside() -> None:
    text = "Ida set out.\n\nShe came to a town.\n\nIt was called Turku."
    documents = [Document("c", "d", "T", "", text, "", "en")]
    decider = scripted(NAME, read(1), read(2), read(3), answer(3))

    reading = await SearchAgent(
        documents, decider, OfflineEmbedder(), window=4096, chunk_tokens=8
    ).aask("Where?")

    waiting = [[hit.label for hit in task.waiting] for task in steps_of(decider)]
    assert waiting == [[], [], ["T, chunk 1"], ["T, chunk 2"], []]
    assert reading.tokens_read > 10


# After the last step it answers with what it has, also with what that step was to show.
async def test_step_limit() -> None:
    decider = scripted(NAME, read(1))

    reading = await agent(decider, max_calls=2).aask("Where?")

    assert reading.answered
    assert reading.documents_read == ("d0",)
    assert reading.notes == ("The search ended after 2 steps.",)


# A step that fails ends the search: it answers with what was read, or it is an error.
async def test_failing_step() -> None:
    broken = ReplyError("It makes no sense.")

    reading = await agent(scripted(NAME, read(2), broken)).aask("Where?")

    assert reading.answered
    assert reading.notes == ("The search ended early: It makes no sense.",)
    with pytest.raises(ReplyError):
        await agent(scripted(NAME, broken)).aask("Where?")


# The budget ends it; a part that is kept back for the answer is enough to answer.
async def test_budget() -> None:
    def reader(calls: int, kept: int) -> SearchAgent:
        return SearchAgent(
            DOCUMENTS,
            scripted(NAME, read(2), MEANING, KEYWORDS),
            OfflineEmbedder(),
            window=4096,
            budget=lambda: Budget(max_calls=calls, answer_tokens=kept),
        )

    reading = await reader(4, 100).aask("Where?")

    assert reading.answered
    assert "The budget of this run is used up" in reading.notes[0]
    with pytest.raises(BudgetError):
        await reader(1, 0).aask("Where?")


# An agent that never read anything has nothing to answer from.
async def test_nothing_read() -> None:
    decider = scripted(SearchStep(function="keyword_search", words=["zebra"]), answer())

    reading = await agent(decider).aask("Where?")

    assert not reading.answered
    assert reading.usage.calls == 2


# What cannot be carried out is sent back: no words, the same search again, an answer from nothing.
def test_what_is_sent_back() -> None:
    done = (SearchAction("keyword_search", "Glass Road", (1, 2)),)
    task = SearchStepTask("Where?", "", done, (), (), frozenset({1, 2}), 3)
    glass = SearchStep(function="keyword_search", words=["glass road"])

    assert "already" in (task.problem(glass) or "")
    assert task.problem(glass.model_copy(update={"words": ["glass", "road"]})) is None
    assert task.problem(SearchStep(function="keyword_search", words=[" "])) is not None
    assert task.problem(SearchStep(function="semantic_search", query="")) is not None
    assert task.problem(SearchStep(function="semantic_search", query="Glass Road")) is None
    assert task.problem(read(3, 4)) is not None
    assert task.problem(read(4, 2)) is None
    assert task.problem(answer()) == "Read a chunk before you answer."
    long = answer(notes="word " * (NOTES_TOKENS + 1))
    assert "at most 200 words" in (task.problem(long) or "")


# Where a small window cannot show all chunks at once, those that it does not show were not read.
async def test_small_window() -> None:
    documents = [
        Document("c", f"d{n}", f"Page {n}", "", " ".join(f"w{n}x{i}" for i in range(220)), "", "en")
        for n in range(3)
    ]
    replies = [SearchStep(function="keyword_search", words=["w"]), read(1, 2, 3), answer(1)]

    def reply(request: ChatRequest) -> SearchStep | TextAnswer:
        return replies.pop(0) if request.decision == "SearchStep" else ANSWER

    model = FunctionChatModel(function=reply)
    decider = LanguageModelDecider(
        lambda: model, ModelService("fake:model"), window=3000, adapter=adapter_for("openai", model)
    )

    reading = await SearchAgent(documents, decider, OfflineEmbedder(), window=3000).aask("Where?")

    third = model.requests[2].user
    assert "w0x219" in third
    assert "w2x219" not in third
    assert "more are not shown" in third
    assert "- read_chunk(): [1] [2] [3]" in third
    assert third.count(", in full:") == 2
    assert reading.documents_read == ("d0", "d1")
