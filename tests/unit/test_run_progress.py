"""What a live page shows of a run: built from its events, it becomes what the reading says."""

from graphreader.agent.events import (
    AnswerToken,
    ChunkRead,
    FactsRead,
    FunctionChosen,
    NodesChosen,
    NoteTaken,
    PathEnded,
    PlanMade,
    QuestionAnswered,
)
from graphreader.reading import FunctionCall, Path, Reading
from graphreader.waiting import Waiting
from graphreader.web.run_progress import RunProgress

CALL = FunctionCall("read_chunk", "life, chunk 3", "why", "Ada", "k1")


def after(*events: object) -> RunProgress:
    progress = RunProgress("books", "Who?")
    for event in events:
        progress.add(event)  # type: ignore[arg-type]
    return progress


# Paths grow as they go, and end one by one; an answer that begins anew replaces the pieces before.
def test_paths() -> None:
    progress = after(
        PlanMade("Look for Ada.", ("Ada",)),
        NodesChosen(("Ada", "Bo")),
        FunctionChosen(1, "Ada", CALL),
        NoteTaken(1, "Ada came."),
        PathEnded(2, "nothing_left", "", None),
        AnswerToken("Bo", begins=True),
        AnswerToken("Ada", begins=True),
        AnswerToken(" came."),
    )
    reading = progress.so_far()

    assert (reading.plan, progress.needs) == ("Look for Ada.", ("Ada",))
    assert reading.answer == "Ada came."
    assert progress.under_way == {1}
    assert reading.paths == (
        Path("Ada", "Ada came.", 1, "termination", None, (CALL,), node_id="k1"),
        Path("Bo", "", 0, "nothing_left"),
    )
    assert progress.version == 8


# A chunk that a turn reads by its number is named once it was read; what was shown is known.
def test_turns() -> None:
    progress = after(
        NodesChosen(("question",)),
        FunctionChosen(1, "turn 1", FunctionCall("read_chunk", "1.3", "", "turn 1")),
        ChunkRead(1, "question", "life", "d", 3),
        FactsRead(1, "question", ("Ada came.",), ("life, chunk 4",), (("d", 4, 0),)),
    )
    (path,) = progress.so_far().paths

    assert [call.argument for call in path.functions] == ["life, chunk 3"]
    assert list(progress.places) == [("d", 3), ("d", 4)]


# What is waited for is told until the next event; in the end the reading counts.
def test_end() -> None:
    waiting = after(Waiting("openai", "a reply", 3.0))
    reading = Reading("Who?", "Ada.", "", True, "books", "")

    assert waiting.waiting == "a reply"
    waiting.add(QuestionAnswered(reading))
    assert waiting.waiting == ""
    assert waiting.so_far() is reading
