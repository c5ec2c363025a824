"""The table of modes: its names are those of the settings and of Studio; others are errors."""

import json
from pathlib import Path
from typing import get_args

import pytest

from graphreader import studio
from graphreader.agent.modes import MODES, Mode, mode_named
from graphreader.errors import UsageError
from graphreader.settings import ModeName, Settings

STUDIO = Path(__file__).parents[2] / "langgraph.json"


# The names that settings accept are those of the table, and Studio shows a graph of each mode.
def test_names() -> None:
    graphs = json.loads(STUDIO.read_text("utf-8"))["graphs"].values()

    assert set(get_args(ModeName)) == {mode.name for mode in MODES.values()} == set(MODES)
    assert set(graphs) == {f"graphreader.studio:graphreader_{name}" for name in MODES}
    assert all(callable(vars(studio)[one.partition(":")[2]]) for one in graphs)


# An unknown name is an error that lists the known ones.
def test_unknown() -> None:
    with pytest.raises(UsageError, match=f"no mode 'quick': choose {' or '.join(MODES)}"):
        mode_named("quick")


# The first step of a run is at the graph's first node, and its steps have different numbers; the
# nodes of the graph are those of the table.
@pytest.mark.parametrize("mode", MODES.values(), ids=list(MODES))
def test_graph(mode: Mode) -> None:
    graph = mode.agent(None).get_graph(xray=True)
    nodes = {name.rpartition(":")[2] for name in graph.nodes} - {"__start__", "__end__"}
    steps = {name: mode.step(name, {"turn": 0})[0] for name in [*mode.nodes, "path", "explore"]}
    numbers = sorted(number for number in steps.values() if number)

    assert nodes == set(mode.nodes)
    assert steps[mode.first] == 1
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(steps.get(one) for one in (mode.paths_step, mode.answer_step) if one)


# Settings replace a mode's own limits.
@pytest.mark.parametrize("mode", MODES.values(), ids=list(MODES))
def test_limits(mode: Mode) -> None:
    own = mode.limits(Settings.read(window=2000))
    other = mode.limits(Settings.read(initial_nodes=2, calls=3))

    assert (own.initial_nodes, own.calls, own.window) == (mode.paths, mode.calls, 2000)
    assert (other.initial_nodes, other.calls) == (2, 3)
