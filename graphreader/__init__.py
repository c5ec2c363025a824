"""GraphReader: questions about texts far larger than a model's window.

The names here are the public ones. They are imported when first used, because the agent's libraries
take seconds to load.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphreader.agent.events import AnswerToken as AnswerToken
    from graphreader.agent.events import CandidatesFound as CandidatesFound
    from graphreader.agent.events import ChunkRead as ChunkRead
    from graphreader.agent.events import Event as Event
    from graphreader.agent.events import FactsRead as FactsRead
    from graphreader.agent.events import FunctionChosen as FunctionChosen
    from graphreader.agent.events import NeighborsSeen as NeighborsSeen
    from graphreader.agent.events import NodesChosen as NodesChosen
    from graphreader.agent.events import NoteTaken as NoteTaken
    from graphreader.agent.events import PathEnded as PathEnded
    from graphreader.agent.events import PlanMade as PlanMade
    from graphreader.agent.events import QuestionAnswered as QuestionAnswered
    from graphreader.agent.events import RunBegan as RunBegan
    from graphreader.agent.run_store import RunSummary as RunSummary
    from graphreader.errors import GraphReaderError as GraphReaderError
    from graphreader.estimate import Estimate as Estimate
    from graphreader.graph_reader import GraphReader as GraphReader
    from graphreader.ingestion.report import DocumentReport as DocumentReport
    from graphreader.ingestion.report import IngestReport as IngestReport
    from graphreader.integrations.langchain import GraphReaderRetriever as GraphReaderRetriever
    from graphreader.reading import Citation as Citation
    from graphreader.reading import Claim as Claim
    from graphreader.reading import Contradiction as Contradiction
    from graphreader.reading import FunctionCall as FunctionCall
    from graphreader.reading import Path as Path
    from graphreader.reading import Reader as Reader
    from graphreader.reading import Reading as Reading
    from graphreader.runs import KeptRun as KeptRun
    from graphreader.settings import Settings as Settings
    from graphreader.usage import Usage as Usage
    from graphreader.waiting import Waiting as Waiting

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
    "Waiting": "waiting",
}

__all__ = sorted(_PLACES)


# The program that uses the package decides where its log goes.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
