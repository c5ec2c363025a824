"""What an answer rests on: claims with their quotes, contradictions with both their sides."""

from dataclasses import asdict
from typing import Any

import pytest

from graphreader.agent.answering import cite
from graphreader.agent.decisions import Answer, CitedClaim, CitedContradiction
from graphreader.agent.state import Quote
from graphreader.agent.tasks import AnswerTask, Evidence
from graphreader.reading import Claim, Reading

WORDS = ["Danny began in 1972.", "Danny began in 1973.", "Alice played for 15 years."]
QUOTES = [
    Quote(
        document=f"text {number}", document_id=f"d{number}", chunk=0, start=0, end=9, quote=words,
        page=None, heading=None,
    )
    for number, words in enumerate(WORDS)
]  # fmt: skip
TASK = AnswerTask("Who?", "", ("a",), tuple(Evidence("text, 0", words) for words in WORDS))


def answer(
    *claims: tuple[str, list[int]],
    contradictions: list[tuple[str, list[int]]] | None = None,
    answered: bool = True,
) -> Answer:
    return Answer(
        analysis="",
        answer="Danny.",
        answered=answered,
        claims=[CitedClaim(claim=text, citations=numbers) for text, numbers in claims],
        contradictions=[
            CitedContradiction(about=text, citations=numbers)
            for text, numbers in contradictions or []
        ],
    )


def texts(statements: list[Any]) -> list[tuple[str, list[int]]]:
    return [(one["text"], one["citations"]) for one in statements]


# The citations are those of the claims and contradictions, each once, in the order of the first
# citing; claims and contradictions point at their places.
def test_places() -> None:
    decision = answer(
        ("Alice played 15 years.", [3, 1, 3]),
        ("Danny began in 1972.", [1]),
        contradictions=[("One says 1972, the other 1973.", [1, 2])],
    )
    basis, notes = cite(decision, TASK, QUOTES)

    assert [one["quote"] for one in basis["citations"]] == [WORDS[2], WORDS[0], WORDS[1]]
    assert texts(basis["claims"]) == [
        ("Alice played 15 years.", [1, 2]),
        ("Danny began in 1972.", [2]),
    ]
    assert texts(basis["contradictions"]) == [("One says 1972, the other 1973.", [2, 3])]
    assert notes == []


# Numbers of quotes that were not shown are dropped, also those that were found but left out.
def test_numbers_that_were_not_shown() -> None:
    basis, _ = cite(answer(("Danny.", [0, 2, -1, 3, 99])), TASK.keeping(2), QUOTES)

    assert texts(basis["claims"]) == [("Danny.", [1])]
    assert [one["quote"] for one in basis["citations"]] == [WORDS[1]]


# A claim that no quote supports is kept, and a note names it.
def test_unsupported_claims() -> None:
    one = cite(answer(("Danny began.", [1]), ("Alice won.", [9]), ("So.", [2])), TASK, QUOTES)
    many = cite(answer(*((f"Claim {n}.", []) for n in range(5))), TASK, QUOTES)

    assert texts(one[0]["claims"])[1] == ("Alice won.", [])
    assert one[1] == ["1 of 3 claims has no quote that supports it: Alice won."]
    assert many[0]["citations"] == []
    assert many[1] == [
        "5 of 5 claims have no quotes that support them: Claim 0.; Claim 1.; Claim 2.; and 2 more"
    ]


# An answer that names no claims is one, which nothing supports.
@pytest.mark.parametrize("claims", [[], [(" ", [1])]])
def test_no_claims(claims: list[tuple[str, list[int]]]) -> None:
    basis, notes = cite(answer(*claims), TASK, QUOTES)

    assert texts(basis["claims"]) == [("Danny.", [])]
    assert notes == ["1 of 1 claims has no quote that supports it: Danny."]


# A contradiction must name quotes of both sides; others are dropped, and cite nothing.
@pytest.mark.parametrize("numbers", [[], [2], [2, 2], [2, 77]])
def test_contradictions_of_one_side(numbers: list[int]) -> None:
    decision = answer(("Danny.", [1]), contradictions=[("Which year?", numbers)])
    basis, notes = cite(decision, TASK, QUOTES)

    assert basis["contradictions"] == []
    assert [one["quote"] for one in basis["citations"]] == [WORDS[0]]
    assert notes == []


# What is not answered has no claims, no contradictions and no citations.
def test_not_answered() -> None:
    decision = answer(("Danny.", [1]), contradictions=[("Which year?", [1, 2])], answered=False)
    basis, notes = cite(decision, TASK, QUOTES)

    assert basis == {"citations": [], "claims": [], "contradictions": []}
    assert notes == []


# An answer that rests on none of the quotes is sent back, unless there are none, or no answer.
@pytest.mark.parametrize(
    ("decision", "task", "lacks"),
    [
        (answer(), TASK, True),
        (answer(("Danny.", [])), TASK, True),
        (answer(("Danny.", [4, 0])), TASK, True),
        (answer(("Danny.", []), ("Alice.", [3])), TASK, False),
        (answer(("Danny.", [])), TASK.keeping(0), False),
        (answer(answered=False), TASK, False),
    ],
)
def test_what_is_sent_back(decision: Answer, task: AnswerTask, lacks: bool) -> None:
    shortcoming = task.shortcoming(decision)

    assert ("numbers, 1 to 3, of the quotes" in (shortcoming or "")) is lacks
    assert task.problem(decision) is None


# An answer without a word is none.
def test_empty_answer() -> None:
    empty = answer(("Danny.", [1])).model_copy(update={"answer": " \n"})

    assert "empty" in str(TASK.problem(empty))
    assert TASK.problem(empty.model_copy(update={"answered": False})) is None


# As plain types a claim says whether anything supports it.
def test_as_dict() -> None:
    claims = (Claim("Danny.", (1,)), Claim("Alice."))
    reading = Reading("Who?", "Danny.", "", True, "c", "", claims=claims)

    assert [one.supported for one in claims] == [True, False]
    assert reading.as_dict()["claims"] == [
        {"text": "Danny.", "citations": (1,), "supported": True},
        {"text": "Alice.", "citations": (), "supported": False},
    ]
    assert asdict(reading).keys() - reading.as_dict().keys() == {"facts_read", "evidence"}
