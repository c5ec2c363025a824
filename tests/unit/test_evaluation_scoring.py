"""One reading and what its line says of it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from graphreader.errors import ModelClosedError, ModelUnavailableError, ReplyError
from graphreader.evaluation.datasets.record import Record, SourceText, Supporting
from graphreader.evaluation.results import corpus_of, document_places, documents_of
from graphreader.evaluation.scoring import (
    EVIDENCE_KEPT,
    RATED_TOKENS,
    PermissiveRating,
    PermissiveRatingTask,
    Raters,
    RecallRating,
    RecallRatingTask,
    Scorer,
    StrictRating,
    StrictRatingTask,
    failed_figures,
    stages,
)
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
DOCUMENTS = documents_of(RECORD, corpus_of(RECORD))
IDS = [one.id for one in DOCUMENTS]


def reading(answer: str = "Toronto", **more: Any) -> Reading:
    given: dict[str, Any] = {"answered": True, "usage": Usage(3, 100, 20, seconds=1.5), **more}
    return Reading(RECORD.question, answer, "", corpus="c", plan="", **given)


async def scored(one: Reading, record: Record = RECORD, raters: Raters | None = None) -> Any:
    return await Scorer(raters).score(record, one, document_places(DOCUMENTS))


# Equal texts stay two documents, one without a text is none, and ids lead back to the record's own.
def test_documents() -> None:
    assert len(set(IDS)) == 3
    assert list(document_places(DOCUMENTS).values()) == [0, 1, 2]


# Records about the same documents share a corpus; another order, title or border makes another one.
def test_corpus() -> None:
    first, second = SourceText("a", "bc"), SourceText("d", "e")
    made = [
        corpus_of(Record("q", "d", "Who?", (), documents))
        for documents in [
            (first, second),
            (second, first),
            (SourceText("ab", "c"), second),
            (SourceText("a", "bc"), SourceText("d", "e")),
        ]
    ]

    assert made[0] == made[3]
    assert len(set(made)) == 3


# Documents are told by their places in the record, each once, as they came.
async def test_places() -> None:
    citation = Citation("Copy", IDS[2], 0, 0, 7, "Another")
    line = await scored(
        reading(documents_read=(IDS[2], IDS[0]), citations=(citation, citation), tokens_read=17)
    )

    assert line["documents_read"] == [2, 0]
    assert line["documents_cited"] == [2]
    assert line["tokens_read"] == 17
    assert line["seconds"] == 1.5
    assert line["usage"]["input_tokens"] == 100


# Without a model what can be measured is, and what only a rater knows is null.
async def test_without_raters() -> None:
    line = await scored(reading("In Toronto.", evidence=SENTENCE, facts_read=("Nothing.",)))

    assert line["em"] == 0
    assert line["f1"] == pytest.approx(2 / 3)
    assert line["rating"] is None
    assert line["rouge"]["1"] == pytest.approx(2 / 3)
    assert line["choice"] is line["f1_star"] is None
    assert line["recall"] == {"strings": [1, 2], "rated": None}
    assert line["facts_recall"] == {"strings": [0, 2], "rated": None}
    assert line["error"] is None


# Whatever an unanswered question is answered with, it is not right.
async def test_unanswered() -> None:
    line = await scored(reading("Toronto", answered=False))

    assert (line["em"], line["f1"], line["rouge"]["L"]) == (0, 0, 0)
    assert line["answer"] == "Toronto"


# Of a question to which no answer is known none is measured.
async def test_without_references() -> None:
    record = Record("q", "d", "Who?", (), RECORD.documents)
    line = await scored(reading(), record)

    assert line["em"] is line["f1"] is line["rouge"] is line["recall"] is None


# An option is right or wrong; keywords bring the figure of LV-Eval.
async def test_options_and_keywords() -> None:
    record = Record(
        "q",
        "d",
        "Where?",
        ("Toronto",),
        RECORD.documents,
        options=("Paris", "Toronto"),
        gold_option=1,
        keywords="Toronto",
    )

    assert (await scored(reading("B"), record))["choice"] is True
    assert (await scored(reading("Paris"), record))["choice"] is False
    assert (await scored(reading("Toronto"), record))["f1_star"] == 1
    assert (await scored(reading("Paris"), record))["f1_star"] == 0


# F1* is LV-Eval's also where it has no keywords: plain F1 in English, and in Chinese the reference
# is what an answer must hold. Elsewhere there is none.
async def test_without_keywords() -> None:
    english = replace(RECORD, keywords="")
    chinese = replace(RECORD, keywords="", answers=("北京，上海，广州",), language="zh")

    assert (await scored(reading("In Toronto."), english))["f1_star"] == pytest.approx(2 / 3)
    assert (await scored(reading("北京"), chinese))["f1_star"] == 0
    assert (await scored(reading("北京，上海"), chinese))["f1_star"] == pytest.approx(4 / 5)
    assert (await scored(reading("Toronto")))["f1_star"] is None
    assert (await scored(reading("Toronto"), replace(english, answers=())))["f1_star"] is None


# A question that cannot be answered is answered rightly by saying so: not by its answer, not by a
# reading that failed, and no rater is asked.
async def test_unanswerable() -> None:
    record = replace(RECORD, answerable=False, supporting=())
    left = await scored(reading("Nobody tells.", answered=False), record, raters({}))
    given = await scored(reading("Toronto"), record, raters({}))
    broken = failed_figures(record, "No.", Usage())

    assert [(one["em"], one["f1"]) for one in (left, given, broken)] == [(1, 1), (0, 0), (0, 0)]
    assert left["rating"] is left["rouge"] is given["rating"] is None
    assert left["rating_usage"]["calls"] == given["rating_usage"]["calls"] == 0


# The way of a path is told function by function; a long evidence is measured whole and kept short.
async def test_paths_and_evidence() -> None:
    function = FunctionCall("read_chunk", "chunk 1", "why")
    path = Path("Toronto", "", 1, "nothing_left", functions=(function,))
    line = await scored(reading(paths=(path,), evidence="x" * EVIDENCE_KEPT + SENTENCE))

    assert line["paths"] == [
        {
            "calls": 1,
            "stopped": "nothing_left",
            "functions": [{"name": "read_chunk", "stage": "facts"}],
        }
    ]
    assert len(line["evidence"]) == EVIDENCE_KEPT
    assert line["recall"]["strings"][0] == 1


def raters(script: Mapping[Any, Any]) -> Raters:
    ways: dict[Any, Any] = {
        StrictRatingTask: lambda task: StrictRating(agrees="no"),
        PermissiveRatingTask: lambda task: PermissiveRating(agrees="partially"),
        RecallRatingTask: lambda task: RecallRating(analysis="", relevant=2, covered=1),
    }
    return Raters(ScriptedDecider(ways | dict(script)))


# Raters say how right the answer is and how much the evidence holds; what they cost stands apart.
async def test_rated() -> None:
    given = reading(evidence=SENTENCE, facts_read=("A fact.",))
    line = await scored(given, raters=raters({}))

    assert line["rating"] == "partial"
    assert line["recall"]["rated"] == [1, 2]
    assert line["facts_recall"]["rated"] == [1, 2]
    assert line["rating_usage"]["calls"] == 6
    assert line["usage"]["calls"] == 3


# Evidence as long as a whole book is not paid for a second time: its words alone are compared.
async def test_long_evidence() -> None:
    long = "word " * (RATED_TOKENS + 1) + SENTENCE
    line = await scored(reading(evidence=long), raters=raters({}))

    assert line["rating"] == "partial"
    assert line["recall"] == {"strings": [1, 2], "rated": None}
    assert "too long to be rated" in line["notes"][0]
    assert line["rating_usage"]["calls"] == 4


# A rater that fails leaves a note in place of its figure; what is known otherwise stays.
async def test_failing_rater() -> None:
    def fail(task: RecallRatingTask) -> RecallRating:
        raise ReplyError("The reply makes no sense.")

    line = await scored(reading(evidence=SENTENCE), raters=raters({RecallRatingTask: fail}))

    assert line["rating"] == "partial"
    assert line["recall"] == {"strings": [1, 2], "rated": None}
    assert line["notes"] == ["The rater failed: The reply makes no sense."]
    assert line["unrated"] == {"recall": SENTENCE}


# Later only what is missing is rated: the whole evidence, not the verdict that is there.
async def test_rated_again() -> None:
    def fail(task: RecallRatingTask) -> RecallRating:
        raise ReplyError("The reply makes no sense.")

    evidence = "x" * EVIDENCE_KEPT + SENTENCE
    given = reading(evidence=evidence, facts_read=("A fact.",), notes=("Chunk 3 is too long.",))
    line = await scored(given, raters=raters({RecallRatingTask: fail}))
    decider = ScriptedDecider(
        {RecallRatingTask: lambda task: RecallRating(analysis="", relevant=2, covered=1)}
    )
    rated, spent = await Scorer(Raters(decider)).rate_again(RECORD, line)

    assert [task.values()["text"] for task in decider.asked] == [evidence, "A fact."]
    assert rated["recall"] == {"strings": [1, 2], "rated": [1, 2]}
    assert rated["facts_recall"]["rated"] == [1, 2]
    assert (rated["rating"], rated["unrated"]) == ("partial", None)
    assert rated["notes"] == ["Chunk 3 is too long."]
    assert spent.calls == 2
    assert rated["rating_usage"]["calls"] == line["rating_usage"]["calls"] + 2
    assert rated["usage"] == line["usage"]
    assert rated.keys() == line.keys()


# What failed a second time stays open, with the newer reason.
async def test_rated_in_vain() -> None:
    def fail(why: str) -> Any:
        def rate(task: StrictRatingTask) -> StrictRating:
            raise ReplyError(why)

        return rate

    line = await scored(reading(evidence="x"), raters=raters({StrictRatingTask: fail("Once.")}))
    again = Scorer(raters({StrictRatingTask: fail("Twice.")}))
    rated, _ = await again.rate_again(RECORD, line)

    assert line["unrated"] == rated["unrated"] == {"recall": "x"}
    assert rated["rating"] is None
    assert rated["notes"] == ["The rater failed: Twice."]


# Without raters, and where all is rated, nothing stays open.
async def test_nothing_open() -> None:
    assert (await scored(reading(evidence="x")))["unrated"] is None
    assert (await scored(reading(evidence="x"), raters=raters({})))["unrated"] is None


# A reading that failed has the figures of an empty answer: a choice only where there are options,
# and nothing where no answer is known.
def test_failed() -> None:
    choosing = replace(RECORD, options=("Paris", "Toronto"), gold_option=1, keywords="Toronto")
    plain, chosen = (
        failed_figures(RECORD, "No.", Usage(2)),
        failed_figures(choosing, "No.", Usage()),
    )
    unknown = failed_figures(replace(RECORD, answers=()), "No.", Usage())

    assert (plain["em"], plain["f1"], plain["rouge"]["L"]) == (0, 0, 0)
    assert plain["choice"] is plain["f1_star"] is None
    assert (chosen["choice"], chosen["f1_star"]) == (False, 0)
    assert unknown["em"] is unknown["f1"] is unknown["rouge"] is None
    assert (plain["error"], plain["usage"]["calls"]) == ("No.", 2)


# A rater that is gone is waited for a few times, not with every reading; a reply shows it is back.
async def test_gone_rater() -> None:
    replies: list[StrictRating | None] = [None, None, StrictRating(agrees="yes"), None, None, None]

    def come_and_go(task: StrictRatingTask) -> StrictRating:
        reply = replies.pop(0)
        if reply is None:
            raise ModelUnavailableError("The rater does not answer.")
        return reply

    scorer = Scorer(raters({StrictRatingTask: come_and_go}))
    ended = []
    for _ in range(len(replies)):
        await scorer.score(RECORD, reading(), document_places(DOCUMENTS))
        ended.append(scorer.rater_failure is not None)

    assert ended == [False] * 5 + [True]
    assert (
        str(scorer.rater_failure)
        == "The rater does not answer. No more questions are asked meanwhile."
    )


# A service that refuses every rating is told, and the reading, which is paid for, is kept.
async def test_closed_rater() -> None:
    def refuse(task: StrictRatingTask) -> StrictRating:
        raise ModelClosedError("The key is refused.")

    scorer = Scorer(raters({StrictRatingTask: refuse}))
    line = await scorer.score(RECORD, reading(), document_places(DOCUMENTS))

    assert isinstance(scorer.rater_failure, ModelClosedError)
    assert line["answer"] == "Toronto"
    assert line["unrated"] == {"recall": ""}


# Pages and ends of several stages are told apart by the call before, and by where they were chosen.
@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (["read_chunk", "search_more", "termination at Book, chunk 3"], "facts chunks chunks"),
        (["stop_and_read_neighbor", "termination at Casa Loma"], "facts neighbors"),
        (["read_chunk", "search_more", "termination at Casa Loma"], "facts chunks neighbors"),
        (["next_page", "next_page", "read_chunk"], "facts facts facts"),
        (
            ["stop_and_read_neighbor", "next_page", "next_page", "read_neighbor_node", "next_page"],
            "facts neighbors neighbors neighbors facts",
        ),
        (["read_chunk", "read_previous_chunk", "next_page"], "facts chunks neighbors"),
        ([], ""),
    ],
)
def test_stages(calls: list[str], expected: str) -> None:
    parts = [call.partition(" at ") for call in calls]
    functions = [FunctionCall(name, "", "", place) for name, _, place in parts]

    assert stages(functions) == expected.split()
