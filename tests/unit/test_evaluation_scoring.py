"""Scoring a reading: what its line says without a model, and what the raters add."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from graphreader.errors import CacheError, DecisionError, ModelUnavailableError, ReplyError
from graphreader.evaluation import scoring
from graphreader.evaluation.datasets.record import Record, SourceText, Supporting
from graphreader.evaluation.results import QuestionContext, corpus_of, record_digest
from graphreader.evaluation.scoring import (
    EVIDENCE_KEPT,
    PermissiveRating,
    PermissiveRatingTask,
    RecallRating,
    RecallRatingTask,
    Scorer,
    StrictRating,
    StrictRatingTask,
    failed_figures,
    rate_answer,
    stages,
)
from graphreader.llm.protocols import Decider
from graphreader.reading import Citation, FunctionCall, Path, Reading
from graphreader.testing import ScriptedDecider
from graphreader.usage import Usage

SENTENCE = "Danko Jones was formed in Toronto in 1996."
RECORD = Record(
    id="q1",
    dataset="musique",
    question="Where was the band formed?",
    answers=("Toronto", "Toronto, Canada"),
    documents=(
        SourceText("Band", f"{SENTENCE} They play hard rock."),
        SourceText("Band", "Another band."),
        SourceText("Copy", "Another band."),
        SourceText("Nothing", "  "),
    ),
    supporting=(Supporting(0, SENTENCE), Supporting(2)),
)
CHOICE = replace(RECORD, options=("Paris", "Toronto"), gold_option=1, keywords="Toronto")
ROW_OF_ONE = {"items": {"found": 1, "named": 2, "gold": 2}}
CONTEXT = QuestionContext(RECORD)
IDS = [one.id for one in CONTEXT.documents]


def reading(answer: str = "Toronto", **more: Any) -> Reading:
    fields: dict[str, Any] = {"answered": True, "usage": Usage(3, 100, 20, seconds=1.5), **more}
    return Reading(RECORD.question, answer, "", corpus="c", plan="", **fields)


async def score(one: Reading, record: Record = RECORD, rater: Decider | None = None) -> Any:
    return await Scorer(rater).score(record, one, CONTEXT)


def rater_with(script: Mapping[Any, Any]) -> ScriptedDecider:
    """A rater that finds answers partly right and one of two facts covered, but for the script."""
    replies: dict[Any, Any] = {
        StrictRatingTask: lambda task: StrictRating(agrees="no"),
        PermissiveRatingTask: lambda task: PermissiveRating(agrees="partially"),
        RecallRatingTask: lambda task: RecallRating(analysis="", relevant=[1, 2], covered=[2]),
    }
    return ScriptedDecider(replies | dict(script))


def failing(error: Exception) -> Callable[[Any], Any]:
    """A reply that is an error."""

    def reply(task: Any) -> Any:
        raise error

    return reply


# Equal texts stay two documents, one without text is left out; the same documents in the same order
# make the same corpus.
def test_documents_and_corpora() -> None:
    first, second = SourceText("a", "bc"), SourceText("d", "e")
    orders = [(first, second), (second, first), (SourceText("ab", "c"), second)]
    corpora = [corpus_of(Record("q", "d", "Who?", (), one)) for one in (*orders, orders[0])]

    assert len(set(IDS)) == 3
    assert CONTEXT.passages((id_, 0, 1) for id_ in IDS) == [0, 1, 2]
    assert corpora[0] == corpora[3]
    assert len(set(corpora)) == 3


# Without raters everything is measured but what only a rater can tell, which is null. Documents are
# named by their places in the record, each once; a path is recorded function by function; a long
# evidence is measured whole and kept in part.
async def test_line() -> None:
    citation = Citation("Copy", IDS[2], 0, 0, 7, "Another")
    call = FunctionCall("read_chunk", "chunk 1", "why")
    line = await score(
        reading(
            "In Toronto.",
            evidence="x" * EVIDENCE_KEPT + SENTENCE,
            facts_read=("Nothing.",),
            passages_read=((IDS[2], 0, 7), (IDS[0], 0, 9), (IDS[2], 0, 13)),
            citations=(citation, citation),
            tokens_read=17,
            paths=(Path("Toronto", "", 1, "nothing_left", functions=(call,)),),
        )
    )

    functions = [{"name": "read_chunk", "stage": "facts"}]
    assert line["em"] == 0
    assert line["f1"] == line["rouge"]["1"] == pytest.approx(2 / 3)
    assert line["rating"] is line["unrated"] is line["choice"] is line["f1_star"] is None
    assert line["recall"] == {"strings": [1, 2], "rated": None}
    assert line["facts_recall"] == {"strings": [0, 2], "rated": None}
    assert line["error"] is None
    assert (line["documents_read"], line["documents_cited"]) == ([2, 0], [2])
    assert (line["tokens_read"], line["seconds"], line["usage"]["input_tokens"]) == (17, 1.5, 100)
    assert line["paths"] == [{"calls": 1, "stopped": "nothing_left", "functions": functions}]
    assert len(line["evidence"]) == EVIDENCE_KEPT


# The passages of a record are one text, with their headings. A passage counts as read if a piece of
# the text has half of it, or lies in it by half; a sentence of evidence is where a piece has it.
async def test_one_text() -> None:
    context = QuestionContext(replace(RECORD, dataset="own"), "text")
    (document,) = context.documents
    first, second = document.text.index("Another"), document.text.rindex("Another")

    def piece(start: int, end: int) -> tuple[str, int, int]:
        return document.id, start, end

    assert document.title == "own"
    assert document.text == (
        f"Passage 1:\nBand\n{SENTENCE} They play hard rock.\n\nPassage 2:\nBand\nAnother band.\n\n"
        "Passage 3:\nCopy\nAnother band.\n\n"
    )
    for start, end, expected in (
        (0, len(document.text), [0, 1, 2]),
        (first + 2, second + 6, [1]),
        (first + 7, second + 7, [2]),
        (30, 40, [0]),
        (0, 17, []),
        (first - 8, first + 6, []),
    ):
        assert context.passages([piece(start, end)]) == expected
    assert context.passages([(IDS[2], 0, 13)]) == [2]
    sentence = piece(16, 16 + len(SENTENCE))
    line = await Scorer().score(RECORD, reading(passages_read=(sentence,)), context)
    assert (line["documents_read"], line["chunk_recall"]) == ([0], 1.0)


# A heading names the title once, and Chinese passages in Chinese.
@pytest.mark.parametrize(
    ("title", "language", "heading"),
    [("", "en", "Passage 1:\n"), ("Passage 1", "en", "Passage 1:\n"), ("书", "zh", "文章1:\n书\n")],
)
def test_headings(title: str, language: str, heading: str) -> None:
    passages = (SourceText(title, "文本"), SourceText("T", "文本"))
    context = QuestionContext(replace(RECORD, language=language, documents=passages), "text")

    assert context.documents[0].text.startswith(f"{heading}文本\n\n")


# An unanswered question is never answered right; without a known answer nothing is measured; an
# option is right or wrong; F1* is measured for sets of LV-Eval alone; lists are counted by item,
# and a number is right or wrong.
@pytest.mark.parametrize(
    ("answered", "answer", "changes", "figures"),
    [
        (False, "Toronto", {}, {"answer": "Toronto", "em": 0, "f1": 0}),
        (
            True,
            "Toronto",
            {"answers": (), "supporting": ()},
            dict.fromkeys(("em", "f1", "rouge", "recall")),
        ),
        (True, "Toronto", {"keywords": "Toronto"}, {"f1_star": 1}),
        (True, "Paris", {"keywords": "Toronto"}, {"f1_star": 0}),
        (True, "B", {"options": ("Paris", "Toronto"), "gold_option": 1}, {"choice": True}),
        (True, "Paris", {"options": ("Paris", "Toronto"), "gold_option": 1}, {"choice": False}),
        (
            True,
            "Toronto and Oslo",
            {"items": (("Toronto",), ("Rome",))},
            {"items": {"found": 1, "named": 2, "gold": 2}, "count": None},
        ),
        (True, "Rome, Toronto", {"items": (("Toronto",), ("Rome",)), "ordered": True}, ROW_OF_ONE),
        (False, "Rome", {"items": (("Rome",),)}, {"items": {"found": 0, "named": 0, "gold": 1}}),
        (True, "In four cities.", {"count": 4}, {"count": True, "items": None}),
        (False, "4", {"count": 4}, {"count": False}),
    ],
)
async def test_answers(
    answered: bool, answer: str, changes: dict[str, Any], figures: dict[str, Any]
) -> None:
    line = await score(reading(answer, answered=answered), replace(RECORD, **changes))

    assert {name: line[name] for name in figures} == figures


# A folder of results from before lists, counts and refusals can be continued: the digests of their
# records stay, and each of these answers has one of its own.
def test_digests() -> None:
    special = ({"items": (("a",),)}, {"count": 2}, {"answerable": False})
    digests = {record_digest(replace(RECORD, **changes)) for changes in ({}, *special)}

    assert record_digest(RECORD) == "3a9a1849a2666afc"
    assert len(digests) == 4


# A failed reading has the figures of an empty answer, its reason and its cost.
def test_failed() -> None:
    error = DecisionError("No.")
    error.spent = Usage(2)
    plain, choice = (failed_figures(one, error, CONTEXT) for one in (RECORD, CHOICE))

    assert (plain["em"], plain["f1"], plain["rouge"]["L"]) == (0, 0, 0)
    assert plain["choice"] is plain["f1_star"] is None
    assert (choice["choice"], choice["f1_star"]) == (False, 0)
    assert (plain["error"], plain["usage"]["calls"]) == ("No.", 2)


# The stage of a page or an end follows from the calls before it, and from where it was chosen.
@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (["read_chunk", "search_more", "termination at Book, chunk 3"], "facts chunks chunks"),
        (["stop_and_read_neighbor", "termination at Casa Loma"], "facts neighbors"),
        (["next_page", "next_page", "read_chunk"], "facts facts facts"),
        (
            ["stop_and_read_neighbor", "next_page", "next_page", "read_neighbor_node", "next_page"],
            "facts neighbors neighbors neighbors facts",
        ),
        (["read_chunk", "read_previous_chunk", "next_page"], "facts chunks neighbors"),
    ],
)
def test_stages(calls: list[str], expected: str) -> None:
    parts = [call.partition(" at ") for call in calls]

    assert stages([FunctionCall(name, "", "", at) for name, _, at in parts]) == expected.split()


# A rater that fails leaves a note and the text; later only what is missing is rated.
async def test_rated_again() -> None:
    evidence = "x" * EVIDENCE_KEPT + SENTENCE
    one = reading(evidence=evidence, facts_read=("A fact.",), notes=("Chunk 3 is too long.",))
    failure = failing(ReplyError("The reply makes no sense."))
    line = await score(one, rater=rater_with({RecallRatingTask: failure}))
    decider = ScriptedDecider(
        {RecallRatingTask: lambda task: RecallRating(analysis="", relevant=[1, 2], covered=[2])}
    )
    rated, usage = await Scorer(decider).rate(RECORD, line)

    assert (line["rating"], line["recall"]) == ("partial", {"strings": [1, 2], "rated": None})
    assert line["notes"][1:] == ["The rater failed: The reply makes no sense."]
    assert line["unrated"] == {"recall": evidence, "facts_recall": "A fact."}
    assert [task.values()["text"] for task in decider.asked] == [evidence, "A fact."]
    assert rated["recall"] == {"strings": [1, 2], "rated": [1, 2]}
    assert rated["facts_recall"]["rated"] == [1, 2]
    assert (rated["rating"], rated["unrated"]) == ("partial", None)
    assert rated["notes"] == ["Chunk 3 is too long."]
    assert usage.calls == 2
    assert rated["rating_usage"]["calls"] == line["rating_usage"]["calls"] + 2
    assert rated["usage"] == line["usage"]
    assert rated.keys() == line.keys()


# Raters whose service stays unavailable are given up, but not while some replies come. The reading,
# which is paid for, is kept.
async def test_useless_raters() -> None:
    replies: list[StrictRating | None] = [None, None, StrictRating(agrees="yes"), None, None, None]

    def come_and_go(task: StrictRatingTask) -> StrictRating:
        reply = replies.pop(0)
        if reply is None:
            raise ModelUnavailableError("The rater does not answer.")
        return reply

    scorer = Scorer(rater_with({StrictRatingTask: come_and_go}))
    states = []
    for _ in range(len(replies)):
        line = await scorer.score(RECORD, reading(), CONTEXT)
        states.append(scorer.rater_failure is not None)

    assert states == [False] * 5 + [True]
    expected = "The rater does not answer. No more questions are asked meanwhile."
    assert str(scorer.rater_failure) == expected
    assert (line["answer"], line["unrated"]) == ("Toronto", {"recall": ""})


# A yes of either rater is exact, a strict no with a permissive "partially" partial, else it is no.
# The best reference counts; what can change nothing is not asked, as with an empty answer.
@pytest.mark.parametrize(
    ("answer", "references", "verdict", "asked"),
    [
        ("x", "yes", "exact", 1),
        ("x", "exact", "exact", 2),
        ("x", "maybe", "partial", 2),
        ("x", "no maybe no", "partial", 6),
        ("x", "no no", "no", 4),
        ("x", "no yes no", "exact", 3),
        (" \n", "yes", "no", 0),
    ],
)
async def test_verdicts(answer: str, references: str, verdict: str, asked: int) -> None:
    strict: dict[str, Any] = {"yes": "yes"}
    permissive: dict[str, Any] = {"maybe": "partially", "exact": "yes"}
    decider = ScriptedDecider(
        {
            StrictRatingTask: lambda one: StrictRating(agrees=strict.get(one.reference, "no")),
            PermissiveRatingTask: lambda one: PermissiveRating(
                agrees=permissive.get(one.reference, "no")
            ),
        }
    )
    rated, usage = await rate_answer(decider, "Who?", answer, references.split())

    assert (rated, usage.calls, len(decider.asked)) == (verdict, asked, asked)
    assert {task.phase for task in decider.asked} <= {"rate"}


# Covered are only needed facts, of which there is one at least, and all are in the list.
@pytest.mark.parametrize(
    ("relevant", "covered", "problem"),
    [
        ([1, 2, 3], [3, 1, 2], None),
        ([2], [], None),
        ([], [], "relevant must be numbers from 1 to 3, one at least."),
        ([1, 4], [1], "relevant must be numbers from 1 to 3, one at least."),
        ([2], [1], "covered must be some of the numbers of relevant, or none."),
    ],
)
def test_impossible_facts(relevant: list[int], covered: list[int], problem: str | None) -> None:
    task = RecallRatingTask("Who won?", ("Danny won.", "It rained.", "Alice lost."), "notes")

    assert task.problem(RecallRating(analysis="", relevant=relevant, covered=covered)) == problem


# A text that is too long for one rating is rated in pieces. The first rating tells which facts the
# question needs: no further piece or text is rated by others. Where a rater fails, for whatever
# reason, the pieces before are kept, and later only the others are rated.
async def test_rated_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    def rate(task: RecallRatingTask) -> RecallRating:
        if len(task.supporting) == 2:
            return RecallRating(analysis="", relevant=[2], covered=[2])
        if "fails" in task.text:
            raise CacheError("The disk is full.")
        return RecallRating(analysis="", relevant=[1], covered=[])

    monkeypatch.setattr(scoring, "RATED_TOKENS", 20)
    evidence = f"{SENTENCE}\n\n" + "Another band plays here tonight.\n\n" * 5
    broken, rater = (rater_with({RecallRatingTask: rate}) for _ in range(2))
    failing = reading(evidence=f"{evidence}It fails here.", facts_read=("A fact.",))
    line = await score(failing, rater=broken)
    left = line["unrated"]["recall"]
    mended = line | {"unrated": line["unrated"] | {"recall": left.replace("fails", "goes on")}}
    rated, _ = await Scorer(rater).rate(RECORD, mended)
    first, later = (
        [one for one in asked if isinstance(one, RecallRatingTask)]
        for asked in (broken.asked, rater.asked)
    )

    assert len(first) > 2
    assert "".join(one.text for one in first[:-1]) + left == failing.evidence
    assert line["notes"] == ["The rater failed: The disk is full."]
    assert [one.text for one in later] == [mended["unrated"]["recall"], "A fact."]
    assert {one.supporting for one in (*first[1:], *later)} == {("Another band.",)}
    assert rated["recall"]["rated"] == [1, 1]
    assert rated["facts_recall"]["rated"] == [0, 1]
    assert (rated["unrated"], rated["notes"]) == (None, [])


# The error of a failed rating includes the cost of the ratings before it.
async def test_cost_of_a_failure() -> None:
    def rate(task: PermissiveRatingTask) -> PermissiveRating:
        if task.reference == "Danny":
            return PermissiveRating(agrees="no")
        raise ReplyError("The reply makes no sense.")

    with pytest.raises(DecisionError) as failure:
        await rate_answer(rater_with({PermissiveRatingTask: rate}), "Who?", "x", ["Danny", "Alice"])

    assert failure.value.spent.calls == 3  # two for Danny, a strict one for Alice
