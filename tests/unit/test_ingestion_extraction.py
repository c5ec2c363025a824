"""Facts of a chunk: dividing what is too much, errors and costs, grounded key elements."""

from collections.abc import Callable

import pytest

from graphreader import tokens
from graphreader.documents import Chunk
from graphreader.errors import CutOffError, ReplyError, WindowError
from graphreader.ingestion.context import DocumentContext
from graphreader.ingestion.extraction import (
    MANY_FACTS,
    ExtractedFact,
    Extraction,
    ExtractionResult,
    ExtractionTask,
    extract,
    grounded_elements,
)
from graphreader.ingestion.loading.content import from_text
from graphreader.llm.protocols import Budget
from graphreader.outline import LONGEST_SUMMARY
from graphreader.testing import ScriptedDecider
from graphreader.usage import Usage

SENTENCES = [
    f"In year {1000 + n} the town of Place{n} was founded by Person{n}." for n in range(60)
]
TEXT = "\n".join(SENTENCES)


def context_of(text: str) -> DocumentContext:
    return DocumentContext(from_text(text, "Towns", "demo", "towns.txt"))


def fact(text: str, *elements: str) -> ExtractedFact:
    return ExtractedFact(fact=text, key_elements=list(elements))


def each_sentence(task: ExtractionTask) -> Extraction:
    return Extraction(facts=[fact(line, line.split()[5]) for line in task.text.split("\n") if line])


def limited(facts: int, error: type[ReplyError | WindowError]) -> Callable[..., Extraction]:
    """Fails where a text holds more facts, at a cost of 1,024 tokens."""

    def decide(task: ExtractionTask) -> Extraction:
        extraction = each_sentence(task)
        if len(extraction.facts) > facts:
            failure = error("That is too much.")
            failure.spent = Usage(1, 500, 1024)
            raise failure
        return extraction

    return decide


async def extracted(
    function: Callable[..., Extraction], text: str = TEXT, budget: Budget | None = None
) -> tuple[ExtractionResult, ScriptedDecider]:
    decider = ScriptedDecider({ExtractionTask: function})
    chunk = Chunk("c1", 0, "A", "d1", 0, len(text), text, tokens.count(text))
    return await extract(decider, context_of(text), chunk, budget), decider


# A chunk that is too much for one reply is divided, also again, and stays one chunk with all facts;
# replies that were cut off are counted.
@pytest.mark.parametrize("error", [CutOffError, WindowError])
async def test_dense_chunks_are_divided(error: type[ReplyError | WindowError]) -> None:
    result, decider = await extracted(limited(20, error))
    halves, _ = await extracted(limited(40, error))

    assert halves.usage == Usage(calls=3, input_tokens=500, output_tokens=1024)
    assert [one.text for one in result.extracted.facts] == SENTENCES
    assert [one.index for one in result.extracted.facts] == list(range(60))
    assert len(decider.asked) > 4
    assert result.extracted.chunk.error is None


# The summary of a chunk is one line of bounded length, that of a divided chunk the summaries of its
# parts; a reply without one leaves it empty.
async def test_summaries() -> None:
    def summed_up(task: ExtractionTask) -> Extraction:
        extraction = limited(40, CutOffError)(task)
        first, last = (extraction.facts[place].fact.split()[6] for place in (0, -1))
        return Extraction(facts=extraction.facts, summary=f"{first}\n\ud800to {last}.")

    divided, _ = await extracted(summed_up)
    long, _ = await extracted(lambda task: Extraction(facts=[], summary="word " * 100), "A text.")
    missing, _ = await extracted(each_sentence)

    assert divided.extracted.chunk.summary == "Place0 to Place29. Place30 to Place59."
    assert len(long.extracted.chunk.summary) <= LONGEST_SUMMARY
    assert long.extracted.chunk.summary.endswith("word…")
    assert missing.extracted.chunk.summary == ""


# A small text is not divided, and a half that fails leaves the whole chunk without facts; the chunk
# fails with all that it has cost.
async def test_failing_chunks() -> None:
    def second_half_fails(task: ExtractionTask) -> Extraction:
        if SENTENCES[0] not in task.text:
            raise ReplyError("That makes no sense.")
        return limited(40, CutOffError)(task)

    small, decider = await extracted(limited(0, CutOffError), SENTENCES[0])
    half, _ = await extracted(second_half_fails)

    assert (small.extracted.chunk.error, small.extracted.facts) == ("That is too much.", ())
    assert (small.usage, len(decider.asked)) == (Usage(1, 500, 1024), 1)
    assert (half.extracted.chunk.error, half.extracted.facts) == ("That makes no sense.", ())
    assert half.usage.calls == 2


# Facts without words, equal ones, lone surrogates and endless wordings do no harm.
async def test_bad_extractions() -> None:
    long = "x" * 50_000
    facts = [
        fact("...", "", "  ", "...", "\ud800"),
        fact("", "nothing"),
        fact(f"City\ud800 \n of {long}.", "City", "city", long),
        fact(f"City of {long}.", "again"),
    ]
    result, _ = await extracted(lambda task: Extraction(facts=facts))

    (only,) = result.extracted.facts
    assert only.text == f"City of {long}."
    assert [len(one.name) for one in only.key_elements] == [4, 200]


# Where the budget is used up, the chunk waits for another run.
async def test_budget() -> None:
    budget = Budget(max_calls=1)
    await budget.take(0, "extract")

    result, _ = await extracted(each_sentence, budget=budget)

    assert "max_calls is 1" in str(result.extracted.chunk.error)
    assert result.usage == Usage()


# A key element that does not occur in its fact is dropped and counted; a fact without any left
# gets its own names.
@pytest.mark.parametrize(
    ("extraction", "kept", "dropped"),
    [
        (fact("Joan was canonized in 1920.", "Joan", "1920", "Rome", "canonize", "1921"),
         {"Joan", "1920", "canonize"}, 2),
        (fact("Benedict XV canonized Joan of Arc.", "Catholic Church"), {"Joan of Arc"}, 1),
    ],
)  # fmt: skip
async def test_ungrounded_key_elements(
    extraction: ExtractedFact, kept: set[str], dropped: int
) -> None:
    result, _ = await extracted(lambda task: Extraction(facts=[extraction]), "Joan.")

    (only,) = result.extracted.facts
    assert kept <= {one.name for one in only.key_elements}
    assert result.dropped == dropped


FACT = "In 1920 Pope Benedict XV canonized Joan of Arc, the Maid of Orléans."


# Case, spaces, Unicode form, inflection and words in between make no difference; numbers must be
# equal, and Chinese is compared literally.
@pytest.mark.parametrize(
    ("text", "occurring", "missing"),
    [
        (FACT, ["Joan of Arc", "joan  of arc", "1920", "canonized", "canonize"], []),
        (FACT, ["Orle\u0301ans", "Pope Benedict", "Pope XV"], []),
        (FACT, [], ["Charles VII", "1921", "19", "Rome", "Joan of Kent", "canon law", "", "  "]),
        ("贞德于1431年在鲁昂被处死。", ["贞德", "鲁昂"], ["查理七世"]),
    ],
)
def test_grounding(text: str, occurring: list[str], missing: list[str]) -> None:
    assert grounded_elements([*occurring, *missing], text) == occurring


def sourced(text: str, *numbers: int) -> ExtractedFact:
    return ExtractedFact(fact=text, key_elements=[text.split()[0]], sentences=list(numbers))


# Facts have the span of their sentences; numbers that do not exist, and facts whose sentences are
# not found, are counted.
async def test_sources() -> None:
    text = "Ada bought a mill. It burned down in 1903. Bert saw it."
    facts = [
        sourced("Ada owned a mill.", 1),
        sourced("The mill burned down in 1903.", 2, 7),
        sourced("Bert saw the mill burn.", 0),
        sourced("Bert wept.", 2),
        sourced("The mill burned down in 1904.", 2),
    ]
    result, _ = await extracted(lambda task: Extraction(facts=facts), text)

    spans = [(one.start, one.end) for one in result.extracted.facts]
    assert [text[slice(*span)] if span[1] else None for span in spans] == [
        "Ada bought a mill.",
        "It burned down in 1903.",
        "Bert saw it.",
        "Bert saw it.",
        None,
    ]
    assert (result.unknown_sentences, result.without_source) == (2, 1)


# A model that ends after many facts is given the rest of the text, from the last sentence that it
# has named; the summary is the one of the whole text.
async def test_many_facts() -> None:
    lines = [f"Person{n} met Person{n + 1} in Town{n} at noon." for n in range(100)]

    def some(task: ExtractionTask) -> Extraction:
        own = [one for one in lines if one in task.text][:MANY_FACTS]
        facts = [sourced(one, n) for n, one in enumerate(own, 1)]
        return Extraction(facts=facts, summary=f"From {own[0].split()[0]}.")

    result, decider = await extracted(some, "\n".join(lines))

    assert [one.text for one in result.extracted.facts] == lines
    assert all(one.start is not None for one in result.extracted.facts)
    assert len(decider.asked) == 2
    assert decider.asked[1].text.startswith(lines[MANY_FACTS - 1])
    assert result.extracted.chunk.summary == "From Person0."


# A model that gives very many facts with the number of its first sentences, or of one sentence that
# is the whole text, is not asked for the rest over and over.
@pytest.mark.parametrize("end", [", ", ". "])
async def test_many_facts_of_a_wrong_sentence(end: str) -> None:
    text = end.join(f"Person{n} met Person{n + 1} in Town{n} at noon" for n in range(100))
    facts = [sourced(f"Person{n} met Person{n + 1}.", 1) for n in range(MANY_FACTS)]

    result, decider = await extracted(lambda task: Extraction(facts=facts), text)

    assert len(result.extracted.facts) == MANY_FACTS
    assert len(decider.asked) == 1
