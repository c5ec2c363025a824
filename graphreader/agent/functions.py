"""The table of the functions with which the agent explores: their titles, signs and stages.

Pages, the drawing of a run and the paper's table 7 use this table. A decision's `Literal` offers
the functions of one step (`agent.decisions`, `agent.adaptive.tasks`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Stage = Literal["facts", "chunks", "neighbors"]

STAGES: Final[Mapping[Stage, str]] = {
    "facts": "Exploring atomic facts",
    "chunks": "Exploring chunks",
    "neighbors": "Exploring neighbors",
}
"""The stages of a path and their titles in the paper's table 7."""


@dataclass(frozen=True, slots=True)
class ExplorationFunction:
    """A function that a path or a turn can call.

    `title` heads a step on a page, and `legend` explains the `sign` in the timeline of the paths;
    `chinese` has both in Chinese. The sign is SVG in a box of 16 by 16. The paper counts the
    function at the `stages` (table 7): at none if it is ours. `reads` says what the argument names;
    an arrow leads to an adjacent chunk from the chunk where the function was called.
    """

    name: str
    title: str
    legend: str
    chinese: tuple[str, str]
    sign: str
    stages: tuple[Stage, ...] = ()
    reads: Literal["", "chunks", "an adjacent chunk"] = ""

    @property
    def icon(self) -> str:
        """The name of the sign: the first function that has this sign."""
        return next(one.name for one in FUNCTIONS.values() if one.sign == self.sign)


_PAGE = '<path d="M3.5 1.5h6l3 3v10h-9z M5.5 7h5 M5.5 9.5h5 M5.5 12h3"></path>'
_LENS = '<circle cx="7" cy="7" r="4.5"></circle><path d="M10.5 10.5L14.5 14.5"></path>'
_BACK = '<path d="M14 8H3 M7 3.5L2.5 8 7 12.5"></path>'
_ON = '<path d="M2 8h11 M9 3.5L13.5 8 9 12.5"></path>'
_NEIGHBORS = (
    '<path d="M5.7 6.8l4.6-2.4 M5.7 9.2l4.6 2.4"></path><circle cx="3.7" cy="8" r="2.2"></circle>'
    '<circle cx="12.3" cy="3.5" r="2.2"></circle><circle cx="12.3" cy="12.5" r="2.2"></circle>'
)
_TO_NODE = '<path d="M1.5 8h6 M5 5l3 3-3 3"></path><circle cx="12" cy="8" r="2.8"></circle>'
_MORE = '<path d="M2.5 3h11 M2.5 6.5h11 M8 9v5 M5.5 11.5L8 14l2.5-2.5"></path>'
_TICK = '<path d="M2.5 8.5l3.8 4L13.5 4"></path>'

_TABLE = (
    ExplorationFunction(
        name="read_chunk",
        title="Read in full",
        legend="read in full",
        chinese=("全文阅读", "全文阅读"),
        sign=_PAGE,
        stages=("facts",),
        reads="chunks",
    ),
    ExplorationFunction(
        name="search_more",
        title="Search on",
        legend="search on",
        chinese=("继续查找", "继续查找"),
        sign=_LENS,
        stages=("chunks",),
    ),
    ExplorationFunction(
        name="read_previous_chunk",
        title="Read the chunk before",
        legend="the chunk before",
        chinese=("读上一个文本块", "上一个文本块"),
        sign=_BACK,
        stages=("chunks",),
        reads="an adjacent chunk",
    ),
    ExplorationFunction(
        name="read_subsequent_chunk",
        title="Read the chunk after",
        legend="the chunk after",
        chinese=("读下一个文本块", "下一个文本块"),
        sign=_ON,
        stages=("chunks",),
        reads="an adjacent chunk",
    ),
    ExplorationFunction(
        name="stop_and_read_neighbor",
        title="Look at the neighbors",
        legend="look at neighbors",
        chinese=("查看邻居", "查看邻居"),
        sign=_NEIGHBORS,
        stages=("facts",),
    ),
    ExplorationFunction(
        name="read_neighbor_node",
        title="Go to a neighbor",
        legend="go to a neighbor",
        chinese=("转到邻居", "转到邻居"),
        sign=_TO_NODE,
        stages=("neighbors",),
    ),
    ExplorationFunction(
        name="next_page",
        title="Turn the page",
        legend="turn the page",
        chinese=("翻页", "翻页"),
        sign=_MORE,
    ),
    ExplorationFunction(
        name="termination",
        title="End the path",
        legend="end the path",
        chinese=("结束路径", "结束路径"),
        sign=_TICK,
        stages=("chunks", "neighbors"),
    ),
    # Turns of mode `adaptive` have these as well.
    ExplorationFunction(
        name="search",
        title="Search",
        legend="",
        chinese=("检索", ""),
        sign=_LENS,
    ),
    ExplorationFunction(
        name="read_node",
        title="Look at a key element",
        legend="",
        chinese=("查看关键元素", ""),
        sign=_NEIGHBORS,
    ),
    ExplorationFunction(
        name="outline",
        title="Look at an outline",
        legend="",
        chinese=("查看提纲", ""),
        sign=_MORE,
    ),
    ExplorationFunction(
        name="count",
        title="Count",
        legend="",
        chinese=("计数", ""),
        sign=_MORE,
    ),
    ExplorationFunction(
        name="list",
        title="List",
        legend="",
        chinese=("列举", ""),
        sign=_MORE,
    ),
    ExplorationFunction(
        name="sweep",
        title="Read everything in scope",
        legend="",
        chinese=("通读", ""),
        sign=_PAGE,
    ),
)
FUNCTIONS: Final[Mapping[str, ExplorationFunction]] = {one.name: one for one in _TABLE}
"""All functions by name, in the order of a page's legend and of the paper's table 7."""


def functions_at(stage: Stage) -> list[ExplorationFunction]:
    """The functions that the paper counts at a stage, in the order of its table 7."""
    return [one for one in FUNCTIONS.values() if stage in one.stages]
