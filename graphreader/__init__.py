"""GraphReader: questions about texts far larger than a model's window.

The names here are the public ones. They are imported when first used, because the agent's libraries
take seconds to load.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphreader.agent.events import (
        AnswerToken,
        CandidatesFound,
        ChunkRead,
        Event,
        FactsRead,
        FunctionChosen,
        NeighborsSeen,
        NodesChosen,
        NoteTaken,
        PathEnded,
        PlanMade,
        QuestionAnswered,
        RunBegan,
    )
    from graphreader.agent.run_store import RunSummary
    from graphreader.errors import GraphReaderError
    from graphreader.estimate import Estimate
    from graphreader.graph_reader import GraphReader
    from graphreader.ingestion.report import DocumentReport, IngestReport
    from graphreader.integrations.langchain import GraphReaderRetriever
    from graphreader.reading import (
        Citation,
        Claim,
        Contradiction,
        FunctionCall,
        Path,
        Reader,
        Reading,
    )
    from graphreader.runs import KeptRun
    from graphreader.settings import Settings
    from graphreader.usage import Usage

_PLACES = {
    "AnswerToken": "agent.events",
    "CandidatesFound": "agent.events",
    "ChunkRead": "agent.events",
    "Citation": "reading",
    "Claim": "reading",
    "Contradiction": "reading",
    "DocumentReport": "ingestion.report",
    "Estimate": "estimate",
    "Event": "agent.events",
    "FactsRead": "agent.events",
    "FunctionCall": "reading",
    "FunctionChosen": "agent.events",
    "GraphReader": "graph_reader",
    "GraphReaderError": "errors",
    "GraphReaderRetriever": "integrations.langchain",
    "IngestReport": "ingestion.report",
    "KeptRun": "runs",
    "NeighborsSeen": "agent.events",
    "NodesChosen": "agent.events",
    "NoteTaken": "agent.events",
    "Path": "reading",
    "PathEnded": "agent.events",
    "PlanMade": "agent.events",
    "QuestionAnswered": "agent.events",
    "Reader": "reading",
    "Reading": "reading",
    "RunBegan": "agent.events",
    "RunSummary": "agent.run_store",
    "Settings": "settings",
    "Usage": "usage",
}

__all__ = [
    "AnswerToken",
    "CandidatesFound",
    "ChunkRead",
    "Citation",
    "Claim",
    "Contradiction",
    "DocumentReport",
    "Estimate",
    "Event",
    "FactsRead",
    "FunctionCall",
    "FunctionChosen",
    "GraphReader",
    "GraphReaderError",
    "GraphReaderRetriever",
    "IngestReport",
    "KeptRun",
    "NeighborsSeen",
    "NodesChosen",
    "NoteTaken",
    "Path",
    "PathEnded",
    "PlanMade",
    "QuestionAnswered",
    "Reader",
    "Reading",
    "RunBegan",
    "RunSummary",
    "Settings",
    "Usage",
]


# Who uses the package decides what becomes of its log.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
