from collections.abc import Callable

import pytest

from graphreader import tokens
from graphreader.documents import Chunk, Document
from graphreader.errors import CutOffError, ModelRefusedError, ReplyError, WindowError
from graphreader.ingestion.extraction import (
    ExtractedFact,
    Extraction,
    ExtractionResult,
    ExtractionTask,
    extract,
)
from graphreader.llm.protocols import Budget
from graphreader.testing import ScriptedDecider
from graphreader.usage import Usage

SENTENCES = [
    f"In year {1000 + n} the town of Place{n} was founded by Person{n}." for n in range(60)
]
TEXT = "\n".join(SENTENCES)
DOCUMENT = Document("demo", "d1", "Towns", "towns.txt", TEXT, "0", "en")


def chunk_of(text: str) -> Chunk:
    return Chunk("c1", "d1", 0, 0, len(text), text, tokens.count(text))


def fact(text: str, *elements: str) -> ExtractedFact:
    return ExtractedFact(fact=text, key_elements=list(elements))


def each_sentence(task: ExtractionTask) -> Extraction:
    return Extraction(facts=[fact(line, line.split()[5]) for line in task.text.split("\n") if line])


def limited(facts: int, error: type[ReplyError | WindowError]) -> Callable[..., Extraction]:
    """Fails where a text holds more facts, and has then paid for 1,024 tokens."""

    def told(task: ExtractionTask) -> Extraction:
        found = each_sentence(task)
        if len(found.facts) > facts:
            failure = error("That is too much.")
            failure.spent = Usage(1, 500, 1024)
            raise failure
        return found

    return told


async def extracted(
    function: Callable[..., Extraction], text: str = TEXT
) -> tuple[ExtractionResult, ScriptedDecider]:
    decider = ScriptedDecider({ExtractionTask: function})
    return await extract(decider, DOCUMENT, chunk_of(text)), decider


# A chunk that is too much for one reply is divided, also again, and stays one chunk with all facts.
@pytest.mark.parametrize("error", [CutOffError, WindowError])
async def test_dense_chunks_are_divided(error: type[ReplyError | WindowError]) -> None:
    found, decider = await extracted(limited(20, error))

    assert [one.text for one in found.read.facts] == SENTENCES
    assert [one.index for one in found.read.facts] == list(range(60))
    assert len(decider.asked) > 4
    assert found.read.error is None


# What the replies that were cut off have cost is counted with the rest.
async def test_cut_off_replies_are_paid_for() -> None:
    found, decider = await extracted(limited(40, CutOffError))

    assert len(decider.asked) == 3
    assert found.usage == Usage(calls=3, input_tokens=500, output_tokens=1024)


# What is small and still too much fails, with all that it has cost.
async def test_small_chunks_are_not_divided() -> None:
    found, decider = await extracted(limited(0, CutOffError), SENTENCES[0])

    assert found.read.error == "That is too much."
    assert found.read.facts == ()
    assert found.usage == Usage(1, 500, 1024)
    assert len(decider.asked) == 1


# A half that fails leaves the whole chunk without facts, so that it is asked again.
async def test_half_a_chunk_is_none() -> None:
    def second_half_fails(task: ExtractionTask) -> Extraction:
        if SENTENCES[0] not in task.text:
            raise ReplyError("That makes no sense.")
        return limited(40, CutOffError)(task)

    found, _ = await extracted(second_half_fails)

    assert found.read.error == "That makes no sense."
    assert found.read.facts == ()
    assert found.usage.calls == 2


# A service that refuses everything ends more than this chunk; what was paid stands in the error.
async def test_refusals_are_raised() -> None:
    def refused(task: ExtractionTask) -> Extraction:
        raise ModelRefusedError("The quota is used up.")

    with pytest.raises(ModelRefusedError):
        await extracted(refused)


# Where the budget is used up, the chunk waits for another run.
async def test_budget() -> None:
    decider = ScriptedDecider({ExtractionTask: each_sentence})
    budget = Budget(max_calls=1)
    budget.take(0, "extract")

    found = await extract(decider, DOCUMENT, chunk_of(TEXT), budget)

    assert "max_calls is 1" in str(found.read.error)
    assert found.usage == Usage()


# A key element that does not stand in its fact is dropped and counted.
async def test_key_elements_stand_in_their_facts() -> None:
    told = fact("Joan was canonized in 1920.", "Joan", "1920", "Rome", "canonize", "1921")

    found, _ = await extracted(lambda task: Extraction(facts=[told]), "Joan.")

    (only,) = found.read.facts
    assert [one.surface for one in only.key_elements] == ["Joan", "1920", "canonize"]
    assert found.dropped == 2


# A fact of which none is left is found by its own names.
async def test_no_fact_is_lost() -> None:
    told = fact("Benedict XV canonized Joan of Arc in Rome.", "Catholic Church")

    found, _ = await extracted(lambda task: Extraction(facts=[told]), "Joan.")

    (only,) = found.read.facts
    assert {"Joan of Arc", "Rome"} <= {one.surface for one in only.key_elements}
    assert found.dropped == 1
