"""The view of a run: folded from its events, it becomes what the reading says."""

from graphreader.agent.events import (
    AnswerToken,
    CandidatesFound,
    ChunkRead,
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
from graphreader.agent.run_view import RunView, ShownAt
from graphreader.reading import FunctionCall, Path, Reading
from graphreader.waiting import Waiting

CALL = FunctionCall("read_chunk", "life, chunk 3", "why", "Ada", "k1")


def after(*events: object) -> RunView:
    view = RunView("books", "Who?")
    for event in events:
        view.apply(event)  # type: ignore[arg-type]
    return view


# Paths grow as they go, and end one by one; an answer that begins anew replaces the pieces before.
def test_paths() -> None:
    view = after(
        RunBegan("r1"),
        PlanMade("Look for Ada.", ("Ada",)),
        NodesChosen(("Ada", "Bo")),
        FunctionChosen(1, "Ada", CALL),
        NoteTaken(1, "Ada came."),
        PathEnded(2, "nothing_left", "", None),
        AnswerToken("Bo", begins=True),
        AnswerToken("Ada", begins=True),
        AnswerToken(" came."),
    )
    reading = view.so_far()

    assert (view.run, reading.plan, view.needs) == ("r1", "Look for Ada.", ("Ada",))
    assert (reading.corpus, reading.question, reading.answer) == ("books", "Who?", "Ada came.")
    assert view.active_paths == {1}
    assert reading.paths == (
        Path("Ada", "Ada came.", 1, "termination", None, (CALL,), node_id="k1"),
        Path("Bo", "", 0, "nothing_left"),
    )
    assert view.version == 9


# The latest step of a path is kept, for a picture of what it does; a note is no step. A path that
# was not announced begins at the node of its first step.
def test_latest_step() -> None:
    seen, ended = NeighborsSeen(1, "Ada", ("Bo",)), PathEnded(2, "error", "Bo left.", "no reply")
    view = after(seen, NoteTaken(1, "Ada came."), FunctionChosen(2, "Bo", CALL), ended)
    ada, bo = view.paths or ()

    assert (ada.initial_node, ada.latest, ada.notebook) == ("Ada", seen, "Ada came.")
    assert (bo.initial_node, bo.latest, bo.notebook) == ("Bo", ended, "Bo left.")
    assert (bo.stopped, bo.error, len(bo.functions)) == ("error", "no reply", 1)


# A run is at one stage after the other; where turns stall, paths explore once more. Without initial
# nodes it answers at once.
def test_stages() -> None:
    ended = [PathEnded(n, "termination", "", None) for n in (1, 2)]
    events = [
        RunBegan("r1"),
        PlanMade("Look for Ada."),
        CandidatesFound(("Ada", "Bo")),
        NodesChosen(("Ada",)),
        ended[0],
        NodesChosen(("Bo",)),
        PlanMade("Look for Bo."),
        ended[1],
    ]
    stages = [after(*events[:number]).stage for number in range(1, len(events) + 1)]

    assert stages == [
        *("planning", "searching", "selecting", "exploring", "answering"),
        *("exploring", "exploring", "answering"),
    ]
    assert after(NodesChosen(())).stage == "answering"


# A chunk that a turn reads by its number is named once it was read. The texts that were shown are
# known with the paths and the key elements; old events do not have the places of facts.
def test_shown_texts() -> None:
    view = after(
        NodesChosen(("question",)),
        FunctionChosen(1, "turn 1", FunctionCall("read_chunk", "1.3", "", "turn 1")),
        FactsRead(1, "Ada", ("Ada left.",), ("life, chunk 4",)),
        ChunkRead(1, "question", "life", "d", 3),
        FactsRead(1, "Ada", ("Ada came.",), ("life, chunk 4",), (("d", 4, 0),)),
        FactsRead(2, "Bo", ("Ada came.",), ("life, chunk 4",), (("d", 4, 0),)),
    )
    path, _ = view.so_far().paths

    assert [call.argument for call in path.functions] == ["life, chunk 3"]
    assert list(view.shown.items()) == [
        (("d", 3), {None: ShownAt({1}, {"question"})}),
        (("d", 4), {(0, "Ada came."): ShownAt({1, 2}, {"Ada", "Bo"})}),
    ]


# A wait is shown until the next event; in the end the reading counts.
def test_end() -> None:
    view = after(Waiting("openai", "a reply", 3.0))
    reading = Reading("Who?", "Ada.", "", True, "books", "")

    assert view.waiting == "a reply"
    view.apply(QuestionAnswered(reading))
    assert view.waiting == ""
    assert view.so_far() is reading
