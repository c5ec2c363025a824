import pytest

from graphreader.agent.decisions import Answer
from graphreader.agent.tasks import AnswerTask, Evidence
from graphreader.offline.decider import OfflineDecider

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
