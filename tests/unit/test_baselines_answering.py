"""Readers that answer with one prompt: from whole texts, facts, or retrieved passages."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from graphreader.baselines import retrieval
from graphreader.baselines.answering import (
    FullText,
    Golden,
    PassagesChoiceTask,
    PassagesTask,
    RefusableAnswer,
    TextAnswer,
    TextChoice,
)
from graphreader.baselines.read_agent.tasks import Gist, LookUp, NextPage
from graphreader.baselines.registry import Material, make
from graphreader.baselines.retrieval import (
    BM25,
    TOP_1_TOKENS,
    EmbeddingRanking,
    Ranking,
    Retrieval,
    top_1_tokens,
)
from graphreader.baselines.session import ReaderModel, TextPassage, passages_of
from graphreader.documents import Document
from graphreader.models import ModelRegistry
from graphreader.offline.decider import OfflineDecider
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.settings import Settings
from graphreader.testing import ChatRequest, FunctionChatModel, ScriptedDecider
from graphreader.tokens import count
from tests.unit.read_agent_fakes import modelled

ROME = TextAnswer(analysis="It says so.", answer="Rome", quotes=["It is Rome."])
REFUSAL = RefusableAnswer(answer="The text does not tell.", answered=False)


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


# Retrieval, full text and ReadAgent always answer, as in the papers; only with a name that says so
# an answer may be that the texts do not tell.
@pytest.mark.parametrize(
    "name",
    [
        *("rag-bm25-3", "full-text", "rag-pages-bm25-3", "gistmem", "gistmem-retrieval-1"),
        *("read-agent-p", "read-agent-s-3-task-aware"),
    ],
)
async def test_refusals(name: str, tmp_path: Path) -> None:
    steps = {"gist": Gist(gist="Rain."), "pages": LookUp(pages=[]), "page": NextPage(page=0)}

    def reply(request: ChatRequest) -> Any:
        for field, step in steps.items():
            if f"'{field}': " in str(request.schema):
                return step
        may_refuse = "does not tell" in str(request.schema)
        assert ("answered" in request.system + str(request.schema)) is may_refuse
        return REFUSAL if may_refuse else TextAnswer(answer="Rome")

    models = ModelRegistry(Settings.read(home=tmp_path, model="offline"), modelled(reply)[0])
    material = Material([document(1, "It rained all summer.")])
    readings = [
        await make(name + end, material, models).aask("Where?") for end in ("", "-may-refuse")
    ]

    assert [(one.reader, one.answered) for one in readings] == [
        (name, True),
        (f"{name}-may-refuse", False),
    ]


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
    left_out = "2 of 4 passages did not fit into the window and were left out."
    assert reading.notes == (UNSUPPORTED, left_out)
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


UNSUPPORTED = "1 of 1 claims has no quote that supports it: Rome"


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
    assert reading.notes == (UNSUPPORTED,)
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
    assert "did not fit into the window" in reading.notes[-1]
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


TEXTS = [
    ("Lisbon", "Trams climb the hills of the old town."),
    ("Otters", "Otters sleep on their backs, and an otter holds another's paw."),
    ("长江", "长江是亚洲最长的河流，发源于青藏高原。"),
    ("Coins", "Traders weighed silver coins in the harbour of Lisbon."),
    ("Empty talk", "And so on."),
]


def passages(texts: Sequence[tuple[str, str]]) -> list[TextPassage]:
    return [
        TextPassage(Document("c", f"d{n}", title, "", text, "", "en"), 0, 0, text, 1)
        for n, (title, text) in enumerate(texts)
    ]


def by_embedding(some: Sequence[TextPassage]) -> Ranking:
    return EmbeddingRanking(some, OfflineEmbedder())


every_ranking = pytest.mark.parametrize("rank", [BM25, by_embedding])
Rank = Callable[[Sequence[TextPassage]], Ranking]


# Both rankings put the best passage first, and rank all of them.
@every_ranking
@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How do otters sleep?", "Otters"),
        ("Who weighed silver?", "Coins"),
        ("亚洲最长的河流是哪一条？", "长江"),
    ],
)
async def test_ranks(rank: Rank, question: str, first: str) -> None:
    titles = [one.document.title for one in await rank(passages(TEXTS)).ranked(question)]

    assert titles[0] == first
    assert sorted(titles) == sorted(title for title, _ in TEXTS)


# The scores are those of BM25 with k1 1.5 and b 0.75: the order of a case worked by hand.
async def test_bm25_by_hand() -> None:
    texts = ["red red blue", "red", "blue green green green green green", "grey"]
    average = sum(len(text.split()) for text in texts) / len(texts)

    def score(text: str) -> float:
        total = 0.0
        for word in ("red", "blue"):
            having = sum(word in other.split() for other in texts)
            idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            times = text.split().count(word)
            length = len(text.split()) / average
            total += idf * times / (times + 1.5 * (1 - 0.75 + 0.75 * length))
        return total

    ranked = await BM25(passages([("", text) for text in texts])).ranked("red or blue?")

    assert [one.text for one in ranked] == sorted(texts, key=score, reverse=True)


# Passages that are equally good, or not at all, keep the order of the text.
@pytest.mark.parametrize("question", ["xylophone", "same words"])
async def test_equals_keep_their_order(question: str) -> None:
    some = passages([(f"Title {n}", "the same words") for n in range(40)])

    assert await BM25(some).ranked(question) == some


class Counting:
    """An embedder whose vectors count the letters a and b; it keeps the texts."""

    name = "counting"
    dimension = 2

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [[float(text.count("a")), float(text.count("b")) + 0.01] for text in texts]

    async def aclose(self) -> None:
        pass


# Vectors are kept: another ranking of the same passages, also in a later process, embeds the
# question alone. Other texts or another embedder have vectors of their own, a damaged file is made
# again, and the oldest files go.
async def test_vectors_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some, other = passages([("", "aab"), ("", "b")]), passages([("", "ba"), ("", "b")])

    async def embedded(these: Sequence[TextPassage], name: str = "counting") -> int:
        embedder = Counting()
        embedder.name = name
        ranked = await EmbeddingRanking(these, embedder, tmp_path).ranked("b")
        assert ranked[0] == these[1]
        return len(embedder.texts)

    assert [await embedded(some) for _ in range(2)] == [3, 1]
    assert [await embedded(some, "another"), await embedded(other), await embedded(some)] == [
        3,
        3,
        1,
    ]
    for left in (90, 0):
        for file in tmp_path.iterdir():
            file.write_bytes(file.read_bytes()[:left])
        assert [await embedded(some) for _ in range(2)] == [3, 1]
    monkeypatch.setattr(retrieval, "_MOST_BYTES", 100)  # less than one file, which is kept
    assert [await embedded(passages([("", "aaa"), ("", "b")])) for _ in range(2)] == [3, 1]
    assert len(list(tmp_path.iterdir())) == 1


# A passage longer than an embedder takes is embedded in parts, and all parts count.
async def test_long_passages() -> None:
    embedder = Counting()
    some = passages([("", "a" * 200), ("", "a" * 8_000 + "b" * 12_000), ("", "ab" * 100)])

    ranked = await EmbeddingRanking(some, embedder).ranked("b")

    assert [one.document.id for one in ranked] == ["d1", "d2", "d0"]
    assert max(map(len, embedder.texts)) <= 8_000
