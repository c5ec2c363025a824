"""Readers that show passages in one prompt: which, in which order, what is left out."""

from collections.abc import Sequence
from typing import Any

import pytest

from graphreader.baselines.answering import (
    FullText,
    Golden,
    PassagesChoiceTask,
    PassagesTask,
    TextAnswer,
    TextChoice,
)
from graphreader.baselines.retrieval import TOP_1_TOKENS, Retrieval, top_1_tokens
from graphreader.baselines.session import ReaderModel, TextPassage, passages_of
from graphreader.documents import Document
from graphreader.offline.decider import OfflineDecider
from graphreader.testing import FunctionChatModel, ScriptedDecider
from graphreader.tokens import count
from tests.unit.read_agent_fakes import modelled

ROME = TextAnswer(analysis="It says so.", answer="Rome", answered=True, quotes=["It is Rome."])


def document(number: int, text: str) -> Document:
    return Document("c", f"d{number}", f"Book {number}", "", text, "", "en")


def model_of(window: int, reply: Any = ROME) -> tuple[ReaderModel, FunctionChatModel]:
    decider, model = modelled(lambda request: reply, window)
    return ReaderModel(decider, window), model


class InOrder:
    """A ranking that leaves everything in its place."""

    def __init__(self, passages: Sequence[TextPassage]) -> None:
        self.passages = passages

    async def ranked(self, question: str) -> list[TextPassage]:
        return list(self.passages)


def words(name: str, number: int) -> str:
    return " ".join(f"{name}{n}" for n in range(number))


# The best k passages are shown, best first, each after its label.
async def test_shows_the_best() -> None:
    some = passages_of([document(n, f"Text of {n}. It is Rome.") for n in range(5)], 1000)
    decider = ScriptedDecider({PassagesTask: lambda task: ROME})

    reading = await Retrieval("r", InOrder(some[::-1]), ReaderModel(decider, 4096), 3).aask("Who?")

    shown = decider.asked[0].values()["texts"]
    assert shown == (
        "[1] Book 4, chunk 0\nText of 4. It is Rome.\n\n"
        "[2] Book 3, chunk 0\nText of 3. It is Rome.\n\n"
        "[3] Book 2, chunk 0\nText of 2. It is Rome."
    )
    assert reading.documents_read == ("d4", "d3", "d2")
    assert reading.evidence == shown
    assert reading.citations[0].document_id == "d4"
    assert set(reading.phases) == {"answer"}


# Passages for which the window has no room are left out from the end, none is cut, and a note says
# so. Without a model there is no prompt, but the window still holds only so much text.
async def test_leaves_out_what_does_not_fit() -> None:
    some = passages_of([document(n, words(f"w{n}x", 250)) for n in range(4)], 2000)
    reader_model, model = model_of(3_000)
    offline = ReaderModel(OfflineDecider(), some[0].tokens * 3)
    assert sum(one.tokens for one in some[:2]) < 2_300 < sum(one.tokens for one in some[:3])

    reading = await Retrieval("r", InOrder(some), reader_model, 4).aask("Where?")
    unasked = await Retrieval("r", InOrder(some), offline, 4).aask("Where is w0x7?")

    assert all(one.text in model.requests[0].user for one in some[:2])
    assert "w2x0 " not in model.requests[0].user
    assert reading.documents_read == ("d0", "d1")
    assert reading.notes == ("2 of 4 passages did not fit into the window and were left out.",)
    assert unasked.documents_read == ("d0", "d1", "d2")


# The one chunk is as large as the window allows beside prompt and question, at most 3,800 tokens.
@pytest.mark.parametrize("window", [4_096, 8_192])
async def test_top_1_fills_the_window(window: int) -> None:
    reader_model, model = model_of(window, TextChoice(option=1))
    limit = top_1_tokens(reader_model)
    text = "\n\n".join(f"Paragraph {n} is about the number {n * 7}." for n in range(600))
    some = passages_of([document(1, text)], limit)
    question = f"Where does {words('somebody', 30)} live?"

    await Retrieval("r", InOrder(some), reader_model, 1).aask(question, options=["a", "b"])

    assert some[0].text.strip() in model.requests[0].user
    assert limit == TOP_1_TOKENS if window > 5_000 else TOP_1_TOKENS > limit > window * 0.68


# Only an option that is shown can be chosen.
def test_options() -> None:
    task = PassagesChoiceTask("Where?", (), ("Paris", "Rome, Italy"))

    assert task.values()["options"] == "[1] Paris\n[2] Rome, Italy"
    problems = [task.problem(TextChoice(option=number)) for number in range(4)]
    assert [problem is None for problem in problems] == [False, True, True, False]


def paragraphs(name: str, number: int) -> str:
    return "\n\n".join(f"Paragraph {name}{n} tells of {words(name, 20)}." for n in range(number))


async def shown_by(window: int, *texts: str) -> tuple[str, Any]:
    reader_model, model = model_of(window)
    documents = [document(n, text) for n, text in enumerate(texts)]
    reading = await FullText(documents, reader_model).aask("Where?")
    return model.requests[0].user, reading


# A text that fits is shown as it stands, one document after the other.
async def test_whole_text() -> None:
    texts = [paragraphs("a", 3), " first line\nsecond line  with spaces\n\n\nlast", ""]

    shown, reading = await shown_by(16_000, *texts)

    assert f"[1] Book 0\n{texts[0]}\n\n[2] Book 1\n{texts[1].strip()}\n</texts>" in shown
    assert reading.notes == ()
    assert reading.tokens_read == pytest.approx(count(texts[0]) + count(texts[1]), abs=2)


# Of a longer one the longest head of whole paragraphs is shown, across documents (table 3).
async def test_head() -> None:
    texts = [paragraphs(name, 30) for name in "abc"]

    shown, reading = await shown_by(2_600, *texts)

    present = [f"Paragraph {name}{n} " in shown for name in "abc" for n in range(30)]
    number = present.index(False)
    assert 30 < number < 60
    assert not any(present[number:])
    assert reading.documents_read == ("d0", "d1")
    assert "did not fit into the window" in reading.notes[0]
    # one more paragraph would not fit
    size = reading.usage.input_tokens
    assert size <= 2_600 < size + count(f"Paragraph b{number - 30} tells of {words('b', 20)}.\n\n")


# Supporting facts are shown and cited where they stand; one that stands nowhere is shown, too.
async def test_golden_facts() -> None:
    texts = ["Before. It is Rome. After.", "Elsewhere it  rains\nin May. More."]
    facts = ["It is Rome.", "Elsewhere it rains in May.", "Nobody wrote this."]
    answer = ROME.model_copy(update={"quotes": ["It is Rome.", "Nobody wrote this."]})
    decider = ScriptedDecider({PassagesTask: lambda task: answer})
    documents = [document(n, text) for n, text in enumerate(texts)]

    reading = await Golden(facts, documents, ReaderModel(decider, 4096)).aask("Where?")

    shown = decider.asked[0].values()["texts"]
    assert all(" ".join(fact.split()) in " ".join(shown.split()) for fact in facts)
    assert "After." not in shown
    assert reading.documents_read == ("d0", "d1")
    assert [(one.document_id, one.start, one.quote) for one in reading.citations] == [
        ("d0", 8, "It is Rome.")
    ]
