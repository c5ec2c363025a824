"""The drawing of the agent in the documents: what LangGraph says about the graph that runs."""

import re
from pathlib import Path

from graphreader.agent.modes import mode_named

_BLOCK = re.compile(r"(?<=<!-- agent: make pictures -->\n```mermaid\n).*?(?=```)", re.DOTALL)


def drawn() -> str:
    """The agent with its path subgraph, in Mermaid."""
    return mode_named("paper").agent(None).get_graph(xray=True).draw_mermaid().replace("\t", "  ")


def drawings_in(document: Path) -> list[str]:
    """The drawings of the agent that stand in a document."""
    return _BLOCK.findall(document.read_text(encoding="utf-8"))


def write_drawing(document: Path) -> None:
    """Put the drawing as it is now into a document."""
    text = document.read_text(encoding="utf-8")
    document.write_text(_BLOCK.sub(lambda _: drawn(), text), encoding="utf-8")
