"""One task of every kind, in the order of the paper's figures 6 to 12 first."""

from typing import Any

from graphreader.agent import tasks as agent_tasks
from graphreader.agent.adaptive.notebook import GroupTask, Notebook
from graphreader.agent.adaptive.sweep import CollectTask, SweptPassage
from graphreader.agent.adaptive.tasks import LastTurnTask, ShownPassage, TurnTask
from graphreader.baselines.answering import (
    Excerpt,
    FullTextChoiceTask,
    FullTextTask,
    PassagesChoiceTask,
    PassagesTask,
    RefusableFullTextTask,
    RefusablePassagesTask,
)
from graphreader.baselines.chunk_reading import ChunkReadTask, NotesReadTask
from graphreader.baselines.read_agent import tasks as read_agent_tasks
from graphreader.baselines.read_agent.tasks import MemoryPage
from graphreader.baselines.search_agent import SearchStepTask
from graphreader.evaluation.scoring import PermissiveRatingTask, RecallRatingTask, StrictRatingTask
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.ingestion.normalization.joining import NamesTask
from graphreader.llm.protocols import Task

QUESTION = "Who painted the bridge that Ada built?"
TEXT = "Ada built a bridge in 1903. Bede painted the bridge red. Cyril sold it to Dora."
EXCERPTS = (Excerpt("Bridges", TEXT, 0), Excerpt("Coda", "Edgar slept.", 1))
MEMORY = (MemoryPage("Ada built a bridge.", TEXT, "Bridges"), MemoryPage("Edgar slept.", TEXT))
SO_FAR = (QUESTION, "Find the painter.", ("at Ada: read_chunk(Bridges, chunk 0)",), "Ada built it.")
FACTS = (agent_tasks.FactGroup("Bridges, chunk 1", ("Bede painted the bridge red.",)),)
NAMES = tuple(f"bridge number {n}" for n in range(300))
OPTIONS = ("Ada", "Bede")
PASSAGE: ShownPassage = {
    "number": "1.0",
    "title": "Bridges",
    "text": TEXT,
    "chunk": "c",
    "document_id": "d",
    "index": 0,
    "whole": True,
    "facts": [],
}
TURN = (
    QUESTION,
    Notebook(findings=("Ada built it. [1.0]",)),
    (),
    ({"action": "search(Ada)", "passages": [PASSAGE], "text": ""},),
)

TASKS: list[Task[Any]] = [
    ExtractionTask("Bridges", TEXT),
    agent_tasks.PlanTask(QUESTION),
    agent_tasks.InitialNodesTask(QUESTION, "Find the painter.", NAMES),
    agent_tasks.FactsTask(*SO_FAR, "bridge", FACTS),
    agent_tasks.ChunkTask(*SO_FAR, "bridge", "Bridges, chunk 1", TEXT),
    agent_tasks.NeighborTask(*SO_FAR, "bridge", NAMES),
    agent_tasks.AnswerTask(QUESTION, "", (TEXT,), (agent_tasks.Evidence("Bridges", TEXT),)),
    agent_tasks.ClaimCheckTask(
        QUESTION, "Bede", "Bede painted it.", (TEXT,), (agent_tasks.Evidence("Bridges", TEXT),)
    ),
    agent_tasks.CondenseTask(QUESTION, "Find the painter.", (TEXT,)),
    agent_tasks.JoinTask(QUESTION, "Find the painter.", (TEXT, "Bede.")),
    TurnTask(*TURN, 3),
    LastTurnTask(*TURN, 0),
    CollectTask(QUESTION, "painters", (SweptPassage("1.0", "Bridges", TEXT),)),
    GroupTask(QUESTION, ("Ada: Ada built it.", "Ada Byron: Ada Byron built a bridge."), 500),
    PassagesTask(QUESTION, EXCERPTS),
    RefusablePassagesTask(QUESTION, EXCERPTS),
    PassagesChoiceTask(QUESTION, EXCERPTS, OPTIONS),
    FullTextTask(QUESTION, EXCERPTS),
    RefusableFullTextTask(QUESTION, EXCERPTS),
    FullTextChoiceTask(QUESTION, EXCERPTS, OPTIONS),
    ChunkReadTask(QUESTION, "Bridges, chunk 1", TEXT),
    NotesReadTask(QUESTION, "Bridges, chunk 1", TEXT, (), "Ada built it."),
    SearchStepTask(QUESTION, "", (), (), (), frozenset(), 14),
    NamesTask("Bridges", (("Ada Byron", 4), ("Ada", 2))),
    read_agent_tasks.PauseTask((TEXT, TEXT), "And"),
    read_agent_tasks.GistTask(TEXT),
    read_agent_tasks.GistForTask(TEXT, QUESTION),
    read_agent_tasks.LookUpTask(QUESTION, MEMORY, 1),
    read_agent_tasks.NextPageTask(QUESTION, MEMORY, 1),
    read_agent_tasks.MemoryAnswerTask(QUESTION, MEMORY),
    read_agent_tasks.RefusableMemoryAnswerTask(QUESTION, MEMORY),
    read_agent_tasks.MemoryChoiceTask(QUESTION, MEMORY, options=OPTIONS),
]

RATINGS: list[Task[Any]] = [
    StrictRatingTask(QUESTION, "Bede", "Ada"),
    PermissiveRatingTask(QUESTION, "Bede", "Ada"),
    RecallRatingTask(QUESTION, (TEXT,), "a note"),
]
"""Those that only a language model decides."""
