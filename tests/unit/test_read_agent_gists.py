"""Episode pagination, and the gist memory."""

from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphreader.baselines.read_agent.gists import (
    GistMemory,
    Pagination,
    PauseOptions,
    paginate,
    preset_for,
    words_in,
)
from graphreader.baselines.read_agent.tasks import Gist, GistTask, PausePoint, PauseTask
from graphreader.documents import Document
from graphreader.errors import ModelUnavailableError, ReplyError
from graphreader.ingestion.chunking import in_grapheme
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Decider, Decision
from graphreader.testing import ChatRequest, ScriptedDecider
from tests.unit.read_agent_fakes import STORY, agent, document, modelled, prompts_of, scripted

WIDE = Pagination(7, 22)
"""Of the story these make three pages of a paragraph, one pause for each, and a last one."""
ALL_TASKS = ["pause"] * 3 + ["gist"] * 4


async def memory_of(
    decider: Decider, *texts: str | Document, home: Path | None = None, pages: Pagination = WIDE
) -> GistMemory:
    return await agent(decider, *texts, home=home, pages=pages).memory()


# Every page gets a gist by itself, in the order of the text, and words are counted (section 3.1).
# The compression rate is that of the gists alone, or with pages in their places (section 4).
async def test_memory() -> None:
    decider = scripted()
    reader = agent(decider)

    memory = await reader.memory()

    assert memory.gists[:2] == ("Danko Jones is", "They come from")
    assert prompts_of(decider) == ["gist"] * 6
    assert reader.builder.built["gist"].calls == 6
    assert "".join(page.text for page in memory.pages) == STORY
    assert memory.sizes() == {"pages": 6, "words": 42, "gist_words": 18, "gists": 0.5714}
    assert memory.compression([1]) == pytest.approx(1 - 22 / 42)
    assert memory.compression(range(1, 7)) == 0
    assert GistMemory((), ()).compression() == 0


# Pages of several documents are numbered on, each document begins a page, and its title is shown;
# the title of an only document tells no page from another.
async def test_several_documents() -> None:
    texts = [document(STORY, "one"), document("", "x"), document("A tale.", "y")]

    memory = await memory_of(scripted(), *texts)
    alone = await memory_of(scripted())

    assert [page.index for page in memory.pages] == [0, 1, 2, 3, 0]
    assert [page.title for page in memory.remembered()] == ["one", "", "", "", "y"]
    assert {page.title for page in alone.remembered()} == {""}


# Decisions are kept: the next reading needs none and remembers the same. Another text, other sizes
# of pages, another decider or other prompts need new ones.
async def test_kept(tmp_path: Path) -> None:
    first, second, renamed, reworded = (scripted() for _ in range(4))
    one = await memory_of(first, home=tmp_path)
    other = await memory_of(second, document(STORY, "another title"), home=tmp_path)

    assert prompts_of(first) == ALL_TASKS
    assert prompts_of(second) == []
    assert other.gists == one.gists
    assert [page.text for page in other.pages] == [page.text for page in one.pages]

    renamed.name, reworded.prompts = "another", "others"
    for decider, text, pages in (
        (scripted(), f"{STORY} So it is.", WIDE),
        (scripted(), STORY, Pagination(7, 23)),
        (renamed, STORY, WIDE),
        (reworded, STORY, WIDE),
    ):
        await memory_of(decider, text, home=tmp_path, pages=pages)
        assert "gist" in prompts_of(decider)


# Where the disk refuses them, the reading goes on and a note says so, once.
async def test_not_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    reading = await agent(scripted(), pages=WIDE, home=tmp_path / "file").aask("Where?")

    unsupported, note = reading.notes
    assert unsupported.startswith("1 of 1 claims has no quote")
    assert note.startswith(f"Gists cannot be kept in {tmp_path / 'file'} (")


class Killed(BaseException):
    """The process ends here."""


# A reading that is killed in the middle goes on at the next page: no decision is taken twice.
@pytest.mark.parametrize("survives", [2, 5])
async def test_killed(tmp_path: Path, survives: int) -> None:
    decided: list[Any] = []

    def counting(limit: int) -> ScriptedDecider:
        def decide(task: Any) -> Decision:
            if len(decided) >= limit:
                raise Killed
            decided.append(task)
            pauses = isinstance(task, PauseTask)
            return PausePoint(pause=0) if pauses else Gist(gist=task.text.split()[0])

        decider = ScriptedDecider({PauseTask: decide, GistTask: decide})
        decider.concurrency = 1
        return decider

    with pytest.raises(BaseExceptionGroup) as ended:
        await memory_of(counting(survives), home=tmp_path)
    memory = await memory_of(counting(99), home=tmp_path)

    assert ended.group_contains(Killed)
    assert len(decided) == len(set(decided)) == 7
    assert memory.gists == ("Danko", "They", "Toronto", "Its")


# A decider that fails ends the making, once what is under way is done and kept; the error has the
# cost.
async def test_failing(tmp_path: Path) -> None:
    async def gist(task: GistTask) -> Decision:
        if task.text.startswith("Never"):
            raise ModelUnavailableError("Nobody answers.")
        return Gist(gist="kept")

    reader = agent(scripted(gist=gist), home=tmp_path)
    with pytest.raises(ModelUnavailableError) as failed:
        await reader.memory()

    again = scripted()
    memory = await agent(again, home=tmp_path).memory()
    kept = reader.builder.built["gist"].calls
    assert 0 < failed.value.spent.calls <= kept <= 5
    assert prompts_of(again) == ["gist"] * (6 - kept)
    assert memory.gists.count("kept") == kept


# Where no usable decision can be had, a page ends where it is full and stands for its gist; notes
# say so, and the next reading tries again.
async def test_unusable(tmp_path: Path) -> None:
    def refuse(task: Any) -> Decision:
        raise ReplyError("Nothing of use.")

    reader = agent(scripted(pause=refuse, gist=refuse), pages=WIDE, home=tmp_path)
    reading = await reader.aask("Where?")
    memory = await reader.memory()
    again = scripted()
    await memory_of(again, home=tmp_path)

    assert "".join(memory.gists) == STORY
    assert memory.pages_without_gist() == list(memory.pages)
    assert memory.compression() == 0
    assert reading.notes == (
        "1 of 1 claims has no quote that supports it: Toronto",
        "Some pauses could not be chosen: there a page ends where it is full.",
        "Some pages could not be shortened: they stand for their gists.",
    )
    assert prompts_of(again) == ALL_TASKS


# Gists of a model stay when the prompt of another task changes, such as that of the answer; when
# that of the gists changes they are made anew, and pauses are not.
async def test_other_prompts(tmp_path: Path) -> None:
    def shorten(request: ChatRequest) -> dict[str, Any]:
        gist = request.decision == "Gist"
        return {"gist": "Short."} if gist else {"rationale": "", "pause": 0}

    decisions = {}
    for name in ("", "memory_answer", "gist"):
        folder = tmp_path / f"prompts-{name}"
        folder.mkdir()
        if name:
            prompt = (files("graphreader") / "prompts" / f"{name}.md").read_text("utf-8")
            text = prompt.replace("# System", "# System\n\nBe careful.", 1)
            (folder / f"{name}.md").write_text(text, "utf-8")
        decider, model = modelled(shorten, prompts=Prompts(folder))
        await memory_of(decider, home=tmp_path)
        decisions[name] = [request.decision for request in model.requests]

    assert decisions == {
        "": ["PausePoint"] * 3 + ["Gist"] * 4,
        "memory_answer": [],
        "gist": ["Gist"] * 4,
    }


ENGLISH = st.sampled_from(["one", "Two", "three.", "Four!", "five,", "\n\n", "\n", "# Six\n\n"])
CHINESE = st.sampled_from([*"天地玄黄宇宙洪荒。！，", "\n\n", "abc"])
ODD = st.sampled_from(["a" * 90, "é", "e\u0301", "👍🏽", "\r\n", "\u200d", " ", "\t", "end.Next"])
WORDS = st.lists(ENGLISH, max_size=120).map(" ".join)
TEXTS = st.one_of(
    st.lists(CHINESE, max_size=120).map("".join),
    st.lists(st.one_of(ENGLISH, CHINESE, ODD), max_size=80).map("".join),
    st.text(max_size=200),
)
SIZES = st.tuples(st.integers(1, 12), st.integers(0, 20)).map(lambda two: (two[0], sum(two)))


async def paged(text: str, pagination: Pagination, choice: int = 0) -> list[str]:
    async def choose(options: PauseOptions) -> int:
        return options.points[choice % len(options.points)]

    pages = await paginate(document(text), pagination, choose)
    assert all(a.start + len(a.text) == b.start for a, b in pairwise(pages))
    return [page.text for page in pages]


# Nothing is lost, and no page has more words than it may. Where words stand apart, each page but
# the last has at least the fewest words.
@given(WORDS, TEXTS, SIZES, st.integers(0, 5))
@settings(max_examples=80, deadline=None)
async def test_pages_give_the_text_back(
    words: str, other: str, sizes: tuple[int, int], choice: int
) -> None:
    for text in (words, other):
        pages = await paged(text, Pagination(*sizes), choice)

        assert "".join(pages) == (text if text.strip() else "")
        assert all(pages)
        assert all(words_in(page) <= sizes[1] for page in pages)
        assert text is other or all(words_in(page) >= sizes[0] for page in pages[:-1])


# No page begins inside of a grapheme, as long as there is another place to cut.
async def test_graphemes_stay_whole() -> None:
    text = ("e\u0301" * 30 + "👍🏽" * 11) * 4
    pages = await paged(text, Pagination(1, 2))

    starts = [sum(map(len, pages[:n])) for n in range(1, len(pages))]
    assert len(pages) > 2
    assert not any(in_grapheme(text, start) for start in starts)


# Tags stand between paragraphs, and only behind the least number of words.
async def test_tags() -> None:
    shown: list[PauseTask] = []

    async def choose(options: PauseOptions) -> int:
        shown.append(options.task(STORY))
        return options.points[1]

    pages = await paginate(document(STORY), Pagination(7, 22), choose)

    assert shown[0].values()["text"] == (
        "Danko Jones is a band of three.\n<0>\n"
        "They come from the city of Toronto.\n<1>\n"
        "Toronto has a castle on a hill.\n<2>\n"
        "Its"
    )
    assert [page.text.split()[0] for page in pages] == ["Danko", "Toronto", "Never"]
    assert len(shown) == 2
    assert [page.index for page in pages] == [0, 1, 2]


# Words of the text that look like a tag cannot be chosen.
def test_tags_of_the_text() -> None:
    task = PauseTask(("See <3> there.", "And < 12 > here."), "End <b>.")

    assert task.values()["text"] == "See ‹3> there.\n<0>\nAnd ‹ 12 > here.\n<1>\nEnd <b>."
    assert task.problem(task.decision(pause=1)) is None
    assert "<0> to <1>" in str(task.problem(task.decision(pause=3)))


# Chinese is counted by its characters without punctuation, and paused between sentences.
async def test_chinese() -> None:
    assert words_in("天地玄黄，宇宙洪荒。") == 8
    assert words_in("他说“你好”！") == 4
    assert words_in("In 1912 建成 Casa Loma.") == 6

    pages = await paged("天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。" * 3, Pagination(10, 20))
    assert all(page.endswith("。") for page in pages)


# A rest that fits into a page is a page: it takes no decision, nor does a single tag.
@pytest.mark.parametrize("text", ["", " \n\n ", "One paragraph.", "One.\n\nTwo words.\n\nThree."])
async def test_no_choice(text: str) -> None:
    async def choose(options: PauseOptions) -> int:
        raise AssertionError("There is nothing to choose.")

    pages = await paginate(document(text), Pagination(2, 8), choose)

    assert [page.text for page in pages] == ([text] if text.strip() else [])


# The sizes of pages are those of the papers (GraphReader paper, appendix D).
def test_presets() -> None:
    assert preset_for(None) == preset_for(8_000) == Pagination() == Pagination(280, 600)
    assert {preset_for(n) for n in (15_500, 16_384, 32_000, 65_536)} == {Pagination(1000, 5000)}
    assert preset_for(None, "book") == Pagination(500, 3000)
    assert Pagination.of("7-22") == WIDE
    assert Pagination.of(None) is None
    assert {preset_for(n) for n in (128_000, 131_072, 262_144)} == {Pagination(2000, 10000)}
