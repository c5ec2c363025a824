"""What the papers' tables print, as data; never ours, and never mixed with ours.

Only printed numbers stand there: of figures 1, 3, 4 and 5 the paper prints none but what its text
says. Percentages of the tables are given as shares, 0 to 1, as ours are.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _papers() -> Mapping[str, Any]:
    return json.loads(files(__package__).joinpath("papers_figures.json").read_text("utf-8"))  # type: ignore[no-any-return]


def graphreader(what: str) -> Any:
    """A part of what the GraphReader paper prints: "table_2", "source", ..."""
    return _papers()["graphreader"][what]


def read_agent(what: str) -> Any:
    """A part of what the ReadAgent paper prints: "quality", "narrativeqa", "qmsum", "source"."""
    return _papers()["read_agent"][what]


def set_of(dataset: str) -> str:
    """The name by which the GraphReader paper's figures of this dataset stand here, or empty."""
    names: Mapping[str, Sequence[str]] = graphreader("names")
    return next((name for name, ours in names.items() if dataset in ours), "")


def is_same_set(dataset: str) -> bool:
    """Whether it is the paper's very set, LongBench's sample or LV-Eval's, not just its origin."""
    return dataset in graphreader("same")


def share(percent: float | None) -> float | None:
    """A printed percentage as a share."""
    return None if percent is None else round(percent / 100, 6)
