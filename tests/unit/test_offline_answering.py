"""Answers without a model: from quotes, passages, chunks, and by searching."""

import pytest

from graphreader.agent.decisions import Answer
from graphreader.agent.tasks import AnswerTask, Evidence
from graphreader.baselines.chunk_reading import SUMMARY_TOKENS, ChunkReadTask, NotesReadTask
from graphreader.baselines.search_agent import NOTES_TOKENS, Hit, SearchAction, SearchStepTask
from graphreader.baselines.tasks import Excerpt, PassagesChoiceTask, PassagesTask
from graphreader.offline.decider import OfflineDecider
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


async def answer(question: str, evidence: list[Evidence]) -> Answer:
    task = AnswerTask(question, "", (), tuple(evidence))
    decision = (await OfflineDecider().decide(task)).decision
    assert decision.answered == bool(decision.claims)
    assert all(1 <= number <= len(evidence) for number in cited_by(decision))
    return decision


def cited_by(decision: Answer) -> list[int]:
    """The numbers of the quotes, one a claim."""
    return [number for claim in decision.claims for number in claim.citations]


# The answer quotes the sentence that holds what is asked, and cites its number.
@pytest.mark.parametrize(
    ("question", "evidence", "cited"),
    [
        ("When was the lighthouse of Port Wessel lit?", TOWN, 4),
        ("Which queen visited the mines of Varn?", TOWN, 3),
        ("林雨桐是哪一年出生的？", COUNTY, 2),
    ],
)
async def test_answered(question: str, evidence: list[Evidence], cited: int) -> None:
    decision = await answer(question, evidence)

    assert decision.answered
    assert cited_by(decision)[0] == cited
    assert evidence[cited - 1].quote in decision.answer


# What is asked about a name must stand in the texts too: the name alone is no answer.
@pytest.mark.parametrize(
    "question",
    [
        "What is the weather in Norland?",
        "What is the population of Port Wessel?",
        "Who is the husband of Ilse Holt?",
        "What is the salary of the miners of Varn?",
        "Which airport is nearest to Port Wessel?",
    ],
)
async def test_attribute_missing(question: str) -> None:
    decision = await answer(question, TOWN)

    assert not decision.answered
    assert decision.answer == "The texts do not tell."


# A name of the question must stand in the texts, also where the rest of it does.
@pytest.mark.parametrize(
    "question",
    [
        "When did Napoleon visit the salt mines?",
        "Who designed the lighthouse of Kiel?",
        "When did Queen Victoria visit Varn?",
    ],
)
async def test_name_missing(question: str) -> None:
    decision = await answer(question, TOWN)

    assert not decision.answered


# In Chinese, too, a name without what is asked about it is no answer.
@pytest.mark.parametrize(
    "question", ["临河县的天气怎么样？", "林雨桐的母亲是谁？", "西班牙的首都在哪里？"]
)
async def test_missing_in_chinese(question: str) -> None:
    decision = await answer(question, COUNTY)

    assert not decision.answered
    assert decision.answer == "文中没有说明。"


# Without evidence, or with a question that asks nothing, there is no answer.
@pytest.mark.parametrize(
    ("question", "evidence"), [("Who is Ilse Holt?", []), ("What is it?", TOWN)]
)
async def test_nothing_to_go_by(question: str, evidence: list[Evidence]) -> None:
    decision = await answer(question, evidence)

    assert not decision.answered


# A question of two steps is answered with quotes of both documents, tied by the name between.
async def test_two_documents() -> None:
    evidence = [
        Evidence("Harbours, chunk 0", "The Blue Pier is a novel about rowing."),
        Evidence(
            "The Salt Road, chunk 0", "The Salt Road is a novel that was written by Ada Quist."
        ),
        Evidence("Painters, chunk 0", "Tom Orr was born in Kiel."),
        Evidence("Ada Quist, chunk 0", "Ada Quist was born in Varn."),
    ]
    decision = await answer("Where was the author of The Salt Road born?", evidence)

    assert decision.answered
    assert set(cited_by(decision)) == {2, 4}


# Each quote of the answer is a claim of its own, in one line, and there are no contradictions.
async def test_claims() -> None:
    evidence = [
        Evidence("A, chunk 0", "Ilse Holt lost\n  the battle of Varn."),
        Evidence("B, chunk 0", "Gulls nest at Varn."),
        Evidence("C, chunk 0", "Ilse Holt was defeated in the siege of Kiel."),
    ]
    decision = await answer("Did Ilse Holt lose any battles?", evidence)

    assert [(one.claim, one.citations) for one in decision.claims] == [
        ("Ilse Holt lost the battle of Varn.", [1]),
        ("Ilse Holt was defeated in the siege of Kiel.", [3]),
    ]
    assert decision.answer == " ".join(one.claim for one in decision.claims)
    assert decision.contradictions == []


# Words that only stand in unrelated places do not add up to an answer.
async def test_unrelated_words() -> None:
    evidence = [
        Evidence("A, chunk 0", "Queen Odile liked amber."),
        Evidence("B, chunk 0", "Tom Orr paid a visit to the dentist."),
        Evidence("C, chunk 0", "Gulls nest at Varn."),
    ]
    decision = await answer("When did the dentist of Kiel marry Queen Odile?", evidence)

    assert not decision.answered


# Where several quotes answer equally well, up to three are cited.
async def test_several_answers() -> None:
    evidence = [
        Evidence("A, chunk 0", "Ilse Holt lost the battle of Varn."),
        Evidence("B, chunk 0", "Gulls nest at Varn."),
        Evidence("C, chunk 0", "Ilse Holt was defeated in the siege of Kiel."),
    ]
    decision = await answer("Did Ilse Holt lose any battles?", evidence)

    assert cited_by(decision) == [1, 3]


# A document's title says what its sentences are about.
async def test_title_counts() -> None:
    evidence = [
        Evidence("Ilse Holt, chunk 0", "She was born in 1690 in Kiel."),
        Evidence("Tom Orr, chunk 0", "He was born in 1702 in Varn."),
    ]
    decision = await answer("Where was Ilse Holt born?", evidence)

    assert cited_by(decision) == [1]


# A sentence with the name but without the one thing asked about it is no part of the answer.
async def test_one_step() -> None:
    evidence = [*TOWN, Evidence("Norland, chunk 4", "Napoleon bought salt from the mines of Varn.")]
    absent = await answer("When did Napoleon visit Varn?", evidence)
    present = await answer("When did Queen Odile visit Varn?", evidence)

    assert not absent.answered
    assert cited_by(present) == [3]


# The analysis says which words of the question are missing, in the question's language.
async def test_analysis() -> None:
    english = await answer("What is the weather in Norland?", TOWN)
    chinese = await answer("临河县的天气怎么样？", COUNTY)

    assert english.analysis.endswith("missing in all: weather.")
    assert chinese.analysis.endswith("缺少：天气。")


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


# An answer is put together of sentences of several passages, copied as they stand.
async def test_several_passages() -> None:
    decision = (await DECIDER.decide(PassagesTask(WHERE, TEXTS))).decision

    assert decision.answered
    assert "Ida Karhu grew up in Turku." in decision.answer
    assert all(any(quote in one.text for one in TEXTS) for quote in decision.quotes)


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


# Whatever the options, one of them is chosen.
async def test_always_chooses() -> None:
    for options in (("", "!"), ("same", "same"), ("x",)):
        decision = (await DECIDER.decide(PassagesChoiceTask("Who?", TEXTS, options))).decision
        assert 1 <= decision.option <= len(options)


# A chunk is answerable exactly if an answer can be put together of it.
async def test_reads_alone() -> None:
    question = "Where did Ida Karhu grow up?"
    found = (await DECIDER.decide(ChunkReadTask(question, "Ida", GREW_UP))).decision
    missed = (await DECIDER.decide(ChunkReadTask(question, "Bread", NOISE))).decision
    chosen = (
        await DECIDER.decide(ChunkReadTask(question, "Ida", GREW_UP, ("Oslo", "Turku")))
    ).decision

    assert (found.function, found.quotes) == ("answerable", ["Ida Karhu grew up in Turku."])
    assert (missed.function, missed.answer) == ("unanswerable", "")
    assert (chosen.function, chosen.answer) == ("answerable", "2")


# What one chunk told goes along in the summary and counts with the next one.
async def test_reads_with_notes() -> None:
    first = (await DECIDER.decide(NotesReadTask(WHERE, "The Glass Road", AUTHOR))).decision
    task = NotesReadTask(WHERE, "Ida", GREW_UP, (), first.summary)
    second = (await DECIDER.decide(task)).decision

    assert "The Glass Road was written by Ida Karhu. [The Glass Road]" in first.summary
    assert second.function == "answerable"
    assert "Turku" in second.answer
    assert all(quote in GREW_UP for quote in second.quotes)


# Summary and notes keep their limits, in Chinese as well.
async def test_limits() -> None:
    english = " ".join(f"Ida Karhu grew up beside {n} roads of glass in Turku." for n in range(90))
    chinese = "".join(f"伊达在图尔库长大，那里有{n}条玻璃路，很长很长。" for n in range(90))
    for question, text in ((WHERE, english), ("伊达在哪里长大？", chinese)):
        summary = notes = ""
        for part in range(12):
            excerpt = text[part * 60 : part * 60 + 900]
            read = NotesReadTask(question, f"T{part}", excerpt, (), summary)
            step = SearchStepTask(
                question, notes, (SearchAction("read_chunk", "", (part,)),),
                (Hit(part, f"T{part}", excerpt, in_full=True),), (), frozenset(), 5,
            )  # fmt: skip
            summary = (await DECIDER.decide(read)).decision.summary
            notes = (await DECIDER.decide(step)).decision.notes
            assert 0 < count(summary) <= SUMMARY_TOKENS
            assert 0 < count(notes) <= NOTES_TOKENS


# The search begins with the question's names, reads what it finds, goes where a name leads, ends.
async def test_searches() -> None:
    def task(result: tuple[Hit, ...], *actions: SearchAction, notes: str = "") -> SearchStepTask:
        unread = frozenset(hit.number for hit in result if not hit.in_full)
        return SearchStepTask(WHERE, notes, actions, result, (), unread, 9)

    async def step(of: SearchStepTask) -> tuple[str, object, str]:
        decision = (await DECIDER.decide(of)).decision
        assert of.problem(decision) is None
        return decision.function, decision.argument or decision.chunks, decision.notes

    first = await step(task(()))
    searched = SearchAction("keyword_search", str(first[1]), (1,))
    second = await step(task((Hit(1, "The Glass Road, chunk 0", AUTHOR[:40]),), searched))
    has_read = SearchAction("read_chunk", "", (1,))
    full = Hit(1, "The Glass Road, chunk 0", AUTHOR, in_full=True)
    meant = await step(task((full,), searched, has_read))
    by_meaning = SearchAction("semantic_search", WHERE, (1,))
    third = await step(task((full,), searched, has_read, by_meaning))
    again = SearchAction("keyword_search", str(third[1]), (2,))
    town = Hit(2, "Ida, chunk 0", GREW_UP, in_full=True)
    last = await step(task((town,), searched, has_read, again, has_read, notes=third[2]))

    assert first[:2] == ("keyword_search", "Glass Road")
    assert second[:2] == ("read_chunk", [1])
    assert meant[:2] == ("semantic_search", WHERE)
    assert third[:2] == ("keyword_search", "Ida Karhu")
    assert "[1: The Glass Road, chunk 0]" in third[2]
    assert "[2: Ida, chunk 0]" in last[2]


# Out of steps, or with nothing left to search for, it answers.
async def test_ends() -> None:
    read = SearchAction("read_chunk", "", (1,))
    hit = Hit(1, "The Glass Road, chunk 0", AUTHOR, in_full=True)
    out_of_steps = SearchStepTask(WHERE, "", (read,), (hit,), (), frozenset(), 0)
    asks_nothing = SearchStepTask(
        "?", "", (SearchAction("semantic_search", "?", ()),), (), (), frozenset(), 5
    )

    assert (await DECIDER.decide(out_of_steps)).decision.function == "answer"
    assert (await DECIDER.decide(out_of_steps)).decision.chunks == [1]
    assert (await DECIDER.decide(asks_nothing)).decision.function == "answer"
