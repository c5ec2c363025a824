"""The drawing of the agent in the documents: what LangGraph says about the graph that runs."""

import re
from pathlib import Path
from typing import cast

from graphreader.agent.checkpoints import compile_agent
from graphreader.agent.dependencies import AgentDependencies, Limits, QueryVectors
from graphreader.offline.decider import OfflineDecider
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.store.explorer import GraphExplorer

_BLOCK = re.compile(r"(?<=<!-- agent: make pictures -->\n```mermaid\n).*?(?=```)", re.DOTALL)


def drawn() -> str:
    """The agent with its path subgraph, in Mermaid."""
    nowhere = cast(GraphExplorer, None)  # drawing looks at nothing
    parts = AgentDependencies(nowhere, OfflineDecider(), QueryVectors(OfflineEmbedder()), Limits())
    agent = compile_agent("paper", parts, None)
    return agent.get_graph(xray=True).draw_mermaid().replace("\t", "  ")


def drawings_in(document: Path) -> list[str]:
    """The drawings of the agent that stand in a document."""
    return _BLOCK.findall(document.read_text(encoding="utf-8"))


def write_drawing(document: Path) -> None:
    """Put the drawing as it is now into a document."""
    text = document.read_text(encoding="utf-8")
    document.write_text(_BLOCK.sub(lambda _: drawn(), text), encoding="utf-8")
