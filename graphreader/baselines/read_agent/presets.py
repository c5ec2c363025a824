"""Sizes of pages as the papers used them.

280 to 600 words are ReadAgent's own, and those of the GraphReader paper for LongBench; for LV-Eval
it took larger ones, so that the gists fit the window (GraphReader paper, appendix D).
"""

from collections.abc import Mapping

from graphreader.baselines.read_agent.pagination import Pagination

PRESETS: Mapping[str, Pagination] = {
    "longbench": Pagination(280, 600),
    "lv-eval-64k": Pagination(1_000, 5_000),
    "lv-eval-256k": Pagination(2_000, 10_000),
}
"""By name: `lv-eval-64k` is for lengths of 16k, 32k and 64k tokens, `lv-eval-256k` for more."""

_SHORTEST_BUILT = 12_000  # tokens; a context that is built for 16k may fall short of it
_ABOVE_64K = 96_000


def preset_for(length: int | None) -> Pagination:
    """The preset of a context that was built to have so many tokens; None: it is as it came.

    Datasets in their native length are read as LongBench is, however long their texts are.
    """
    if length is None or length < _SHORTEST_BUILT:
        return PRESETS["longbench"]
    return PRESETS["lv-eval-64k" if length < _ABOVE_64K else "lv-eval-256k"]
