"""The readers that take part in an evaluation, by their names.

Ablations and sweeps (paper, table 4, figures 3 and 4) are GraphReaders made with other arguments.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from graphreader import readers
from graphreader.agent.graph import Steps
from graphreader.baselines.read_agent.pages_retrieval import PagesRetrieval
from graphreader.baselines.read_agent.reader import ReadAgent
from graphreader.deciding.decider import Decider
from graphreader.deciding.offline.decider import OfflineDecider
from graphreader.deciding.offline.sized import SizedOfflineDecider
from graphreader.deciding.opening import Purpose, open_decider
from graphreader.deciding.prompting import Prompts
from graphreader.documents import Document
from graphreader.errors import UsageError
from graphreader.evaluation.ablations import (
    WITHOUT_PLAN,
    WITHOUT_SHARING,
    without_node_selection,
)
from graphreader.evaluation.contexts import parse_length
from graphreader.evaluation.datasets import Record
from graphreader.evaluation.entrant import Entrant, Opened
from graphreader.evaluation.graph_entrant import GraphEntrant
from graphreader.evaluation.record_documents import places_of
from graphreader.minds import Minds
from graphreader.readers import Material
from graphreader.settings import Settings

OWN = "graphreader"

_NO_PLAN, _NO_SHARING = f"{OWN}-no-plan", f"{OWN}-no-sharing"
_RANDOM_NODES = f"{OWN}-random-nodes"
_CHANGES: Mapping[str, Mapping[str, Any]] = {
    OWN: {},
    f"{OWN}-paper": {"mode": "paper", "initial_nodes": None, "calls": None},
    f"{OWN}-fast": {"mode": "fast", "initial_nodes": None, "calls": None},
    _NO_PLAN: {},
    _RANDOM_NODES: {},
    f"{OWN}-no-normalization": {"normalize": "none"},
    f"{OWN}-one-path": {"initial_nodes": 1},
    _NO_SHARING: {},
}
_SWEEPS: Mapping[str, str] = {"nodes": "initial_nodes", "chunk": "chunk_tokens"}


def entrants(
    names: Sequence[str],
    settings: Settings,
    *,
    keep: bool = False,
    place: str = "",
    seed: int = 0,
) -> list[Entrant]:
    """The readers of these names.

    With `keep` the graphs that they build stay in the database; others are those of the `place`.
    `seed` is that of what is left to chance. Nothing is opened before it is needed. Raises
    UsageError, which names the readers that there are, for one that there is not.
    """
    minds = Minds(settings, opened_by=_counting)
    return [
        GraphEntrant(name, _changed(name, settings), _steps(name, seed), keep=keep, place=place)
        if name == OWN or name.startswith(f"{OWN}-")
        else Baseline(name, minds)
        for name in dict.fromkeys(names)
    ]


def _counting(settings: Settings, purpose: Purpose) -> Decider:
    """The decider of the settings; one without a model counts the prompts that it would need."""
    opened = open_decider(settings, purpose)
    if not isinstance(opened, OfflineDecider):
        return opened
    return SizedOfflineDecider(settings.window, Prompts(settings.prompts))


def own_names() -> list[str]:
    """The names of GraphReader's own variants, as a person is told them."""
    return [*_CHANGES, *(f"{OWN}-{sweep}-N" for sweep in _SWEEPS)]


def _steps(name: str, seed: int) -> Steps | None:
    """The steps of a variant; None: those of every GraphReader."""
    if name == _RANDOM_NODES:
        return without_node_selection(seed)
    return {_NO_PLAN: WITHOUT_PLAN, _NO_SHARING: WITHOUT_SHARING}.get(name)


def _changed(name: str, settings: Settings) -> Settings:
    """The settings of a variant."""
    if name in _CHANGES:
        given = _CHANGES[name]
    elif found := re.fullmatch(rf"{OWN}-(nodes|chunk)-(\d+)", name):
        given = {_SWEEPS[found[1]]: int(found[2])}
    else:
        raise UsageError(
            f"There is no reader {name!r}: of GraphReader there are {', '.join(own_names())}."
        )
    # Read anew, not copied, so that what makes no sense is refused.
    return Settings.read(**{**settings.model_dump(exclude_unset=True), **given})


class Baseline:
    """A reader without a graph as an entrant; all of one evaluation share their deciders."""

    def __init__(self, name: str, minds: Minds) -> None:
        readers.check(name)
        self.name = name
        self.window = readers.window_of(name, minds)
        self._minds = minds

    @asynccontextmanager
    async def opened(self, record: Record, documents: Sequence[Document]) -> AsyncIterator[Opened]:
        """The reader over the documents; pages and gists, where it has any, are made now."""
        material = Material(documents, _made_for(record), _golden(record, documents))
        reader = readers.make(self.name, material, self._minds)
        if isinstance(reader, ReadAgent) and reader.task_aware:
            await reader.pages()
            yield Opened(reader, reader.building)
        elif isinstance(reader, ReadAgent):
            memory = await reader.memory()
            yield Opened(reader, reader.building, compression=memory.sizes())
        elif isinstance(reader, PagesRetrieval):
            await reader.pages()
            yield Opened(reader, reader.building)
        else:
            yield Opened(reader)

    async def forget(self, documents: Sequence[Document]) -> None:
        """There is nothing: gists are kept, as they are expensive and small."""

    async def clear(self) -> None:
        """There is nothing of an earlier run, either."""

    async def aclose(self) -> None:
        """Close the deciders."""
        await self._minds.aclose()


def _made_for(record: Record) -> int | None:
    """How long the context was made to be."""
    return parse_length(record.length)


def _golden(record: Record, documents: Sequence[Document]) -> tuple[list[str], list[Document]]:
    """The supporting facts of the record, and the documents in which they stand."""
    places = places_of(documents)
    gold = [one for one in documents if places[one.id] in record.gold_documents]
    sentences = [place.sentence for place in record.supporting]
    return (sentences if all(sentences) else []), gold
