"""ReadAgent's decisions without a model."""

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


# Reading pauses where the words change, not where the same things go on.
async def test_pause() -> None:
    task = PauseTask((APPLES * 2, APPLES, SHIPS, SHIPS), SHIPS * 2)

    assert (await OfflineDecider().decide(task)).decision.pause == 1


# A heading that follows is the best place to pause.
async def test_pause_before_a_heading() -> None:
    task = PauseTask((APPLES * 2, APPLES, f"Chapter Two\n\n{APPLES}", SHIPS), SHIPS * 2)

    assert (await OfflineDecider().decide(task)).decision.pause == 1


# A gist is about a fifth of the page, whole sentences in their order; an odd fact is not lost
# among many alike.
async def test_gist() -> None:
    alike = [f"Keeper number {n} counted the lamps of the northern road." for n in range(20)]
    odd = "The lighthouse of Marta Quiroga stands in Valparaiso."
    page = " ".join([*alike[:12], odd, *alike[12:]])
    gist = (await OfflineDecider().decide(GistTask(page))).decision.gist

    assert odd in gist
    assert 0.1 < len(gist) / len(page) < 0.25
    places = [page.index(sentence) for sentence in [*alike, odd] if sentence in gist]
    assert gist == " ".join(sorted((s for s in [*alike, odd] if s in gist), key=page.index))
    assert len(places) >= 2


# A page of one sentence is its own gist; a Chinese gist has no spaces.
async def test_gists_of_few_sentences() -> None:
    alone = (await OfflineDecider().decide(GistTask("One sentence alone."))).decision.gist
    chinese = (
        await OfflineDecider().decide(GistTask("天地玄黄，宇宙洪荒。" * 2 + "他来了。"))
    ).decision

    assert alone == "One sentence alone."
    assert " " not in chinese.gist


# With the question at hand a gist keeps what has to do with it.
async def test_gist_for_task() -> None:
    page = " ".join(
        f"Mr. {name} of Leeds sold {n} of his horses in 18{n}."
        for n, name in enumerate(
            ("Adams", "Baker", "Clark", "Davis", "Evans", "Frank", "Green", "Hills", "Irons"), 40
        )
    )
    told = (await OfflineDecider().decide(GistForTask(page, "What did Mr. Green sell?"))).decision

    assert "Green" in told.gist


# Pages are chosen by their gists, and where a name of a page chosen leads on; apples are left out.
async def test_look_up() -> None:
    pages = (await OfflineDecider().decide(LookUpTask(QUESTION, MEMORY, 3))).decision.pages

    assert set(pages) == {1, 3, 4}
    assert (await OfflineDecider().decide(LookUpTask("Why?", MEMORY, 3))).decision.pages == []


# One page after the other, until those read hold what is asked.
async def test_next_page() -> None:
    async def after(*read: int) -> int:
        task = NextPageTask(QUESTION, MEMORY, 3, read=read)
        return (await OfflineDecider().decide(task)).decision.page

    first = await after()
    assert first in (1, 3)
    assert await after(1, 3) == 4
    told = MemoryPage("A gist.", "Ann Berg, captain of the Aurora, was born in Bergen.")
    done = NextPageTask(QUESTION, (*MEMORY, told), 3, read=(5,))
    assert (await OfflineDecider().decide(done)).decision.page == 0


# Answers are quoted from the pages looked up as well as from gists.
async def test_answers() -> None:
    question = "Where was Ann Berg born?"
    read = (await OfflineDecider().decide(MemoryAnswerTask(question, MEMORY, read=(4,)))).decision
    unread = (await OfflineDecider().decide(MemoryAnswerTask(question, MEMORY))).decision
    options = ("Oslo", "Bergen", "Turku")
    choice = MemoryChoiceTask(question, MEMORY, read=(4,), options=options)

    assert read.answered
    assert read.quotes == ["Ann Berg was born in Bergen."]
    assert not unread.answered
    assert (await OfflineDecider().decide(choice)).decision.option == 2
