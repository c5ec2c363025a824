"""ReadAgent over a corpus as a graph of LangGraph that is run elsewhere, in LangGraph Studio."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime

from graphreader import readers
from graphreader.another_reader import material_of
from graphreader.baselines.read_agent.graph import Agent
from graphreader.baselines.read_agent.graph import read_agent_graph as graph_of
from graphreader.baselines.read_agent.reader import ReadAgent
from graphreader.baselines.read_agent.steps import Desk, Update
from graphreader.errors import UsageError
from graphreader.graphs import Home
from graphreader.readers import Material

Chosen = Callable[[Runtime[Any]], Awaitable[tuple[Home, str]]]
"""Whose home it is, and which reader is asked, by what the run was given as its context."""


def read_agent_graph(chosen: Chosen, context_schema: type[Any] | None = None) -> Agent:
    """The graph; its steps are taken in the loop of the home, and read the corpus each time.

    Pages and gists are kept, and the run's state holds them, too. Raises what an ask raises, and
    UsageError for a reader that has no gists.
    """

    async def source(runtime: Runtime[Any]) -> _Corpus:
        return _Corpus(*await chosen(runtime))

    return graph_of(source, context_schema)


@dataclass(frozen=True, slots=True)
class _Corpus:
    """The place of a run: a corpus, and the reader of that name."""

    home: Home
    name: str

    async def desk(self) -> Desk:
        """The desk of the reader over the corpus."""
        self._reader(Material(()))  # what is no such reader is told before a corpus is read
        return self._reader(await material_of(self.home)).desk()

    async def arun(self, work: Coroutine[Any, Any, Update]) -> Update:
        """In the loop of the home."""
        return await self.home.background.arun(work)

    def _reader(self, material: Material) -> ReadAgent:
        reader = readers.make(self.name, material, self.home.session.minds)
        if not isinstance(reader, ReadAgent):
            raise UsageError(f"{self.name} has no gists: choose read-agent-s, -p or gistmem.")
        return reader
