"""Running an evaluation, and the folder that it fills."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path as File
from typing import Any

import pytest

from graphreader.baselines.session import TextPassage
from graphreader.documents import Document
from graphreader.errors import (
    BudgetError,
    DocumentError,
    GraphReaderError,
    ModelClosedError,
    ModelUnavailableError,
    UsageError,
)
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.measures import read_results
from graphreader.evaluation.plan import EvaluationPlan, QuestionSelection, make_plan
from graphreader.evaluation.readers import EvaluatedReader, PreparedReader
from graphreader.evaluation.results import BuildingFile, ReadingKey, ReadingsFile, ResultsFolder
from graphreader.evaluation.runner import (
    Condition,
    EqualBudgetFile,
    EvaluationRunner,
    within_budget,
)
from graphreader.evaluation.scoring import Scorer
from graphreader.files import Line
from graphreader.ingestion.loading.content import from_text
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.reading import Path, Reading
from graphreader.settings import Settings
from graphreader.usage import Usage


def answer(question: str, **more: Any) -> Reading:
    usage = Usage(1, 90, 10, seconds=0.1, dollars=0.5)
    return Reading(question, "Toronto", "", answered=True, corpus="c", plan="", usage=usage, **more)


BUILT = Usage(2, 10, 5)


class FakeReader(EvaluatedReader):
    """A reader that answers by a function, and records what was done with it."""

    def __init__(self, name: str = "fake", answers: Callable[[str], Reading] = answer) -> None:
        self.name, self.window = name, 4096
        self.prepared_for: list[list[str]] = []
        self.asked: list[str] = []
        self.discarded = 0
        self.open = self.most_open = 0
        self.fails: Exception | None = None
        self._answers = answers

    @asynccontextmanager
    async def prepare(
        self, record: Record, documents: Sequence[Document], built: dict[str, Usage]
    ) -> AsyncIterator[PreparedReader]:
        built["a graph"] = BUILT
        if self.fails:
            raise self.fails
        self.prepared_for.append([one.text for one in documents])
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        yield PreparedReader(self, {"chunks": 3}, None)
        self.open -= 1

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        self.asked.append(question)
        await asyncio.sleep(0)
        return self._answers(question)

    async def discard(self, documents: Sequence[Document]) -> None:
        assert self.name != "shared" or not self.open
        self.discarded += 1

    async def aclose(self) -> None:
        pass


def write(
    folder: File, texts: dict[str, str], name: str = "data.jsonl", lacks: Iterable[str] = ()
) -> str:
    """A file of questions by their ids, each with the text that it is about.

    The questions in `lacks` name no evidence.
    """
    rows = [
        {
            "id": id_,
            "dataset": "own",
            "question": f"{id_}?",
            "answers": ["Toronto"],
            "documents": [{"title": "T", "text": text}],
            "supporting": [] if id_ in lacks else [{"doc": 0}],
        }
        for id_, text in texts.items()
    ]
    (folder / name).write_text("\n".join(json.dumps(row) for row in rows))
    return str(folder / name)


def write_pool(path: File, passages: int = 60) -> File:
    rows = [{"title": f"P{n}", "text": f"Passage {n} tells of sheep."} for n in range(passages)]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def plan_of(*data: str, **selection: Any) -> EvaluationPlan:
    return make_plan(data, QuestionSelection(**selection))


@pytest.fixture
def plan(tmp_path: File) -> EvaluationPlan:
    """Three questions about two texts."""
    return plan_of(write(tmp_path, {"q1": "one", "q2": "two", "q3": "one"}))


@pytest.fixture
def long_plan(tmp_path: File) -> EvaluationPlan:
    """Nine questions about nine texts."""
    return plan_of(write(tmp_path, {f"q{n}": f"text {n}" for n in range(9)}))


async def run(
    out: File,
    plan: EvaluationPlan,
    *readers: FakeReader,
    concurrency: int = 2,
    max_dollars: float | None = None,
) -> list[Line]:
    """Ask everything that the file lacks; all its lines."""
    lines: list[Line] = []
    conditions = [Condition(one, Settings()) for one in readers]
    limits: dict[str, Any] = {"concurrency": concurrency, "max_dollars": max_dollars}
    with (
        ReadingsFile(out / "readings.jsonl", lines.append) as file,
        BuildingFile(out / "building.jsonl") as building,
    ):
        await EvaluationRunner(plan, conditions, file, building, Scorer(), **limits).run()
    return lines


def kept(out: File, name: str = "readings.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / name).read_text().splitlines()]


# Every question is put to every reader; questions about the same documents share one prepared
# reader, and what it built goes when all of them are done.
async def test_lines(plan: EvaluationPlan, tmp_path: File) -> None:
    one, other = FakeReader("one"), FakeReader("other")
    await run(tmp_path, plan, one, other)
    lines = kept(tmp_path)

    assert sorted((line["id"], line["reader"]) for line in lines) == [
        (id_, name) for id_ in ("q1", "q2", "q3") for name in ("one", "other")
    ]
    assert {line["em"] for line in lines} == {1.0}
    assert lines[0]["built"] == ["a graph"]
    assert lines[0]["graph"] == {"chunks": 3}
    assert (lines[0]["model"], lines[0]["window"]) == ("offline", 4096)
    assert sorted(one.prepared_for) == [["one"], ["two"]]
    assert one.discarded == 2
    corpora = {line["id"]: line["corpus"] for line in lines}
    assert corpora["q1"] == corpora["q3"] != corpora["q2"]


# A graph that two datasets share is deleted only when nobody asks it.
async def test_datasets_about_the_same_documents(tmp_path: File) -> None:
    short = write(tmp_path, {"q1": "one"}, "short.jsonl")
    long = write(tmp_path, {f"r{n}": "one" for n in range(6)}, "long.jsonl")
    shared = FakeReader("shared")
    lines = await run(tmp_path, plan_of(short, long), shared)

    assert len(lines) == 7
    assert (shared.discarded, shared.most_open) == (2, 1)


# Golden is prepared for each record with evidence, and not asked the others.
async def test_golden(tmp_path: File) -> None:
    plan = plan_of(write(tmp_path, {"q1": "one", "q2": "one", "q3": "one"}, lacks={"q1"}))
    golden, other = FakeReader("golden"), FakeReader("other")
    lines = await run(tmp_path, plan, golden, other)

    expected = {("golden", "q2"), ("golden", "q3"), *(("other", f"q{n}") for n in (1, 2, 3))}
    assert {(line["reader"], line["id"]) for line in lines} == expected
    assert (len(golden.prepared_for), len(other.prepared_for)) == (2, 1)


# A failed reading, whatever its answer says, is a line with its reason and cost, and the others go
# on; a reader that cannot be prepared fails all its questions. Later only these are asked again and
# a new reader; if none is missing, not even the contexts are built.
async def test_failures(plan: EvaluationPlan, tmp_path: File) -> None:
    def fail_once(question: str) -> Reading:
        if question == "q1?" and first.asked.count("q1?") == 1:
            error = BudgetError("The budget is used up.")
            error.spent = Usage(4, 40, 4)
            raise error
        path = Path("Toronto", "", 0, "error", error="The reply makes no sense.")
        is_failed = question == "q3?" and first.asked.count("q3?") == 1
        return answer(question, paths=(path,) if is_failed else ())

    first, broken, new = FakeReader("first", fail_once), FakeReader("broken"), FakeReader("new")
    broken.fails = DocumentError("The text has no words.")
    await run(tmp_path, plan, first, broken)
    lines = {(line["reader"], line["id"]): line for line in kept(tmp_path)}
    broken.fails = None
    await run(tmp_path, plan, first, broken, new)
    prepared = len(first.prepared_for)
    await run(tmp_path, plan, first, broken, new)

    failed, sound = lines["first", "q1"], lines["first", "q2"]
    assert failed["error"] == "The budget is used up."
    assert (failed["usage"]["calls"], failed["answered"], failed["em"]) == (4, False, 0)
    assert failed.keys() == sound.keys()
    assert sound["error"] is None
    assert lines["first", "q3"]["error"] == "The reply makes no sense."
    assert {lines["broken", f"q{n}"]["error"] for n in (1, 2, 3)} == {"The text has no words."}
    assert sorted(first.asked) == ["q1?", "q1?", "q2?", "q3?", "q3?"]
    assert sorted(broken.asked) == sorted(new.asked) == ["q1?", "q2?", "q3?"]
    assert len(first.prepared_for) == prepared


# What building cost is written where no reading follows: where it failed in the middle, and where
# the limit of dollars ends the evaluation. All attempts count until one is complete; what is built
# again later does not.
async def test_cost_of_building(tmp_path: File) -> None:
    plan = plan_of(write(tmp_path, {"q1": "one"}))
    reader = FakeReader()
    reader.fails = ModelUnavailableError("Down.")
    await run(tmp_path, plan, reader)
    reader.fails = None
    with pytest.raises(GraphReaderError, match="as much as --max-cost allows"):
        await run(tmp_path, plan, reader, max_dollars=0)
    for _ in range(2):
        await run(tmp_path, plan, reader)
        (tmp_path / "readings.jsonl").unlink()
    await run(tmp_path, plan, reader)
    lines, cost = kept(tmp_path, "building.jsonl"), {"name": "a graph", "usage": asdict(BUILT)}

    assert lines == [{**cost, "complete": complete} for complete in (False, True)]
    assert read_results(tmp_path).building == {"a graph": 30}


# An error that every other reading would meet ends the evaluation at once, a service that stays
# unavailable after three readings; one that comes back does not. Earlier readings stay.
@pytest.mark.parametrize(
    ("error", "good", "asked"),
    [
        (ModelClosedError("No key."), "q0?", ["q0?", "q1?"]),
        (ModelUnavailableError("Down."), "q2?", ["q0?", "q1?", "q2?", "q3?", "q4?", "q5?"]),
    ],
    ids=["closed", "unavailable"],
)
async def test_ended(
    long_plan: EvaluationPlan, tmp_path: File, error: GraphReaderError, good: str, asked: list[str]
) -> None:
    def fail(question: str) -> Reading:
        if question != good:
            raise error
        return answer(question)

    reader = FakeReader(answers=fail)
    with pytest.raises(GraphReaderError, match=str(error)):
        await run(tmp_path, long_plan, reader, concurrency=1)

    assert reader.asked == asked
    assert [f"{line['id']}?" for line in kept(tmp_path) if not line["error"]] == [good]


# Few contexts are open at a time; longer ones are asked after native ones.
async def test_lengths(long_plan: EvaluationPlan, tmp_path: File) -> None:
    data, pool = str(tmp_path / "data.jsonl"), write_pool(tmp_path / "pool.jsonl")
    reader = FakeReader()
    plan = plan_of(data, lengths=("native", "100", "200"), pool=pool)
    lines = await run(tmp_path, plan, reader, concurrency=3)

    assert [group.length for group in plan.groups] == ["native"] * 9 + ["100"] * 9 + ["200"] * 9
    assert all(90 < line["record_tokens"] <= 100 for line in lines if line["length"] == "100")
    assert reader.most_open == 3


# The fewest best passages with as many tokens as were read; all if these do not suffice.
def test_smallest_k() -> None:
    document = from_text("text", "T", "c", "s")
    passages = [TextPassage(document, n, 0, "text", size) for n, size in enumerate((30, 20, 10))]

    for tokens, k, total in ((0, 0, 0), (30, 1, 30), (31, 2, 50), (999, 3, 60)):
        assert within_budget(passages, tokens) == (passages[:k], total)


async def rank(folder: File, tokens_read: dict[str, int]) -> list[dict[str, Any]]:
    """All lines after a ranking for two questions; the fifth of six texts answers the first."""
    texts = [f"Nothing but sheep number {n}." for n in range(6)]
    texts[4] = "The band was formed in Toronto."
    rows = [
        {
            "id": f"q{n}",
            "dataset": "d",
            "question": question,
            "answers": ["Toronto"],
            "documents": [{"title": "T", "text": text} for text in texts],
            "supporting": [{"doc": 4}],
        }
        for n, question in enumerate(["Where was the band formed?", "What of sheep number 5?"])
    ]
    (folder / "data.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    plan = make_plan([str(folder / "data.jsonl")], QuestionSelection())
    condition, (group,) = Condition(FakeReader("graphreader"), Settings()), plan.groups
    keys = {condition.key(group, one): tokens_read.get(one.id) for one in group.records}
    with EqualBudgetFile(folder / "equal_reading.jsonl", OfflineEmbedder()) as file:
        await file.rank(plan, [condition], {key: tokens for key, tokens in keys.items() if tokens})
    return [json.loads(line) for line in file.path.read_text().splitlines()]


# Each reading gets a line for each ranking, with the documents that this reads first. A failed
# reading is not compared, a compared one not again.
async def test_equal_budget(tmp_path: File) -> None:
    first = await rank(tmp_path, {"q0": 5})
    second = await rank(tmp_path, {"q0": 5, "q1": 12})

    assert [(one["id"], one["reader"]) for one in second] == [
        (id_, name) for id_ in ("q0", "q1") for name in ("bm25", "embedding")
    ]
    assert second[:2] == first
    assert first[0]["documents_read"] == first[1]["documents_read"] == [4]
    assert second[2]["documents_read"][0] == 5
    assert (second[2]["k"], second[2]["against"]) == (2, "graphreader")
    assert second[2]["tokens_read"] >= 12


ONE = ReadingKey("musique", "q1", "native", "full-text", "offline", 0)
TWO = ReadingKey("musique", "q2", "native", "full-text", "offline", 0)


def line(key: ReadingKey = ONE, question: str = "Who?", **more: Any) -> dict[str, Any]:
    named = {name: getattr(key, name) for name in ReadingKey.__slots__}
    lists: dict[str, Any] = {"documents_read": [], "gold_documents": []}
    figures = {"em": 1.0, "f1": 1.0, "tokens_read": 7, "usage": {"calls": 1}, "seconds": 0.5}
    return {**named, **lists, **figures, "digest": question, "error": None, **more}


def data_of(*lines: Line) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


@pytest.fixture
def path(tmp_path: File) -> File:
    """A file with one reading."""
    (tmp_path / "readings.jsonl").write_bytes(data_of(line(ONE)))
    return tmp_path / "readings.jsonl"


def opened(path: File) -> tuple[ReadingsFile, list[Line]]:
    """The file, after its lines were read, and these lines."""
    lines: list[Line] = []
    with ReadingsFile(path, lines.append) as file:
        return file, lines


# A reading without an error is done, also after one that failed; another length, reader, model or
# repeat is not done; other data under the same id is refused.
def test_done(path: File) -> None:
    path.write_bytes(data_of(line(ONE, error="No."), line(ONE), line(TWO, error="No.")))
    file, lines = opened(path)
    others = {"length": "64k", "reader": "golden", "model": "a:b", "repeat": 1, "dataset": "d"}

    assert len(lines) == 3
    assert file.is_done(ONE, "Who?")
    assert not file.is_done(TWO, "Who?")
    for name, value in others.items():
        assert not file.is_done(replace(ONE, **{name: value}), "Who?")
    with pytest.raises(UsageError, match="another question, text or right answer of the id q1"):
        file.is_done(ONE, "When?")


# A file of something else is named with its line, and not changed.
def test_foreign_file(path: File) -> None:
    path.write_bytes(data_of(line(ONE)) + b'{"id": "q1"}\n' + data_of(line(TWO)))
    before = path.read_bytes()

    with pytest.raises(UsageError, match="line 2: this is no line of an evaluation"):
        opened(path)

    assert path.read_bytes() == before


# A line is on the disk, in UTF-8, as soon as it is appended. A reading that a rater did not rate is
# unrated until a later line has its rating.
def test_append(path: File) -> None:
    path.write_bytes(data_of(line(ONE, unrated={}), line(TWO)))
    with ReadingsFile(path, lambda line: None) as file:
        unrated = dict(file.unrated)
        file.append(line(ONE, "谁?", unrated=None))
        data = path.read_bytes()

    assert unrated == {ONE: line(ONE, unrated={})}
    assert not file.unrated
    assert not opened(path)[0].unrated
    assert json.loads(data.splitlines()[2]) == line(ONE, "谁?", unrated=None)
    assert "谁".encode() in data
    assert data.endswith(b"\n")


# Readings whose run.json is missing, broken or of something else are not continued.
@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (None, r"has readings but no run\.json"),
        *((run, "not the file of an evaluation: name another") for run in ("{", "[]", '{"a": 1}')),
    ],
)
def test_foreign_run(path: File, run: str | None, sentence: str) -> None:
    if run is not None:
        (path.parent / "run.json").write_text(run)

    with ResultsFolder(path.parent) as folder, pytest.raises(UsageError, match=sentence):
        folder.check({})


# Another value than that of an earlier run is refused by name; a new one holds from then on.
def test_fixed_values(tmp_path: File) -> None:
    with ResultsFolder(tmp_path) as folder:
        folder.check({"seed": 0, "rater": None})
        folder.record_run({"seed": 0, "rater": None}, {"command": "one"})
        folder.check({"seed": 0, "rater": None, "model b": "y"})
        folder.record_run({"seed": 0, "model b": "y"}, {"command": "two"})
        with pytest.raises(UsageError, match='begun with rater null, not "openai:x"'):
            folder.check({"seed": 0, "rater": "openai:x"})
        with pytest.raises(UsageError, match='begun with model b "y", not "z"'):
            folder.check({"model b": "z"})

    assert json.loads((tmp_path / "run.json").read_text()) == {
        "fixed": {"seed": 0, "rater": None, "model b": "y"},
        "command": "two",
        "commands": ["one", "two"],
    }
