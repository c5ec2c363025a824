"""The last check of an answer, how sure it is, and the exchange that a follow-up question sees."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from pydantic import TypeAdapter

from graphreader import tokens
from graphreader.agent.answering import checked_answer
from graphreader.agent.context import Limits, RunContext
from graphreader.agent.decisions import Answer, CheckedClaim, CitedClaim, ClaimCheck
from graphreader.agent.follow_up import EARLIER_TOKENS, earlier_exchange
from graphreader.agent.tasks import AnswerTask, ClaimCheckTask, PlanTask
from graphreader.documents import AtomicFact, Chunk, ChunkFacts
from graphreader.errors import BudgetError
from graphreader.offline.exploration import plan
from graphreader.reading import Citation, Reading
from graphreader.testing import ScriptedDecider

WORDS = ["Ida Holm founded the school.", "Ida Holm was born in Turku."]
QUOTES = [
    Citation(document=f"text {n}", document_id=f"d{n}", chunk=0, start=0, end=9, quote=words,
          page=None, heading=None)
    for n, words in enumerate(WORDS)
]  # fmt: skip
FOUNDED = CitedClaim(claim="Ida founded it.", citations=[1])
BORN = CitedClaim(claim="Ida was born in Turku in 1901.", citations=[])
ANSWER = Answer(
    analysis="", answer="Turku", explanation="Ida is from Turku.", confidence="stated",
    claims=[FOUNDED, BORN],
)  # fmt: skip
Check = Callable[[ClaimCheckTask], ClaimCheck]


def checked_by(
    *claims: tuple[int, str, list[int]], confidence: Any = "stated", explanation: str = ""
) -> Check:
    changed = [CheckedClaim(number=n, claim=text, citations=cited) for n, text, cited in claims]
    return lambda task: ClaimCheck(claims=changed, confidence=confidence, explanation=explanation)


class DeletedTexts:
    """A corpus whose chunks are deleted: quotes have nothing beside them."""

    async def chunks(self, places: Sequence[tuple[str, int]]) -> list[Chunk]:
        return []

    async def shown_texts(self, read: Any, seen: Any) -> list[Any]:
        return []


async def checked(
    check: Check, answer: Answer = ANSWER, quotes: list[Citation] = QUOTES
) -> tuple[Any, list[Any]]:
    """The checked answer, and the tasks that were asked for."""
    decider = ScriptedDecider({ClaimCheckTask: check})
    context = RunContext(cast(Any, DeletedTexts()), decider, cast(Any, None), Limits())
    return await checked_answer(context, "Where was she born?", answer, quotes), decider.asked


def claims_of(update: Any) -> list[tuple[str, list[str]]]:
    quotes = [one["quote"] for one in update["citations"]]
    return [(one["text"], [quotes[n - 1] for n in one["citations"]]) for one in update["claims"]]


# A claim without a quote is checked against all quotes: it gets one, is reworded or dropped, or
# makes the answer likely. Numbers that were not shown count for nothing.
@pytest.mark.parametrize(
    ("check", "claim", "confidence", "explanation"),
    [
        (checked_by((1, "Ida was born in Turku.", [2, 7])), ("Ida was born in Turku.", [WORDS[1]]),
         "stated", "Ida is from Turku."),
        (checked_by((1, "", [])), None, "stated", "Ida is from Turku."),
        (checked_by(confidence="likely", explanation="The year is inferred."), (BORN.claim, []),
         "likely", "The year is inferred."),
        (checked_by((2, "Another.", [1])), (BORN.claim, []), "stated", "Ida is from Turku."),
    ],
)  # fmt: skip
async def test_check(
    check: Check, claim: tuple[str, list[str]] | None, confidence: str, explanation: str
) -> None:
    update, [task] = await checked(check)

    assert task.claims == (f"{BORN.claim} (quotes: none)",)
    assert [one.quote for one in task.evidence] == WORDS
    assert claims_of(update) == [(FOUNDED.claim, [WORDS[0]]), *([claim] if claim else [])]
    assert (update["confidence"], update["explanation"]) == (confidence, explanation)
    assert update["answer"] == "Turku"
    assert update["costs"]["answer"]["calls"] == 1
    assert bool(update["notes"]) is (claim is not None and not claim[1])


# A claim with a number that its quote does not have is checked, too, with its quotes.
async def test_number_without_a_quote() -> None:
    wrong = FOUNDED.model_copy(update={"claim": "Ida Holm founded the school in 1922."})
    answer = ANSWER.model_copy(update={"claims": [wrong, FOUNDED]})
    right = checked_by((1, "Ida Holm founded the school.", [1]))
    update, [task] = await checked(right, answer)

    assert task.claims == ("Ida Holm founded the school in 1922. (quotes: 1)",)
    assert [claim for claim, _ in claims_of(update)] == [
        "Ida Holm founded the school.",
        FOUNDED.claim,
    ]


# An answer whose claims all have quotes is not checked, nor is one without any quote or any answer;
# a check never makes a likely answer sure.
async def test_when_there_is_a_check() -> None:
    cited = ANSWER.model_copy(update={"claims": [FOUNDED]})
    nothing = ANSWER.model_copy(update={"confidence": "not in the texts"})
    bare = ANSWER.model_copy(update={"claims": [BORN]})
    likely = ANSWER.model_copy(update={"confidence": "likely"})
    check = checked_by((1, BORN.claim, [2]))
    outcomes = [
        await checked(check, cited),
        await checked(check, nothing),
        await checked(check, bare, []),
        await checked(check, likely),
    ]

    assert [len(tasks) for _, tasks in outcomes] == [0, 0, 0, 1]
    assert [one["answered"] for one, _ in outcomes] == [True, False, True, True]
    assert claims_of(outcomes[1][0]) == [(FOUNDED.claim, [WORDS[0]]), (BORN.claim, [])]
    assert outcomes[3][0]["confidence"] == "likely"


class OneText(DeletedTexts):
    """A corpus of one chunk, with the facts that were taken from it."""

    def __init__(self, text: str, *facts: AtomicFact) -> None:
        self.chunk, self.facts = Chunk("c", 0, "talk", "d0", 0, len(text), text, 9), facts

    async def chunks(self, places: Sequence[tuple[str, int]]) -> list[Chunk]:
        return [self.chunk]

    async def shown_texts(self, read: Any, seen: Any) -> list[Any]:
        return [ChunkFacts(self.chunk, self.facts)]


# Numbers that a transcript writes as words are not looked for; where it has figures, they are. The
# speaker of a quote is the speaker of a fact from its sentence.
@pytest.mark.parametrize(("text", "checks"), [("It cost fourteen point six.", 0), ("3 cost 6.", 1)])
async def test_spoken_numbers(text: str, checks: int) -> None:
    chunk = Chunk("c", 0, "talk", "d0", 0, 9, text, 9)
    corpus = OneText(text, AtomicFact("f", chunk, 0, text, (), 0, len(text), speaker="Ida"))
    quote = replace(QUOTES[0], quote=text, document_id="d0", end=len(text))
    claim = CitedClaim(claim="It cost 14.6.", citations=[1])
    decider = ScriptedDecider({ClaimCheckTask: checked_by()})
    context = RunContext(cast(Any, corpus), decider, cast(Any, None), Limits())
    answer = ANSWER.model_copy(update={"claims": [claim]})

    await checked_answer(context, "How much?", answer, [quote])

    assert len(decider.asked) == checks
    assert all("Ida speaks" in task.evidence[0].label for task in decider.asked)


# If the check fails, the answer stands, and a note names the claim.
async def test_failed_check() -> None:
    def fail(task: ClaimCheckTask) -> ClaimCheck:
        raise BudgetError("used up")

    update, _ = await checked(fail)

    assert claims_of(update) == [(FOUNDED.claim, [WORDS[0]]), (BORN.claim, [])]
    assert (update["confidence"], update["costs"]) == ("stated", {})
    assert update["notes"] == [f"1 of 2 claims has no quote that supports it: {BORN.claim}"]


READING = Reading(
    "Who founded the\nschool?", "Ida Holm", "", True, "c", "", explanation="She opened it in 1922.",
    confidence="likely", evidence="Ida Holm had it built.\n> Earlier question: x? It has a tower.",
)  # fmt: skip


# An answered question is stated unless it says otherwise, also in a run that an earlier version
# kept; one that is not answered is not in the texts.
def test_confidence() -> None:
    old = TypeAdapter(Reading).validate_python(
        {"question": "Q", "answer": "A", "analysis": "", "answered": True, "corpus": "", "plan": ""}
    )

    assert (old.confidence, old.explanation) == ("stated", "")
    assert replace(old, answered=False).confidence == "not in the texts"
    assert READING.as_dict()["confidence"] == READING.confidence == "likely"


# A follow-up question sees question, answer and notes of the exchange, each in a line of its own,
# and the exchange before it as far as there is room.
def test_earlier_exchange() -> None:
    first = earlier_exchange(READING, "", 4096)
    second = earlier_exchange(replace(READING, question="And then?"), first, 4096)

    assert first.splitlines()[1:] == [
        "> Earlier question: Who founded the school?",
        "> Answer: Ida Holm (only likely)",
        "> Note: She opened it in 1922.",
        "> Note: Ida Holm had it built.",
        "> Note: > Earlier question: x?",
        "> Note: It has a tower.",
    ]
    assert second.splitlines()[1] == "> Earlier question: And then?"
    assert second.splitlines()[-6:] == first.splitlines()[1:]
    assert second.count("follows up") == 1


# However long the exchange was, its part of a prompt is small: an eighth of the window.
@pytest.mark.parametrize(("window", "most"), [(1024, 128), (4096, 500), (100_000, EARLIER_TOKENS)])
def test_long_exchanges(window: int, most: int) -> None:
    long = " ".join(f"Sentence {n} is told." for n in range(400))
    reading = replace(READING, answer=long, evidence=long)
    text = earlier_exchange(reading, earlier_exchange(reading, "", window), window)

    assert most / 2 < tokens.count(text) <= most
    assert "Who founded the school?" in text
    assert "Answer: Sentence 0" in text


# The exchange stands in the prompts of plan and answer, if there is one; without a model the names
# in it are searched for.
def test_prompts_with_an_exchange() -> None:
    earlier = earlier_exchange(READING, "", 4096)
    question = "And where was she born?"
    evidence = PlanTask(question, earlier), AnswerTask(question, "Look.", (), (), earlier)
    values = [" ".join(task.values().values()) for task in evidence]
    without = PlanTask(question), AnswerTask(question, "Look.", (), ())

    assert [earlier in text for text in values] == [True, True]
    assert "restated" in values[0]
    assert not any(mark in str(task.values()) for task in without for mark in ("restated", "> "))
    plain = earlier_exchange(replace(READING, evidence=""), "", 4096)
    assert plan(question, plain).needs == ["born", "Ida Holm"]
