"""Quotes become citations, and what was shown of the texts is counted."""

from dataclasses import replace
from typing import Any

import pytest

from graphreader.agent.citations import (
    add_quotes,
    cite,
    distinct_quotes,
    passages,
    ranked,
    with_valid_citations,
)
from graphreader.agent.decisions import Answer, CitedClaim, CitedContradiction
from graphreader.agent.tasks import AnswerTask, Evidence
from graphreader.documents import ChunkInDocument, Heading
from graphreader.reading import NO_PASSAGE, NOT_IN_THE_TEXTS, Citation, Claim, Coverage, Reading
from graphreader.tokens import count

TEXT = "It began.\nJoan said: “I  was\nthere – in Rouen’s tower.” It ended. 贞德生于法国。"


# A quote with an ellipsis in it is found piece by piece, and only if every piece is there.
def test_ellipses() -> None:
    text = "The assault at Paris ensued. It rained for days. The army withdrew to the north."
    spans = passages("The assault at Paris ensued … the army withdrew to the north.", text)

    assert [text[slice(*span)] for span in spans] == [
        "The assault at Paris ensued",
        "The army withdrew to the north.",
    ]
    assert passages("The assault at Paris ensued ... the army won.", text) == []
    assert passages("The ... north.", text) == []
    assert passages("The army withdrew ... The assault at Paris ensued", text) == [
        (49, 66),
        (0, 27),
    ]
    assert passages("The army withdrew ... days ... Paris", text) == [(49, 66)]
    chinese = "石猴拜了四方，又称美猴王。众猴大喜，都来朝拜。"
    assert passages("众猴大喜，…石猴拜了四方…王", chinese) == [(13, 18), (0, 6)]
    assert passages("The assault at Paris ... assault at Paris ensued", text) == []


# A piece that stands before and behind the piece before it is taken behind it.
def test_order_of_pieces() -> None:
    text = "The lock was sold. The barge sank at dawn. The lock was sold."
    spans = passages("The barge sank … the lock was sold", text)

    assert [span[0] for span in spans] == [19, 43]


# A quote knows its page and the heading above it.
def test_page_and_heading() -> None:
    chunk = ChunkInDocument(
        *("c", 0, "life", "d", 100, 100 + len(TEXT), TEXT, 5),
        first_page=7,
        page_starts=(110,),
        headings=(Heading(90, "Youth"), Heading(105, "Trial")),
    )
    quotes = add_quotes([], chunk, ["It began.", "It ended."])

    assert [(one["page"], one["heading"]) for one in quotes] == [(7, "Youth"), (8, "Trial")]


# A kept quote of another version may lack fields or have further ones.
def test_quotes_of_other_versions() -> None:
    kept: Any = {
        "document": "life",
        "document_id": "d",
        "chunk": 0,
        "start": 0,
        "end": 9,
        "quote": "It",
    }
    paths: Any = [{"quotes": [{**kept, "length": 9}]}]

    assert distinct_quotes(paths) == [Citation(**kept)]


WORDS = ["Danny began in 1972.", "Danny began in 1973.", "Alice played for 15 years."]
QUOTES = [
    Citation(
        document=f"text {number}", document_id=f"d{number}", chunk=0, start=0, end=9, quote=words,
        page=None, heading=None,
    )
    for number, words in enumerate(WORDS)
]  # fmt: skip
TASK = AnswerTask("Who?", "", ("a",), tuple(Evidence("text, 0", words) for words in WORDS))
Numbered = tuple[str, list[int]]


def answer(*claims: Numbered, both: Numbered | None = None, answered: bool = True) -> Answer:
    return Answer(
        analysis="",
        answer="Danny.",
        confidence="stated" if answered else "not in the texts",
        claims=[CitedClaim(claim=text, citations=numbers) for text, numbers in claims],
        contradictions=[CitedContradiction(about=both[0], citations=both[1])] if both else [],
    )


def cited(decision: Answer, shown: int = len(QUOTES)) -> tuple[Any, list[str]]:
    """What the answer cites, if so many quotes were shown."""
    return cite(with_valid_citations(decision, shown), QUOTES)


def texts(statements: list[Any]) -> list[Numbered]:
    return [(one["text"], one["citations"]) for one in statements]


# The citations are those of claims and contradictions, each once, in the order of the first citing.
def test_places() -> None:
    claims = [("Alice played 15 years.", [3, 1, 3]), ("Danny began in 1972.", [1])]
    basis, notes = cited(answer(*claims, both=("1972 or 1973.", [1, 2])))

    assert [one["quote"] for one in basis["citations"]] == [WORDS[2], WORDS[0], WORDS[1]]
    assert texts(basis["claims"]) == [(claims[0][0], [1, 2]), (claims[1][0], [2])]
    assert texts(basis["contradictions"]) == [("1972 or 1973.", [2, 3])]
    assert notes == []


# Numbers of quotes that were not shown are dropped, also those that were found but left out.
def test_numbers_that_were_not_shown() -> None:
    basis, _ = cited(answer(("Danny.", [0, 2, -1, 3, 99])), shown=2)

    assert texts(basis["claims"]) == [("Danny.", [1])]
    assert [one["quote"] for one in basis["citations"]] == [WORDS[1]]


# A claim that no quote supports is kept, and a note names it; an answer without claims is one.
@pytest.mark.parametrize(
    ("claims", "note"),
    [
        ([("Danny began.", [1]), ("Alice won.", [9])], "1 of 2 claims has no quote that supports "
         "it: Alice won."),
        ([(f"Claim {n}.", []) for n in range(5)], "5 of 5 claims have no quotes that support "
         "them: Claim 0.; Claim 1.; Claim 2.; and 2 more"),
        ([], "1 of 1 claims has no quote that supports it: Danny."),
        ([(" ", [1])], "1 of 1 claims has no quote that supports it: Danny."),
    ],
)  # fmt: skip
def test_unsupported_claims(claims: list[Numbered], note: str) -> None:
    basis, notes = cited(answer(*claims))

    assert texts(basis["claims"])[-1][1] == []
    assert notes == [note]


# A contradiction must name quotes of both sides; others are dropped, and cite nothing.
@pytest.mark.parametrize("numbers", [[], [2], [2, 2], [2, 77]])
def test_contradictions_of_one_side(numbers: list[int]) -> None:
    basis, _ = cited(answer(("Danny.", [1]), both=("Which year?", numbers)))

    assert basis["contradictions"] == []
    assert [one["quote"] for one in basis["citations"]] == [WORDS[0]]


# What was found about a question keeps its quotes where nothing is answered; no answer is no claim.
def test_not_answered() -> None:
    found, _ = cited(answer(("Danny began.", [1]), both=("Which year?", [1, 2]), answered=False))
    nothing, notes = cited(answer(answered=False))

    assert texts(found["claims"]) == [("Danny began.", [1])]
    assert [one["quote"] for one in found["citations"]] == WORDS[:2]
    assert (nothing["claims"], nothing["citations"], notes) == ([], [], [])


# An answer that rests on none of the quotes is sent back, unless there are none, or no answer.
@pytest.mark.parametrize(
    ("decision", "task", "lacks"),
    [
        (answer(), TASK, True),
        (answer(("Danny.", [4, 0])), TASK, True),
        (answer(("Danny.", []), ("Alice.", [3])), TASK, False),
        (answer(("Danny.", [])), TASK.keeping(0), False),
        (answer(answered=False), TASK, False),
    ],
)
def test_what_is_sent_back(decision: Answer, task: AnswerTask, lacks: bool) -> None:
    empty = answer(("Danny.", [1])).model_copy(update={"answer": " \n"})

    assert ("numbers, 1 to 3, of the quotes" in (task.shortcoming(decision) or "")) is lacks
    assert task.problem(decision) is None
    assert "empty" in str(task.problem(empty))


BRIDGES = "Ada built a bridge. Bede painted it red. Cyril sold it to Dora. Edgar was away."
FIRST, SECOND = BRIDGES[:20], BRIDGES[20:41]
RED = "Bede painted it red."
BROKEN = "Bede painted\n  it red."
Passage = tuple[str, int, str]


def coverage(passages: list[Passage], derived: list[str]) -> Coverage:
    shown = Coverage()
    for text in derived:
        shown.derived(text)
    for passage in passages:
        shown.passage(*passage)
    return shown


# What passages of one document share counts once; equal words of two documents were read twice. A
# derived text counts once, unless it stands word for word in what was shown, white space aside.
@pytest.mark.parametrize(
    ("passages", "derived", "tokens"),
    [
        ([], [], 0),
        ([("d", 0, FIRST)] * 2, [], count(FIRST)),
        ([("d", 20, BRIDGES[20:]), ("d", 0, BRIDGES[:41])], [], count(BRIDGES)),
        ([("d", 20, SECOND), ("d", 0, BRIDGES)], [], count(BRIDGES)),
        ([("d", 0, BRIDGES), ("d", 0, FIRST)], [], count(BRIDGES)),
        ([("d", 0, FIRST), ("e", 0, FIRST)], [], 2 * count(FIRST)),
        ([], ["Ada built it.", "Ada  built\nit."], count("Ada built it.")),
        ([("d", 20, SECOND)], [RED], count(SECOND)),
        ([("d", 0, BROKEN)], [RED], count(BROKEN)),
        ([("d", 0, BRIDGES[:30]), ("d", 30, BRIDGES[30:])], [RED], count(BRIDGES)),
        ([("d", 0, FIRST)], [RED], count(FIRST) + count(RED)),
    ],
)
def test_tokens(passages: list[Passage], derived: list[str], tokens: int) -> None:
    assert coverage(passages, derived).tokens == tokens


# The documents stand in the order in which they were first shown; derived texts show none.
def test_order_of_documents() -> None:
    shown = coverage([("e", 20, SECOND), ("d", 0, FIRST), ("e", 0, FIRST)], [RED])

    assert shown.documents == ("e", "d")


# Where no model answered the citations have scores, the best first, and claims follow them; a
# refusal says that no passage shares enough words. An answer of a model is left as it is.
def test_ranked() -> None:
    citations = tuple(Citation("text", "d", 0, 0, 9, words) for words in WORDS)
    claims = (Claim("Alice.", (3,)), Claim("Danny.", (1, 2)))
    reading = Reading(
        "How long did Alice play?", "x", "", True, "c", "", citations, claims=claims,
        decider="offline",
    )  # fmt: skip
    refused = replace(reading, answer=NOT_IN_THE_TEXTS["en"], answered=False)
    answered = replace(reading, decider="openai:fake")

    best, *others = ranked(reading).citations

    assert best.quote == WORDS[2]
    assert best.score is not None
    assert best.score > 0.5
    assert [one.score for one in others] == [0, 0]
    assert ranked(reading).claims == (Claim("Alice.", (1,)), Claim("Danny.", (2, 3)))
    assert ranked(refused).answer == NO_PASSAGE["en"]
    assert ranked(answered) == answered
