"""The plan of an evaluation, and what it will cost."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from graphreader.baselines.search_agent import MOST_CALLS
from graphreader.errors import DatasetError, UsageError
from graphreader.estimate import estimate
from graphreader.evaluation.costs import PROMPT, REPLY, Cost, estimate_costs
from graphreader.evaluation.datasets.record import Record, SourceText, Supporting
from graphreader.evaluation.plan import EvaluationPlan, Pool, length_label, lengthened, parse_length
from graphreader.evaluation.results import documents_of
from graphreader.evaluation.runner import Condition
from graphreader.llm.window import BuildingMeasurer
from graphreader.settings import Settings
from graphreader.tokens import count
from tests.unit.test_evaluation_runner import FakeReader, plan_of, write, write_pool

RECORD = Record(
    id="boats-1",
    dataset="boats",
    question="Where was the ferry built?",
    answers=("Oro Bay",),
    documents=(
        SourceText("Ferry", "Ida built the ferry."),
        SourceText("Hill", "The hill is green."),
        SourceText("Ida", "Ida worked in Oro Bay."),
    ),
    supporting=(Supporting(0, "Ida built the ferry."), Supporting(2)),
)
POOL = Pool(
    SourceText(f"Passage {n}", f"Boat {n} sailed on day {n * 7} and carried {n % 5} sheep. " * 3)
    for n in range(300)
)


def tokens(record: Record) -> int:
    return sum(count(document.text) for document in record.documents)


# The context keeps the record's documents, and the evidence points to where they stand now.
def test_evidence() -> None:
    context = lengthened(RECORD, POOL, 500)

    assert set(RECORD.documents) < set(context.documents)
    assert len(set(context.documents)) == len(context.documents)
    evidence = [context.documents[place.document] for place in context.supporting]
    assert evidence == [RECORD.documents[0], RECORD.documents[2]]


# The same seed gives the same context, another one other passages; where the evidence stands
# differs from record to record. The order must not change from one version to the next: kept
# readings name documents by index.
def test_order() -> None:
    first, again = lengthened(RECORD, POOL, 500), lengthened(RECORD, Pool(POOL.texts), 500)
    other = lengthened(RECORD, POOL, 500, seed=1)
    records = [replace(RECORD, id=f"boats-{n}") for n in range(20)]
    places = {lengthened(record, POOL, 2_000).gold_documents for record in records}

    assert first == again
    assert set(first.documents) != set(other.documents)
    assert len(places) > 10
    assert [document.title.removeprefix("Passage ") for document in first.documents] == [
        *("78", "Ferry", "238", "Ida", "297", "166"),
        *("210", "164", "19", "284", "276", "Hill", "197"),
    ]


# Passages that do not fit are skipped, so that hardly anything is missing at any length; still a
# longer context contains a shorter one under the same id.
def test_uneven_passages() -> None:
    uneven = Pool(
        SourceText(f"Passage {n}", f"Boat {n} sailed on day {n * 7}. " * (60 if n % 9 == 0 else 2))
        for n in range(450)
    )
    targets = (2_000, 4_000, 8_000, 16_000, 20_000)
    contexts = [lengthened(RECORD, uneven, target) for target in targets]

    for target, context in zip(targets, contexts, strict=True):
        assert 0.99 * target < tokens(context) <= target
        assert context.length == length_label(target)
    for short, long in pairwise(contexts):
        assert set(short.documents) < set(long.documents)
    assert any(len(one.text) > 1_000 for one in contexts[0].documents)


# No passage that contains an answer is added, whatever its case, punctuation and articles, and even
# if the answer is a part of a word.
@pytest.mark.parametrize(
    ("answer", "text", "fits"),
    [
        ("The Oro", "An ORO of old.", False),
        ("1,200 sheep", "It had 1 200 sheep.", False),
        ("Oro Bay", "Oro is far from any bay.", True),
        ("22", "It sank in 1922.", False),
        ("yes", "Oh yes, they did.", True),
        ("北京", "他出生于北京市。", False),
        ("Beams", "李翰与Beams推出联名作品。", False),
        ("北京", "他去过北方和南京。", True),
    ],
)
def test_passages_with_the_answer(answer: str, text: str, fits: bool) -> None:
    record = Record("1", "d", "Q?", ("Nowhere at all", answer), (SourceText("T", "x"),))

    assert Pool([SourceText("Other", text)]).fitting(record) == ([0] if fits else [])


# A title can contain the answer as well; passages with a title of the evidence, and texts that the
# record has already, are left out too.
def test_passages_left_out() -> None:
    pool = Pool(
        [
            SourceText("Oro Bay", "A place."),
            SourceText("Ida", "Another one of that name."),
            SourceText("Hill", "A hill elsewhere."),
            SourceText("Copy", "The hill is green."),
        ]
    )

    assert pool.fitting(RECORD) == [2]


# A pool is JSON Lines of titles and texts with a digest of them; a wrong line is named.
def test_reading_a_pool(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text('{"title": "A", "text": "b"}\n{"text": "c"}\n', encoding="utf-8")
    pool = Pool.read(path)
    path.write_text('{"title": "A"}\n', encoding="utf-8")

    assert pool.texts == (SourceText("A", "b"), SourceText("", "c"))
    assert pool.digest == Pool(list(pool.texts)).digest != Pool(pool.texts[:1]).digest
    with pytest.raises(DatasetError, match=r'pool\.jsonl, line 1: "text" must be a text'):
        Pool.read(path)


# Lengths are written in tokens or thousands of them, in any case; native is no number.
def test_lengths() -> None:
    assert [parse_length(text) for text in ("16k", "64K", "500", "native", "Native")] == (
        [16_000, 64_000, 500, None, None]
    )
    assert [length_label(tokens) for tokens in (16_000, 500, 1_500)] == ["16k", "500", "1500"]
    for wrong in ("", "0k", "-1k", "1.5k"):
        with pytest.raises(DatasetError, match="is no length: write"):
            parse_length(wrong)


# A record that is longer than a length, or for which the pool has too few passages without its
# answer, is left out with a note; the others are lengthened.
def test_records_left_out(tmp_path: Path) -> None:
    data = Path(write(tmp_path, {"q1": "word " * 150, "q2": "two", "q3": "three"}))
    data.write_text(
        data.read_text().replace('"q3?", "answers": ["Toronto"]', '"q3?", "answers": ["sheep"]')
    )
    plan = plan_of(str(data), lengths=("100",), pool=write_pool(tmp_path / "pool.jsonl"))

    assert [group.records[0].id for group in plan.groups] == ["q2"]
    assert plan.notes == (
        "2 of 3 records of own are left out at 100: they are longer already, or have too small a "
        "pool.",
    )


# The default pool lies in corpus/ beside the data or its folder. A dataset without a pool is asked
# as it is, with a note; the others are lengthened.
@pytest.mark.parametrize("place", [".", ".."])
def test_default_pool(tmp_path: Path, place: str) -> None:
    (tmp_path / "dev").mkdir()
    with_pool = write(tmp_path / "dev", {"q1": "one"}, "a.jsonl")
    corpus = (tmp_path / "dev" / place).resolve() / "corpus"
    corpus.mkdir()
    write_pool(corpus / "a.jsonl")
    without = write(tmp_path / "dev", {"q2": "two"}, "b.jsonl")
    plan = plan_of(without, with_pool, lengths=("native", "100"))

    asked = [(group.records[0].id, group.length) for group in plan.groups]
    assert asked == [("q2", "native"), ("q1", "native"), ("q1", "100")]
    (note,) = plan.notes
    assert "no pool of passages beside" in note
    assert "b.jsonl to make its contexts 100 long, and they are left out: name one" in note


# A record with a length of its own is asked once, if its length or native is selected.
def test_records_with_a_length(tmp_path: Path) -> None:
    row = {"input": "Who?", "context": "Tarn.", "answers": ["Tarn"], "answer_keywords": "Tarn"}
    data = tmp_path / "hotpotwikiqa_mixup_16k.jsonl"
    data.write_text(json.dumps(row))

    for lengths in (("native",), ("16k",), ("16k", "native")):
        assert [group.length for group in plan_of(str(data), lengths=lengths).groups] == ["16k"]
    with pytest.raises(UsageError, match="has one of these lengths"):
        plan_of(str(data), lengths=("32k",))


GOLD = ("Ferry\nBig. Ida Holm built the ferry. It floats.", "Oro Bay\nA long bay.")


def numbered(*passages: str) -> str:
    """A context as LongBench has it."""
    return "\n".join(f"Passage {number}:\n{one}" for number, one in enumerate(passages, 1))


# Records without evidence get that of the originals with the same question and an equal answer,
# by the words of a passage, else by its title and without the sentence; where some of it is
# nowhere, they stay without.
@pytest.mark.parametrize(
    ("question", "answer", "passages", "supporting"),
    [
        (
            *("Who built the ferry, of Oro?", "ida Holm", numbered("Hill\nIt is green.", *GOLD)),
            (Supporting(1, "Ida Holm built the ferry."), Supporting(2)),
        ),
        ("Who built the ferry of Oro?", "Vera", numbered(*GOLD), ()),
        ("Who sank the ferry of Oro?", "Ida Holm", numbered(*GOLD), ()),
        ("Who built the ferry of Oro?", "Ida Holm", numbered(GOLD[1]), ()),
    ],
)
def test_evidence_of_originals(
    tmp_path: Path, question: str, answer: str, passages: str, supporting: tuple[Supporting, ...]
) -> None:
    original = {
        **{"_id": "1", "question": "Who built the ferry of Oro?", "answer": "Ida Holm"},
        "supporting_facts": [["Ferry", 0], ["Oro Bay", 0]],
        "context": [
            ["Ferry", ["Ida Holm built the ferry."]],
            ["Oro Bay", ["Oro Bay has a ferry."]],
        ],
    }
    row = {"_id": "a", "input": question, "answers": [answer], "context": passages}
    evidence, data = tmp_path / "hotpot.json", tmp_path / "hotpotqa_e.jsonl"
    evidence.write_text(json.dumps([original]))
    data.write_text(json.dumps(row))
    plan = plan_of(str(data), evidence=(str(evidence),))

    assert plan.groups[0].records[0].supporting == supporting
    assert plan.notes[0].startswith(f"The evidence of {bool(supporting):d} of 1 records of ")
    assert plan_of(str(data)).groups[0].records[0].supporting == ()


# What cannot be planned is refused in a sentence.
@pytest.mark.parametrize(
    ("times", "selection", "error", "sentence"),
    [
        (1, {"lengths": ("64k",)}, UsageError, r"There is no pool of passages beside .*--pool"),
        (2, {}, UsageError, "twice at the length native: give each question an id"),
        (1, {"lengths": ("far",)}, DatasetError, "is no length"),
    ],
)
def test_refused(
    tmp_path: Path, times: int, selection: Any, error: type[Exception], sentence: str
) -> None:
    data = write(tmp_path, {"q1": "one"})

    with pytest.raises(error, match=sentence):
        plan_of(*[data] * times, **selection)


MODEL = "openai:priced"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A model that costs one dollar for a million tokens sent, and two for a million received."""
    prices = tmp_path / "prices.toml"
    prices.write_text(f'["{MODEL}"]\ninput = 1.0\noutput = 2.0\n')
    return Settings(model=MODEL, embeddings="offline", prices=prices)


@pytest.fixture
def story(tmp_path: Path) -> EvaluationPlan:
    """Two questions about one text of 4,000 tokens, with evidence for the second."""
    text = "\n\n".join(f"Sentence number {n} tells of {n} sheep." for n in range(400))
    return plan_of(write(tmp_path, {"q0": text, "q1": text}, lacks={"q0"}))


async def costs(
    names: list[str], settings: Settings, plan: EvaluationPlan, rater: Settings | None = None
) -> list[Cost]:
    """The costs of all questions to these readers."""
    missing = [(group, len(group.records)) for group in plan.groups]
    conditions = [(Condition(FakeReader(name), settings), missing, []) for name in names]
    return await estimate_costs(conditions, rater)


async def cost(
    name: str, settings: Settings, plan: EvaluationPlan, rater: Settings | None = None
) -> Cost:
    (only,) = await costs([name], settings, plan, rater)
    return only


# A graph is built once for all questions about a text, at what `graphreader estimate` says.
async def test_graphreader(settings: Settings, story: EvaluationPlan) -> None:
    class Source:
        size = 0

        def documents(self, corpus: str) -> Any:
            yield from documents_of(story.groups[0].records[0])

    estimated = await estimate([Source()], "c", BuildingMeasurer.of(settings), settings)
    whole, built = await costs(["graphreader", "graphreader-paper"], settings, story)

    assert estimated.reading.calls > 1
    assert whole.building == estimated.reading
    assert whole.asking == estimated.question.times(2)
    assert whole.questions == 2
    assert not built.building.calls
    assert 0 < whole.asking.calls < built.asking.calls


# A variant costs what it is run with: `graphreader-paper` the same in every configured mode.
async def test_variants(
    settings: Settings, story: EvaluationPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = await cost("graphreader-paper", settings, story)
    limited = settings.model_copy(update={"initial_nodes": 1, "calls": 1})
    monkeypatch.setenv("GRAPHREADER_MODE", "paper")
    as_paper = Settings.read(**settings.model_dump(exclude_unset=True))

    assert (await cost("graphreader", as_paper, story)).asking == paper.asking
    monkeypatch.delenv("GRAPHREADER_MODE")
    for configured in (settings, limited):
        assert await cost("graphreader-paper", configured, story) == paper
        assert (await cost("graphreader", configured, story)).asking.calls < paper.asking.calls


# The whole text is sent with each question, as far as the window holds it.
async def test_full_text(settings: Settings, story: EvaluationPlan) -> None:
    size = story.groups[0].own_tokens
    whole = await cost("full-text", settings, story)
    narrow = settings.model_copy(update={"long_window": 2_000})
    cut = await cost("full-text", narrow, story)

    assert whole.asking.input_tokens == 2 * (size + PROMPT)
    assert whole.asking.dollars == pytest.approx(2e-6 * (size + PROMPT) + 4e-6 * REPLY)
    assert cut.asking.input_tokens == 2 * 2_000
    assert not whole.building.calls


# Pagination may send the text as often as a largest page has the words of a smallest one, and gists
# send it once more; task-aware gists cost with each question.
async def test_read_agent(settings: Settings, story: EvaluationPlan) -> None:
    size = story.groups[0].own_tokens
    names = ("read-agent-s-3", "read-agent-p-3", "read-agent-s-3-task-aware")
    one_by_one, at_once, aware = [await cost(name, settings, story) for name in names]
    building = one_by_one.building
    gists = building.calls // 2  # there are as many pages
    sent = building.input_tokens - building.calls * PROMPT

    assert (one_by_one.asking.calls, at_once.asking.calls) == (2 * 4, 2 * 2)
    assert 600 / 280 + 1 <= sent / size <= 600 / 280 + 1.2
    assert aware.asking.calls == one_by_one.asking.calls + 2 * gists


# Every kind of reader has a cost of its own; offline it is in calls alone.
async def test_other_readers(settings: Settings, story: EvaluationPlan) -> None:
    calls = dict.fromkeys(["rag-bm25-3", "rag-embedding-1", "gistmem-retrieval-1", "gistmem"], 1)
    calls |= {"rag-pages-bm25-2": 1, "chunk-read": 2, "search-agent": MOST_CALLS + 1, "golden": 1}
    calls |= {"lightrag": 2}
    estimated = await costs(list(calls), settings, story)
    offline = await costs(list(calls), Settings(), story)

    assert {one.reader: one.asking.calls // 2 for one in estimated} == calls
    assert all(0 < one.asking.input_tokens < 6_000 * one.asking.calls for one in estimated)
    assert [one.asking.calls for one in offline] == [one.asking.calls for one in estimated]
    assert not any(one.total.input_tokens or one.total.dollars for one in offline)


# Raters are asked about each answer, and about evidence if data names any.
@pytest.mark.parametrize(("name", "calls"), [("golden", (4, 6)), ("graphreader", (4, 8))])
async def test_raters(
    settings: Settings, story: EvaluationPlan, name: str, calls: tuple[int, int]
) -> None:
    (group,) = story.groups
    with_evidence = replace(group, records=tuple(reversed(group.records)))
    estimated = [
        (await cost(name, settings, EvaluationPlan((one,)), rater=settings)).rating.calls
        for one in (group, with_evidence)
    ]

    assert tuple(estimated) == calls


# Readers that build the same graph, or pages and gists, pay for them once; repeats are added up.
async def test_shared_building(settings: Settings, story: EvaluationPlan) -> None:
    names = [
        "graphreader",
        "graphreader-adaptive",
        "graphreader-chunk-500",
        "gistmem",
        "read-agent-p",
    ]
    names += ["graphreader"]
    paid = {one.reader: bool(one.building.calls) for one in await costs(names, settings, story)}
    (twice,) = await costs(["golden", "golden"], settings, story)

    assert [name for name, pays in paid.items() if not pays] == [
        "graphreader-adaptive",
        "read-agent-p",
    ]
    assert (twice.questions, twice.asking.calls) == (4, 4)
