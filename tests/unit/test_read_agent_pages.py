"""Episode pagination: where pages end, and which pauses a decider is shown (section 3.1)."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphreader.baselines.read_agent.gists import (
    Pagination,
    Stretch,
    paginate,
    preset_for,
    words_in,
)
from graphreader.baselines.read_agent.tasks import PauseTask
from graphreader.ingestion.chunking import in_grapheme
from tests.unit.read_agent_fakes import STORY, document

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
    async def choose(stretch: Stretch) -> int:
        return stretch.points[choice % len(stretch.points)]

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

    async def choose(stretch: Stretch) -> int:
        shown.append(stretch.task(STORY))
        return stretch.points[1]

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
    async def choose(stretch: Stretch) -> int:
        raise AssertionError("There is nothing to choose.")

    pages = await paginate(document(text), Pagination(2, 8), choose)

    assert [page.text for page in pages] == ([text] if text.strip() else [])


# The sizes of pages are those of the papers (GraphReader paper, appendix D).
def test_presets() -> None:
    assert preset_for(None) == preset_for(8_000) == Pagination() == Pagination(280, 600)
    assert {preset_for(n) for n in (15_500, 16_384, 32_000, 65_536)} == {Pagination(1000, 5000)}
    assert {preset_for(n) for n in (128_000, 131_072, 262_144)} == {Pagination(2000, 10000)}
