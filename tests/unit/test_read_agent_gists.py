"""Making the gist memory: gists, what is kept of them, what a killed reading leaves."""

import asyncio
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from graphreader.baselines.read_agent.gists import GistBuilder, GistMemory
from graphreader.baselines.read_agent.pages import Pagination
from graphreader.baselines.read_agent.reader import ReadAgent
from graphreader.baselines.read_agent.tasks import Gist, GistTask, PausePoint, PauseTask
from graphreader.documents import Document
from graphreader.errors import ModelUnavailableError, ReplyError, WindowError
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Decision
from graphreader.offline.decider import OfflineDecider
from graphreader.testing import ChatRequest, ScriptedDecider
from tests.unit.read_agent_fakes import SMALL, STORY, document, kinds_of, modelled, scripted

WIDE = Pagination(7, 22)
"""Of the story these make three pages of a paragraph, one pause asked for each, and a last one."""


async def made(
    decider: ScriptedDecider,
    *documents: Document,
    home: Path | None = None,
    pages: Pagination = WIDE,
) -> GistMemory:
    agent = ReadAgent(documents, builder=decider, decider=decider, pages=pages, gists_home=home)
    return await agent.memory()


# Every page is gisted by itself, in the order of the text, and counted (section 3.1).
async def test_memory() -> None:
    decider = scripted()
    agent = ReadAgent([document(STORY)], builder=decider, decider=decider, pages=SMALL)

    memory = await agent.memory()

    assert len(memory.pages) == 6
    assert memory.gists[:2] == ("Danko Jones is", "They come from")
    assert kinds_of(decider) == ["gist"] * 6
    assert agent.building.calls == 6
    assert "".join(page.text for page in memory.pages) == STORY
    assert memory is await agent.memory()


# A gist that is not shorter than its page is the page itself.
async def test_longer_gist() -> None:
    memory = await made(
        scripted(gist=lambda task: Gist(gist=f"{task.text} And more.")), document(STORY)
    )

    assert [memory.is_whole(n + 1) for n in range(len(memory.pages))] == [True] * 4
    assert memory.compression() == 0


# The compression rate counts words, of the gists alone and with pages in their places (section 4).
async def test_compression() -> None:
    memory = await made(scripted(), document(STORY), pages=SMALL)

    assert memory.words == 42
    assert memory.compression() == pytest.approx(1 - 18 / 42)
    assert memory.compression([1]) == pytest.approx(1 - 22 / 42)
    assert memory.compression(range(1, 7)) == 0
    assert memory.sizes() == {"pages": 6, "words": 42, "gist_words": 18, "gists": 0.5714}
    assert GistMemory((), ()).compression() == 0


# Pages of several documents are numbered on, each document begins a page, and its title is shown.
async def test_several_documents() -> None:
    memory = await made(
        scripted(), document(STORY, "one"), document("", "two"), document("A tale.", "x")
    )

    assert [page.document.title for page in memory.pages] == ["one"] * 4 + ["x"]
    assert [page.index for page in memory.pages] == [0, 1, 2, 3, 0]
    assert [page.title for page in memory.remembered()] == ["one", "", "", "", "x"]


# The title of an only document is not shown: it tells no page from another.
async def test_one_document() -> None:
    memory = await made(scripted(), document(STORY))

    assert [page.title for page in memory.remembered()] == [""] * 4


# What was decided is kept: the next reading asks nothing and remembers the same.
async def test_kept(tmp_path: Path) -> None:
    first, second = scripted(), scripted()
    one = await made(first, document(STORY), home=tmp_path)
    other = await made(second, document(STORY, "another title"), home=tmp_path)

    assert kinds_of(first) == ["pause"] * 3 + ["gist"] * 4
    assert kinds_of(second) == []
    assert other.gists == one.gists
    assert [page.text for page in other.pages] == [page.text for page in one.pages]


# Another text, other pages, another decider or other prompts: each is asked anew.
async def test_kept_apart(tmp_path: Path) -> None:
    await made(scripted(), document(STORY), home=tmp_path)
    renamed, reworded = scripted(), scripted()
    renamed.name, reworded.prompts = "another", "others"

    for decider, text, pages in (
        (scripted(), STORY + " So it is.", WIDE),
        (scripted(), STORY, Pagination(7, 23)),
        (renamed, STORY, WIDE),
        (reworded, STORY, WIDE),
    ):
        await made(decider, document(text), home=tmp_path, pages=pages)
        assert "gist" in kinds_of(decider)


class Killed(BaseException):
    """The process ends here."""


# A reading that is killed in the middle goes on at the next page: nothing is asked twice.
@pytest.mark.parametrize("survives", range(7))
async def test_killed(tmp_path: Path, survives: int) -> None:
    asked: list[Any] = []

    def counting(limit: int) -> ScriptedDecider:
        def taking(decision: Any) -> Any:
            def take(task: Any) -> Decision:
                if len(asked) >= limit:
                    raise Killed
                asked.append(task)
                return decision(task)

            return take

        decider = ScriptedDecider(
            {
                PauseTask: taking(lambda task: PausePoint(pause=0)),
                GistTask: taking(lambda task: Gist(gist=task.text.split()[0])),
            }
        )
        decider.concurrency = 1
        return decider

    with pytest.raises(BaseExceptionGroup) as ended:
        await made(counting(survives), document(STORY), home=tmp_path)
    memory = await made(counting(99), document(STORY), home=tmp_path)

    assert ended.group_contains(Killed)
    assert len(asked) == len(set(asked)) == 7
    assert memory.gists == ("Danko", "They", "Toronto", "Its")


# A decider that fails ends the making, once what is under way is done and kept.
async def test_failing(tmp_path: Path) -> None:
    async def gist(task: GistTask) -> Decision:
        if task.text.startswith("Danko"):
            await asyncio.sleep(0)
            raise ModelUnavailableError("Nobody answers.")
        await asyncio.sleep(0.01)
        return Gist(gist="kept")

    decider = scripted(gist=gist)  # type: ignore[arg-type]
    agent = ReadAgent(
        [document(STORY)], builder=decider, decider=decider, pages=SMALL, gists_home=tmp_path
    )
    with pytest.raises(ModelUnavailableError):
        await agent.memory()

    again = scripted()
    memory = await made(again, document(STORY), home=tmp_path, pages=SMALL)
    assert kinds_of(again) == ["gist"]
    assert memory.gists[1:] == ("kept",) * 5
    assert agent.building.calls == 5


# Where no usable decision can be had, a page ends where it is full and stands for its gist; both
# are told, and asked again by the next reading.
async def test_unusable(tmp_path: Path) -> None:
    def refuse(task: Any) -> Decision:
        raise ReplyError("Nothing of use.")

    memory = await made(scripted(pause=refuse, gist=refuse), document(STORY), home=tmp_path)
    again = scripted()
    await made(again, document(STORY), home=tmp_path)

    assert "".join(memory.gists) == STORY
    assert memory.notes == (
        "No pause could be chosen for 1 of the pages: there it was taken where the page was full.",
        "2 of the pages could not be shortened: they stand for their gists.",
    )
    assert kinds_of(again) == ["pause"] * 3 + ["gist"] * 4


# Two readings at once, of the same folder, remember both, and leave a folder that can be used.
async def test_two_at_once(tmp_path: Path) -> None:
    memories = await asyncio.gather(
        made(scripted(), document(STORY), home=tmp_path),
        made(
            scripted(pause=lambda task: PausePoint(pause=len(task.parts) - 1)),
            document(STORY),
            home=tmp_path,
        ),
    )
    after = scripted()
    memory = await made(after, document(STORY), home=tmp_path)

    assert all("".join(page.text for page in one.pages) == STORY for one in (*memories, memory))
    assert not list(tmp_path.rglob(".*"))


# Equal texts, and equal pages, are asked about once.
async def test_equal_texts() -> None:
    decider = scripted()
    memory = await made(decider, document(STORY, "one"), document(STORY, "two"))

    assert kinds_of(decider).count("gist") == len(memory.gists) / 2
    assert [page.document.title for page in memory.pages] == ["one"] * 4 + ["two"] * 4


# A folder that is spoiled, or cannot be written, costs what was kept in it and nothing else.
async def test_spoiled_folder(tmp_path: Path) -> None:
    await made(scripted(), document(STORY), home=tmp_path)
    files = sorted(tmp_path.rglob("*.json"))
    for file, spoiled in zip(
        files, (b"{", b"[]", b'{"gist": 3, "end": "x"}', b"\xff"), strict=False
    ):
        file.write_bytes(spoiled)
    decider = scripted()
    memory = await made(decider, document(STORY), home=tmp_path)

    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    unkept = await made(scripted(), document(STORY), home=blocked)

    assert len(kinds_of(decider)) == min(4, len(files))
    assert unkept.gists == memory.gists
    assert "Gists cannot be kept" in unkept.notes[-1]


# Gists for a task are made with the question, and pages are the same for all questions.
async def test_task_aware(tmp_path: Path) -> None:
    decider = scripted()
    agent = ReadAgent(
        [document(STORY)],
        builder=decider,
        decider=decider,
        pages=WIDE,
        gists_home=tmp_path,
        strategy="gists",
        task_aware=True,
    )
    await agent.aask("Where is the castle?")
    await agent.aask("Who is Danko?")
    await agent.aask("Where is the castle?")

    asked = [task.question for task in decider.asked if task.prompt == "gist_for_task"]
    assert asked == ["Where is the castle?"] * 4 + ["Who is Danko?"] * 4
    assert kinds_of(decider).count("pause") == 3
    assert "gist" not in kinds_of(decider)


# No more decisions are under way at once than the decider wants.
async def test_concurrency() -> None:
    under_way, most = 0, 0

    async def gist(task: GistTask) -> Decision:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        return Gist(gist="short")

    decider = scripted(gist=gist)  # type: ignore[arg-type]
    decider.concurrency = 3
    await made(decider, document(STORY), pages=SMALL)

    assert most == 3


# A page that does not fit the builder's window is told with what to do about it.
async def test_page_beyond_the_window() -> None:
    decider, _ = modelled(lambda request: {"gist": "short"}, window=400)
    text = "word " * 2_000
    gisting = GistBuilder([document(text)], decider, Pagination(1_000, 5_000))
    pages = await gisting.pages()

    with pytest.raises(WindowError, match="choose smaller pages"):
        await gisting.gists(pages)


# Without a model, the memory of a text is the same each time, and a fifth to a quarter of it.
async def test_offline() -> None:
    text = "\n\n".join(
        f"The {n}th man of the village went to town. He bought {n} apples and a horse. "
        f"His wife was glad to see him. Nobody else noticed that he had been away at all."
        for n in range(60)
    )
    memories = [
        await ReadAgent(
            [document(text)], builder=OfflineDecider(), decider=OfflineDecider()
        ).memory()
        for _ in range(2)
    ]

    assert memories[0].gists == memories[1].gists
    assert 0.7 < memories[0].compression() < 0.85


# Gists that a model made stay when the prompt of another task changes, such as that of the answer;
# when that of the gists changes they are made anew, and pauses are not.
async def test_other_prompts(tmp_path: Path) -> None:
    counts = []
    for name in (None, "memory_answer", "gist", "pause"):
        folder = tmp_path / f"prompts-{name}"
        folder.mkdir()
        if name:
            prompt = files("graphreader") / "prompts" / f"{name}.md"
            text = prompt.read_text("utf-8").replace("# System", "# System\n\nBe careful.", 1)
            (folder / f"{name}.md").write_text(text, "utf-8")
        builder, model = modelled(_shortened, prompts=Prompts(folder))
        agent = ReadAgent(
            [document(STORY)], builder=builder, decider=builder, pages=WIDE, gists_home=tmp_path
        )
        await agent.memory()
        counts.append([request.decision for request in model.requests])

    assert counts[0] == ["PausePoint"] * 3 + ["Gist"] * 4
    assert counts[1] == []
    assert counts[2] == ["Gist"] * 4
    assert counts[3] == ["PausePoint"] * 3


def _shortened(request: ChatRequest) -> dict[str, Any]:
    if request.decision == "Gist":
        return {"gist": "Short."}
    return {"rationale": "", "pause": 0}
