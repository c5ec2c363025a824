"""Answers without a model: from quotes, passages, chunks, and by searching."""

import dataclasses

import pytest

from graphreader.agent.decisions import Answer
from graphreader.agent.tasks import AnswerTask, Evidence
from graphreader.baselines.answering import Excerpt, PassagesChoiceTask, PassagesTask
from graphreader.baselines.chunk_reading import SUMMARY_TOKENS, NotesReadTask
from graphreader.baselines.search_agent import NOTES_TOKENS, SearchAction, SearchHit, SearchStepTask
from graphreader.offline.decider import OfflineDecider
from graphreader.reading import NO_PASSAGE
from graphreader.tokens import count

TOWN = [
    Evidence("Norland, chunk 0", "Port Wessel is a harbour town in Norland."),
    Evidence("Norland, chunk 1", "Its lighthouse was designed by Ilse Holt."),
    Evidence("Norland, chunk 2", "Queen Odile visited the salt mines of Varn in 1840."),
    Evidence("Norland, chunk 3", "The lighthouse of Port Wessel was lit in 1712."),
]
COUNTY = [
    Evidence("临河, chunk 0", "临河县盛产小麦和玉米。"),
    Evidence("临河, chunk 1", "作家林雨桐于1957年在临河县出生。"),
]

BATTLES = [
    Evidence("三国, chunk 0", "董卓进京，天下大乱。"),
    Evidence("三国, chunk 1", "吕布杀董卓于宫门。"),
    Evidence("三国, chunk 2", "关羽败走麦城，死时五十八岁。"),
]


async def answer(question: str, evidence: list[Evidence]) -> Answer:
    task = AnswerTask(question, "", (), tuple(evidence))
    decision = (await OfflineDecider().decide(task)).decision
    assert all(1 <= number <= len(evidence) for number in cited_by(decision))
    return decision


def cited_by(decision: Answer) -> list[int]:
    """The numbers of the quotes, one a claim."""
    return [number for claim in decision.claims for number in claim.citations]


def quotes(*texts: str) -> list[Evidence]:
    """Quotes "A: ...", each with the title before the colon."""
    pairs = (text.split(": ", 1) for text in texts)
    return [Evidence(f"{title}, chunk 0", quote) for title, quote in pairs]


# The answer quotes the sentences that hold what is asked: where a question has two steps of both
# documents, connected by a name. The title of a document counts for its sentences. Their numbers
# come first, then those of the nearest others; a sentence without a word of the question is none.
@pytest.mark.parametrize(
    ("question", "evidence", "cited", "shown"),
    [
        ("When was the lighthouse of Port Wessel lit?", TOWN, [4], 3),
        ("林雨桐是哪一年出生的？", COUNTY, [2], 1),
        (
            "Where was the author of The Salt Road born?",
            quotes(
                "Harbours: The Blue Pier is a novel about rowing.",
                "The Salt Road: The Salt Road is a novel that was written by Ada Quist.",
                "Painters: Tom Orr was born in Kiel.",
                "Ada Quist: Ada Quist was born in Varn.",
            ),
            [2, 4],
            4,
        ),
        ("谁杀了董卓？", BATTLES, [2], 2),
        ("关羽死于哪一年？", BATTLES, [3], 1),
    ],
)
async def test_answered(
    question: str, evidence: list[Evidence], cited: list[int], shown: int
) -> None:
    decision = await answer(question, evidence)

    assert decision.answered
    claims = [evidence[number - 1].quote for number in cited_by(decision)]
    assert [one.claim for one in decision.claims] == claims
    assert sorted(cited_by(decision)[: len(cited)]) == cited
    assert decision.answer == " ".join(claims[: len(cited)])
    assert len(claims) == shown
    assert decision.contradictions == []


# The names of a question and what is asked about them must both stand in the texts, connected; else
# there is no answer, in the question's language, and the analysis names the missing words. The
# nearest quotes are still cited.
@pytest.mark.parametrize(
    ("question", "evidence", "missing"),
    [
        ("What is the weather in Norland?", TOWN, "that no quote has: weather."),
        ("Who is the husband of Ilse Holt?", TOWN, "husband."),
        ("When did Napoleon visit the salt mines?", TOWN, "Napoleon."),
        (
            "When did Napoleon visit Varn?",
            [*TOWN, *quotes("Norland: Napoleon bought salt from the mines of Varn.")],
            "none.",
        ),
        (
            "When did the dentist of Kiel marry Queen Odile?",
            quotes("A: Queen Odile liked amber.", "B: Tom Orr paid a visit to the dentist."),
            "",
        ),
        ("Who is Ilse Holt?", [], ""),
        ("临河县的天气怎么样？", COUNTY, "缺少：天气。"),
    ],
)
async def test_not_answered(question: str, evidence: list[Evidence], missing: str) -> None:
    decision = await answer(question, evidence)

    assert not decision.answered
    assert decision.answer == NO_PASSAGE["zh" if evidence is COUNTY else "en"]
    assert bool(decision.claims) == bool(evidence)
    assert decision.analysis.endswith(missing)


AUTHOR = "The Glass Road was written by Ida Karhu. It sold well."
GREW_UP = "Ida Karhu grew up in Turku. She liked the harbour."
NOISE = "Bread is baked at night. The road to the town is long."
WHERE = "Where did the author of The Glass Road grow up?"
TEXTS = (
    Excerpt("The Glass Road", AUTHOR, 0),
    Excerpt("Bread", NOISE, 1),
    Excerpt("Ida", GREW_UP, 2),
)
DECIDER = OfflineDecider()


# What the passages do not hold is not answered; nor do notes count as text.
async def test_does_not_answer() -> None:
    task = PassagesTask("When did Olga Berg sail to Malta?", TEXTS)
    notes = Excerpt("Notes", "Olga Berg sailed to Malta in 1901.", -1)

    decision = (await DECIDER.decide(task)).decision
    with_notes = (await DECIDER.decide(PassagesTask(task.question, (notes, *TEXTS)))).decision

    assert not decision.answered
    assert not decision.quotes
    assert not with_notes.answered


# An option is chosen by the words that only it has, and the best sentence.
async def test_chooses() -> None:
    options = ("in Helsinki", "in Turku", "in the road")
    task = PassagesChoiceTask("Where did Ida Karhu grow up?", TEXTS, options)

    decision = (await DECIDER.decide(task)).decision

    assert decision.option == 2
    assert decision.quotes == ["Ida Karhu grew up in Turku."]
    assert task.problem(decision) is None


# What one chunk told goes along in the summary and counts with the next one.
async def test_reads_with_notes() -> None:
    first = (await DECIDER.decide(NotesReadTask(WHERE, "The Glass Road", AUTHOR))).decision
    task = NotesReadTask(WHERE, "Ida", GREW_UP, (), first.summary)
    second = (await DECIDER.decide(task)).decision

    assert "The Glass Road was written by Ida Karhu. [The Glass Road]" in first.summary
    assert second.function == "answerable"
    assert "Turku" in second.answer
    assert all(quote in GREW_UP for quote in second.quotes)


# Summary and notes keep their limits.
async def test_limits() -> None:
    text = "".join(f"伊达在图尔库长大，那里有{n}条玻璃路，很长很长。" for n in range(90))
    question, summary, notes = "伊达在哪里长大？", "", ""
    for part in range(12):
        excerpt = text[part * 60 : part * 60 + 900]
        read = NotesReadTask(question, f"T{part}", excerpt, (), summary)
        action, hit = (
            SearchAction("read_chunk", "", (part,)),
            SearchHit(part, "T", excerpt, in_full=True),
        )
        step = SearchStepTask(question, notes, (action,), (hit,), (), frozenset(), 5)
        summary = (await DECIDER.decide(read)).decision.summary
        notes = (await DECIDER.decide(step)).decision.notes
        assert 0 < count(summary) <= SUMMARY_TOKENS
        assert 0 < count(notes) <= NOTES_TOKENS


# The search begins with the question's names, reads what it finds, follows names, and answers when
# it is out of steps.
async def test_searches() -> None:
    def task(
        result: tuple[SearchHit, ...], *actions: SearchAction, notes: str = ""
    ) -> SearchStepTask:
        unread = frozenset(hit.number for hit in result if not hit.in_full)
        return SearchStepTask(WHERE, notes, actions, result, (), unread, 9)

    async def step(of: SearchStepTask) -> tuple[str, object, str]:
        decision = (await DECIDER.decide(of)).decision
        assert of.problem(decision) is None
        return decision.function, decision.argument or decision.chunks, decision.notes

    first = await step(task(()))
    searched = SearchAction("keyword_search", str(first[1]), (1,))
    second = await step(task((SearchHit(1, "The Glass Road, chunk 0", AUTHOR[:40]),), searched))
    has_read = SearchAction("read_chunk", "", (1,))
    full = SearchHit(1, "The Glass Road, chunk 0", AUTHOR, in_full=True)
    meant = await step(task((full,), searched, has_read))
    by_meaning = SearchAction("semantic_search", WHERE, (1,))
    third = await step(task((full,), searched, has_read, by_meaning))
    again = SearchAction("keyword_search", str(third[1]), (2,))
    town = SearchHit(2, "Ida, chunk 0", GREW_UP, in_full=True)
    last = await step(task((town,), searched, has_read, again, has_read, notes=third[2]))

    assert first[:2] == ("keyword_search", "Glass Road")
    assert second[:2] == ("read_chunk", [1])
    assert meant[:2] == ("semantic_search", WHERE)
    assert third[:2] == ("keyword_search", "Ida Karhu")
    assert "[1: The Glass Road, chunk 0]" in third[2]
    assert "[2: Ida, chunk 0]" in last[2]
    out_of_steps = dataclasses.replace(task((full,), has_read), steps=0)
    assert (await step(out_of_steps))[:2] == ("answer", [1])
