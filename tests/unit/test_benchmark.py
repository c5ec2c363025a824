"""Questions put to readers: what is asked, how often, and what ends it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path as File
from typing import Any

import pytest

from graphreader.documents import Document
from graphreader.errors import (
    BudgetError,
    DatasetError,
    DocumentError,
    GraphReaderError,
    ModelClosedError,
    ModelUnavailableError,
    SettingsError,
    UsageError,
    WindowError,
)
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.plan import Plan, QuestionSelection, make_plan
from graphreader.evaluation.readers import PreparedReader
from graphreader.evaluation.results import ReadingsFile
from graphreader.evaluation.runner import Arm, EvaluationRunner, expected_keys
from graphreader.evaluation.scoring import Scorer
from graphreader.files import Line
from graphreader.reading import Path, Reading
from graphreader.settings import Settings
from graphreader.usage import Usage

KEYS = [
    "id",
    "dataset",
    "reader",
    "length",
    "answer",
    "answered",
    "em",
    "f1",
    "documents_read",
    "documents_cited",
    "tokens_read",
    "usage",
    "seconds",
]
Answer = Callable[[str], Reading]


def answer(question: str, **more: Any) -> Reading:
    usage = Usage(1, 90, 10, seconds=0.1, dollars=0.5)
    given: dict[str, Any] = {"answered": True, "usage": usage, **more}
    return Reading(question, "Toronto", "", corpus="c", plan="", **given)


class Fake:
    """A reader that answers by a function, and remembers what was done with it."""

    def __init__(self, name: str = "fake", answers: Answer = answer) -> None:
        self.name, self.window = name, 4096
        self.opened_with: list[list[str]] = []
        self.asked: list[str] = []
        self.forgotten = 0
        self.open = self.most_open = 0
        self.fails: Exception | None = None
        self._answers = answers

    @asynccontextmanager
    async def prepare(
        self, record: Record, documents: Sequence[Document]
    ) -> AsyncIterator[PreparedReader]:
        if self.fails:
            raise self.fails
        self.opened_with.append([one.text for one in documents])
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        yield PreparedReader(self, Usage(2, 10, 5), {"chunks": 3}, None)
        self.open -= 1

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        self.asked.append(question)
        return self._answers(question)

    async def discard(self, documents: Sequence[Document]) -> None:
        self.forgotten += 1

    async def discard_leftovers(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


def write(folder: File, questions: dict[str, str], name: str = "data.jsonl") -> str:
    """A file of questions, each with the text that it is about."""
    rows = [
        {
            "id": question,
            "dataset": "own",
            "question": f"{question}?",
            "answers": ["Toronto"],
            "documents": [{"title": "T", "text": text}],
            "supporting": [{"doc": 0}],
        }
        for question, text in questions.items()
    ]
    (folder / name).write_text("\n".join(json.dumps(row) for row in rows))
    return str(folder / name)


@pytest.fixture
def data(tmp_path: File) -> str:
    return write(tmp_path, {"q1": "one", "q2": "two", "q3": "one"})


async def run(
    out: File, what: Plan, *fakes: Fake, concurrency: int = 2, max_dollars: float | None = None
) -> list[Line]:
    """Ask everything that is missing in the file; all lines of it, also where it ends early."""
    lines: list[Line] = []
    entries = [Arm(one, Settings()) for one in fakes]
    with ReadingsFile(out / "readings.jsonl", lines.append) as file:
        benchmark = EvaluationRunner(
            what, entries, file, Scorer(), concurrency=concurrency, max_dollars=max_dollars
        )
        await benchmark.run()
    return lines


def kept(out: File) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "readings.jsonl").read_text().splitlines()]


# Every question is put to every reader, and each line begins with the keys that all have.
async def test_lines(data: str, tmp_path: File) -> None:
    one, other = Fake("one"), Fake("other")
    await run(tmp_path, make_plan([data], QuestionSelection()), one, other)

    lines = kept(tmp_path)
    assert sorted((line["id"], line["reader"]) for line in lines) == [
        (id_, name) for id_ in ("q1", "q2", "q3") for name in ("one", "other")
    ]
    assert all(list(line)[: len(KEYS)] == KEYS for line in lines)
    assert {line["em"] for line in lines} == {1.0}
    assert lines[0]["building"]["calls"] == 2
    assert lines[0]["graph"] == {"chunks": 3}
    assert lines[0]["model"] == "offline"
    assert lines[0]["window"] == 4096


# What sets about the same documents share is thrown away only when nobody is asked of it.
async def test_sets_about_the_same_documents(tmp_path: File) -> None:
    class Shared(Fake):
        async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
            await asyncio.sleep(0.01)
            return await super().aask(question, options=options)

        async def discard(self, documents: Sequence[Document]) -> None:
            assert not self.open
            await super().discard(documents)

    short = write(tmp_path, {"q1": "one"}, "short.jsonl")
    long = write(tmp_path, {f"r{n}": "one" for n in range(6)}, "long.jsonl")
    shared = Shared()
    lines = await run(tmp_path, make_plan([short, long], QuestionSelection()), shared)

    assert len(lines) == 7
    assert (shared.forgotten, shared.most_open) == (2, 1)


# Questions about the same documents share one opened reader; what it built goes when all are done.
async def test_shared_documents(data: str, tmp_path: File) -> None:
    fake = Fake()
    lines = await run(tmp_path, make_plan([data], QuestionSelection()), fake)

    assert sorted(fake.opened_with) == [["one"], ["two"]]
    assert fake.forgotten == 2
    corpora = {line["id"]: line["corpus"] for line in lines}
    assert corpora["q1"] == corpora["q3"] != corpora["q2"]


# The reader that knows a record's own evidence is opened for each record.
async def test_golden(data: str, tmp_path: File) -> None:
    golden = Fake("golden")
    await run(tmp_path, make_plan([data], QuestionSelection()), golden)

    assert len(golden.opened_with) == 3


# It is not asked where the data names no evidence: it would have nothing to read, and count as 0.
async def test_no_evidence(tmp_path: File) -> None:
    data = File(write(tmp_path, {"q1": "one", "q2": "two"}))
    rows = [json.loads(row) for row in data.read_text().splitlines()]
    del rows[0]["supporting"]
    data.write_text("\n".join(json.dumps(row) for row in rows))
    what = make_plan([str(data)], QuestionSelection())

    lines = await run(tmp_path, what, Fake("golden"), Fake("other"))

    asked = [Arm(Fake("golden"), Settings()), Arm(Fake("other"), Settings())]
    wanted = [("golden", "q2"), ("other", "q1"), ("other", "q2")]
    assert sorted((line["reader"], line["id"]) for line in lines) == wanted
    assert sorted((key.reader, key.id) for key in expected_keys(what, asked)) == wanted


# What is read is not asked again; a new reader, and what failed, is.
async def test_goes_on(data: str, tmp_path: File) -> None:
    def fail_once(question: str) -> Reading:
        if question == "q2?" and first.asked.count("q2?") == 1:
            raise WindowError("Too long.")
        return answer(question)

    first, second = Fake("first", fail_once), Fake("second")
    await run(tmp_path, make_plan([data], QuestionSelection()), first)
    await run(tmp_path, make_plan([data], QuestionSelection()), first, second)

    assert sorted(first.asked) == ["q1?", "q2?", "q2?", "q3?"]
    assert sorted(second.asked) == ["q1?", "q2?", "q3?"]


# Where all is read, not even the contexts are made.
async def test_nothing_left(data: str, tmp_path: File) -> None:
    fake = Fake()
    await run(tmp_path, make_plan([data], QuestionSelection()), fake)
    await run(tmp_path, make_plan([data], QuestionSelection()), fake)

    assert len(fake.opened_with) == 2


# One reading that fails is a line that says why and what it cost; the others go on.
async def test_failing_reading(data: str, tmp_path: File) -> None:
    def fail(question: str) -> Reading:
        if question == "q1?":
            error = BudgetError("The budget is used up.")
            error.spent = Usage(4, 40, 4)
            raise error
        return answer(question)

    await run(tmp_path, make_plan([data], QuestionSelection()), Fake(answers=fail))

    lines = {line["id"]: line for line in kept(tmp_path)}
    assert lines["q1"]["error"] == "The budget is used up."
    assert lines["q1"]["usage"]["calls"] == 4
    assert (lines["q1"]["answered"], lines["q1"]["em"]) == (False, 0)
    assert list(lines["q1"])[: len(KEYS)] == KEYS
    assert lines["q1"].keys() == lines["q2"].keys()
    assert lines["q2"]["error"] is lines["q3"]["error"] is None


# A run whose every path failed is a failure, whatever it says.
async def test_every_path_failed(data: str, tmp_path: File) -> None:
    path = Path("Toronto", "", 0, "error", error="The reply makes no sense.")
    await run(
        tmp_path,
        make_plan([data], QuestionSelection()),
        Fake(answers=lambda q: answer(q, paths=(path,))),
    )

    assert {line["error"] for line in kept(tmp_path)} == {"The reply makes no sense."}


# A reader that cannot be opened on a text fails all questions about it, and no others.
async def test_failing_opening(data: str, tmp_path: File) -> None:
    broken, other = Fake("broken"), Fake("other")
    broken.fails = DocumentError("The text has no words.")
    await run(tmp_path, make_plan([data], QuestionSelection()), broken, other)

    errors = {(line["reader"], line["error"]) for line in kept(tmp_path)}
    assert errors == {("broken", "The text has no words."), ("other", None)}


# What every other reading would meet as well ends the evaluation; what was read before stays.
@pytest.mark.parametrize("error", [ModelClosedError("No key."), SettingsError("No model.")])
async def test_closed_model(tmp_path: File, error: GraphReaderError) -> None:
    def refuse(question: str) -> Reading:
        if question != "q0?":
            raise error
        return answer(question)

    data = write(tmp_path, {f"q{n}": f"text {n}" for n in range(9)})
    fake = Fake(answers=refuse)
    with pytest.raises(type(error)):
        await run(tmp_path, make_plan([data], QuestionSelection()), fake, concurrency=1)

    assert len(fake.asked) == 2
    assert [line["id"] for line in kept(tmp_path)] == ["q0"]


# A service that stays away ends it after three readings in vain; one that comes back does not.
async def test_service_gone(tmp_path: File) -> None:
    def away(question: str) -> Reading:
        if question == "q2?":
            return answer(question)
        raise ModelUnavailableError("Nobody answers.")

    data = write(tmp_path, {f"q{n}": f"text {n}" for n in range(9)})
    fake = Fake(answers=away)
    with pytest.raises(GraphReaderError, match=r"Nobody answers\. No more questions"):
        await run(tmp_path, make_plan([data], QuestionSelection()), fake, concurrency=1)

    assert fake.asked == ["q0?", "q1?", "q2?", "q3?", "q4?", "q5?"]


# Once as many dollars are spent as may be, nothing more is asked; what was paid for is kept.
async def test_max_dollars(tmp_path: File) -> None:
    data = write(tmp_path, {f"q{n}": f"text {n}" for n in range(9)})
    fake = Fake()
    with pytest.raises(GraphReaderError, match=r"\$1.00 are spent.*--max-cost"):
        await run(
            tmp_path, make_plan([data], QuestionSelection()), fake, concurrency=1, max_dollars=1.0
        )

    assert len(fake.asked) == len(kept(tmp_path)) == 2


# Few contexts are open at a time, however many there are.
async def test_few_at_once(tmp_path: File) -> None:
    data = write(tmp_path, {f"q{n}": f"text {n}" for n in range(20)})
    fake = Fake()
    await run(tmp_path, make_plan([data], QuestionSelection()), fake, concurrency=3)

    assert fake.most_open == 3


def pool(folder: File, passages: int = 60) -> str:
    rows = [{"title": f"P{n}", "text": f"Passage {n} tells of sheep."} for n in range(passages)]
    (folder / "pool.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return str(folder / "pool.jsonl")


# Longer contexts are asked beside the native ones; evidence is told where it stands in them.
async def test_lengths(data: str, tmp_path: File) -> None:
    fake = Fake()
    wanted = QuestionSelection(lengths=("native", "100", "200"), pool=pool(tmp_path))
    what = make_plan([data], wanted)
    lines = await run(tmp_path, what, fake)

    assert [group.length for group in what.groups] == ["native"] * 2 + ["100"] * 3 + ["200"] * 3
    assert {line["length"] for line in lines} == {"native", "100", "200"}
    assert all(90 < line["record_tokens"] <= 100 for line in lines if line["length"] == "100")
    for line in lines:
        texts = next(one for one in fake.opened_with if len(one) == line["documents"])
        assert len(texts) > line["gold_documents"][0]


# A record that is longer than a length is left out there, with a note.
def test_too_long(tmp_path: File) -> None:
    data = write(tmp_path, {"q1": "word " * 150, "q2": "two"})
    what = make_plan([data], QuestionSelection(lengths=("100",), pool=pool(tmp_path)))

    assert [group.records[0].id for group in what.groups] == ["q2"]
    assert what.notes == ("1 of 2 records of own are longer than 100 already, and left out there.",)


# A set without a pool is asked as it is, and a note says that its longer contexts are left out; the
# others are made longer all the same.
def test_one_set_without_a_pool(tmp_path: File) -> None:
    (tmp_path / "corpus").mkdir()
    with_pool = write(tmp_path, {"q1": "one"}, "a.jsonl")
    File(pool(tmp_path)).rename(tmp_path / "corpus" / "a.jsonl")
    without = write(tmp_path, {"q2": "two"}, "b.jsonl")

    what = make_plan([without, with_pool], QuestionSelection(lengths=("native", "100")))

    asked = [(group.records[0].id, group.length) for group in what.groups]
    assert asked == [("q2", "native"), ("q1", "native"), ("q1", "100")]
    (note,) = what.notes
    assert "no pool of passages beside" in note
    assert "b.jsonl to make its contexts 100 long, and they are left out: name one" in note


# A record for which the pool has too little that does not tell its answer is left out with a note,
# and not met in the middle of the evaluation; the others are made longer.
def test_too_small_for_one(tmp_path: File) -> None:
    data = File(write(tmp_path, {"q1": "a", "q2": "b"}))
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    rows[1]["answers"] = ["sheep"]
    data.write_text("\n".join(json.dumps(row) for row in rows))

    what = make_plan([str(data)], QuestionSelection(lengths=("100",), pool=pool(tmp_path)))

    assert [group.records[0].id for group in what.groups] == ["q1"]
    told = "1 of 2 records of own have too small a pool for 100, and are left out there."
    assert what.notes == (told,)


# A length without a pool, a pool that is too small, a file named twice: each is a sentence.
def test_plans_that_cannot_be(data: str, tmp_path: File) -> None:
    with pytest.raises(UsageError, match=r"There is no pool of passages beside .*--pool"):
        make_plan([data], QuestionSelection(lengths=("64k",)))
    with pytest.raises(UsageError, match="twice at the length native"):
        make_plan([data, data], QuestionSelection())
    with pytest.raises(DatasetError, match="is no length"):
        make_plan([data], QuestionSelection(lengths=("far",)))
    with pytest.raises(UsageError, match="at least one length"):
        make_plan([data], QuestionSelection(lengths=()))
    with pytest.raises(UsageError, match="3 of 3 records of own have too small a pool for 64k"):
        make_plan([data], QuestionSelection(lengths=("64k",), pool=pool(tmp_path, 5)))
