"""Two corpora whose names, texts and ids never change, and scripted deciders that ask about them.

`fixed-texts` is three short texts, one of them Chinese, read without a model; `fixed-appendix-h`
is the example of the paper's appendix H.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from filelock import FileLock
from langchain_core.documents import Document

from graphreader.agent.adaptive.tasks import Action, Finding, LastTurnTask, Turn, TurnTask
from graphreader.agent.decisions import ChunkDecision, NeighborDecision
from graphreader.agent.tasks import ChunkTask, InitialNodesTask, NeighborTask
from graphreader.baselines.answering import PassagesTask, TextAnswer
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import world

CORPUS = "fixed-texts"
TEXTS = {
    "castle": "Casa Loma is a castle in Toronto. Henry Pellatt built Casa Loma in 1914. Henry "
    "Pellatt was born in Kingston.\n\n"
    "In 1924 Henry Pellatt left Casa Loma, because the city of Toronto had raised the taxes. He "
    "moved to a farm in King Township.\n\n"
    "Toronto bought the castle in 1934. The Kiwanis Club of Casa Loma ran the castle until 2011.\n",
    "school": "# The school\n\nEmil Rask founded a school of painting in Malmö in 1933. Vera Holm "
    "taught Emil Rask painting in Oslo.\n\n"
    "# The teacher\n\nVera Holm was born in Bergen in 1901. She painted the harbour of Bergen for "
    "Henry Pellatt, who hung the painting in Casa Loma.\n",
    "贞德": "贞德出生于东雷米村。贞德于1431年在鲁昂被处死。"
    "教宗本笃十五世于1920年册封贞德为圣人。\n",
}
QUESTION = "Who taught the founder of the school in Malmö?"
CHINESE_QUESTION = "哪位教宗册封贞德为圣人？"

APPENDIX_H = "fixed-appendix-h"
APPENDIX_H_QUESTION = (
    "What is the name of the castle in the city where the performer of Never Too Loud was formed?"
)
ALBUM = '"Never Too Loud" is the fourth studio album by Canadian hard rock band Danko Jones.'
BAND = "Danko Jones is a Canadian hard rock trio from Toronto."
CASTLE = (
    "Casa Loma is a Gothic Revival castle-style mansion and garden in midtown Toronto, Ontario, "
    "Canada."
)
ELEMENTS = {
    ALBUM: ["Never Too Loud", "studio album", "Canadian", "hard rock band", "Danko Jones"],
    BAND: ["Danko Jones", "Canadian", "hard rock trio", "Toronto"],
    CASTLE: ["Casa Loma", "Gothic Revival", "castle-style mansion", "Toronto", "Canada"],
}
NOTES = {
    ALBUM: "The performer of Never Too Loud is Danko Jones.",
    BAND: "Danko Jones is a band from Toronto, Canada.",
    CASTLE: "The castle in Toronto is Casa Loma.",
}


def settings(base: Settings, home: Path, **changes: Any) -> Settings:
    """The settings of a Neo4j server with a home folder, short chunks and two paths."""
    return world.settings(base, home=home, **{"initial_nodes": 2} | changes)


def decider() -> ScriptedDecider:
    """Decisions about `fixed-texts`: paths of four calls, or two turns and an answer."""

    def turn(task: TurnTask) -> Turn:
        shown = [one for result in task.results for one in result["passages"]]
        if len(task.notebook.findings) == 2 or isinstance(task, LastTurnTask) or not shown:
            return Turn(findings=[], answer="Vera Holm", rests_on=[1])
        quote, number = shown[0]["text"].removeprefix("- ").split("\n")[0], shown[0]["number"]
        found = Finding(finding=f"It says: {quote}", passage=number, quote=quote)
        looks = [("search", "Malmö"), ("read_node", "Bergen"), ("outline", number[:1])]
        actions = [Action(function=name, argument=text) for name, text in looks]  # type: ignore[arg-type]
        return Turn(findings=[found], actions=actions, notes="Go on.")

    script = {
        **world.EXPLORING,
        **{TurnTask: turn, LastTurnTask: turn},
        PassagesTask: lambda task: TextAnswer(answer="Vera Holm"),
    }
    return world.scripted({}, script)


def appendix_h_decider() -> ScriptedDecider:
    """The decisions that the appendix prints."""

    def chunk(task: ChunkTask) -> ChunkDecision:
        (fact,) = [fact for fact in NOTES if fact in task.text]
        notebook = f"{task.notebook} {NOTES[fact]}".strip()
        return world.chunk("termination" if fact is CASTLE else "search_more", notebook, [fact])

    def neighbor(task: NeighborTask) -> NeighborDecision:
        wanted = {"Never Too Loud": "Danko Jones", "Danko Jones": "Toronto"}[task.node]
        return world.neighbor(task.neighbors.index(wanted) + 1)

    script = {
        InitialNodesTask: world.nodes("Never Too Loud"),
        ChunkTask: chunk,
        NeighborTask: neighbor,
    }
    return world.scripted(ELEMENTS, script)


def ingest_texts(reader: GraphReader) -> None:
    """Ingest `fixed-texts`; sources are plain names, since ids are made from them."""
    reader.ingest(
        *(Document(page_content=text, metadata={"source": title}) for title, text in TEXTS.items())
    )


def ingest_appendix_h(reader: GraphReader) -> None:
    """Ingest sixteen passages, a chunk each; three of them support the answer."""
    passages = [
        f"Passage number {number} is about something else. It has nothing to do with the question, "
        "as most of a long text has nothing to do with most questions, and is as long as a chunk."
        for number in range(16)
    ]
    for number, fact in {6: ALBUM, 9: BAND, 13: CASTLE}.items():
        passages[number] = world.padded(fact)
    text = "\n\n".join(passages)
    reader.ingest(Document(page_content=text, metadata={"source": "music"}))


@contextmanager
def reserved(base: Settings, *corpora: str) -> Iterator[None]:
    """Hold these corpora for one process at a time; they are empty at the beginning and the end.

    Their names are fixed, since ids are made from them, and several processes may share a server.
    """
    with FileLock(Path(gettempdir(), "graphreader-fixed-corpora.lock")):
        delete(base, *corpora)
        try:
            yield
        finally:
            delete(base, *corpora)


def delete(base: Settings, *corpora: str) -> None:
    """Delete those of these corpora that exist."""
    with GraphReader(settings=base) as reader:
        for corpus in {one.corpus for one in reader.corpora()} & {*corpora}:
            reader.at(corpus).delete(everything=True)
