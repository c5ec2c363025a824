"""ReadAgent's decisions without a model."""

from typing import Any

from graphreader.baselines.read_agent.tasks import (
    GistForTask,
    GistTask,
    LookUpTask,
    MemoryAnswerTask,
    MemoryChoiceTask,
    MemoryPage,
    NextPageTask,
    PauseTask,
)
from graphreader.llm.protocols import Task
from graphreader.offline.decider import OfflineDecider

APPLES = (
    "Apples ripen in the orchard while farmers pick fruit, sort baskets and store juice. "
    "Autumn brings frost, ladders, cider and wasps to every tree. "
)
SHIPS = (
    "Ships cross the ocean under sail as captains steer between islands and reefs. "
    "Storms tear masts, ropes and flags from the deck of a vessel. "
)

QUESTION = "Where was the captain of the Aurora born?"
MEMORY = (
    MemoryPage("The Aurora is a ship of three masts.", "A long text about the ship.", "Aurora"),
    MemoryPage("Apples ripen in June.", "A long text about apples.", "Apples"),
    MemoryPage(
        "Ann Berg was captain of the Aurora.", "Ann Berg, captain of the Aurora, wrote.", "Crew"
    ),
    MemoryPage("Ann Berg went to school early.", "Ann Berg was born in Bergen.", "Ann Berg"),
)


async def decide(task: Task[Any]) -> Any:
    return (await OfflineDecider().decide(task)).decision


# Reading pauses where the words change.
async def test_pause() -> None:
    assert (await decide(PauseTask((APPLES * 2, APPLES, SHIPS, SHIPS), SHIPS * 2))).pause == 1


# A gist is about a fifth of the page, whole sentences in their order; an odd fact is not lost
# among many similar ones.
async def test_gist() -> None:
    alike = [f"Keeper number {n} counted the lamps of the northern road." for n in range(20)]
    odd = "The lighthouse of Marta Quiroga stands in Valparaiso."
    sentences = [*alike[:12], odd, *alike[12:]]
    page = " ".join(sentences)

    gist = (await decide(GistTask(page))).gist

    assert odd in gist
    assert 0.1 < len(gist) / len(page) < 0.25
    assert gist == " ".join(sentence for sentence in sentences if sentence in gist)


# With the question at hand a gist keeps what has to do with it.
async def test_gist_for_task() -> None:
    names = ("Adams", "Baker", "Clark", "Davis", "Evans", "Frank", "Green", "Hills", "Irons")
    page = " ".join(
        f"Mr. {name} of Leeds sold {n} of his horses in 18{n}." for n, name in enumerate(names, 40)
    )

    assert "Green" in (await decide(GistForTask(page, "What did Mr. Green sell?"))).gist


# Pages are chosen by what their gists add, and where a name of a page chosen leads on.
async def test_look_up() -> None:
    assert set((await decide(LookUpTask(QUESTION, MEMORY, 3))).pages) == {3, 4}
    assert (await decide(LookUpTask("Why?", MEMORY, 3))).pages == []


# One page after the other, until those read cover the question.
async def test_next_page() -> None:
    first = (await decide(NextPageTask(QUESTION, MEMORY, 3))).page
    further = (await decide(NextPageTask(QUESTION, MEMORY, 3, read=(1, 3)))).page
    answer = MemoryPage("A gist.", "Ann Berg, captain of the Aurora, was born in Bergen.")
    last = (await decide(NextPageTask(QUESTION, (*MEMORY, answer), 3, read=(5,)))).page

    assert first in (1, 3)
    assert (further, last) == (4, 0)


# Answers are quoted from the pages looked up as well as from gists.
async def test_answers() -> None:
    question = "Where was Ann Berg born?"
    options = ("Oslo", "Bergen", "Turku")
    read = await decide(MemoryAnswerTask(question, MEMORY, read=(4,)))
    unread = await decide(MemoryAnswerTask(question, MEMORY))
    choice = await decide(MemoryChoiceTask(question, MEMORY, read=(4,), options=options))

    assert read.answered
    assert read.quotes[0] == "Ann Berg was born in Bergen."
    assert not unread.answered
    assert choice.option == 2
