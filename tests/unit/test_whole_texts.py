"""The questions about whole texts of `benchmarks/whole_texts` and their proofs."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graphreader.evaluation.datasets.load import load
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.metrics.lists import item_counts, states_count

FOLDER = Path(__file__).parents[2] / "benchmarks" / "whole_texts"
KINDS = {
    **{"list": 18, "count": 12, "comparison": 6, "order": 6},
    **{"contradiction": 6, "theme": 6, "absent": 6},
}


def text_of(record: Record) -> str:
    return record.id.split("-")[0]


def proofs(record: Record) -> list[str]:
    return [place.sentence for place in record.supporting]


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return load(FOLDER)


# Sixty questions, half of them for tuning, ten about each of six texts, two of them Chinese.
def test_questions(records: list[Record]) -> None:
    halves = [load(FOLDER / name) for name in ("dev.jsonl", "test.jsonl")]

    assert [Counter(map(text_of, half)) for half in halves] == [
        Counter(dict.fromkeys(("alice", "factbook", "lincoln", "lunyu", "macbeth", "nahan"), 5))
    ] * 2
    assert Counter(record.kind for record in records) == KINDS
    assert len({record.id for record in records}) == 60
    assert {text_of(one) for one in records if one.language == "zh"} == {"lunyu", "nahan"}


# Each proof stands in its text. A question has an answer and a proof, or neither.
def test_proofs(records: list[Record]) -> None:
    for record in records:
        for place in record.supporting:
            assert place.sentence
            assert place.sentence in record.documents[place.document].text, record.id
        assert bool(record.answers) == bool(proofs(record)) == record.answerable, record.id
        assert record.answerable != (record.kind == "absent"), record.id


# The reference answer of a list names each of its items, in the order if that counts, and that of
# a count has its number.
def test_reference_answers(records: list[Record]) -> None:
    for one in records:
        if one.items:
            counts = item_counts(one.answers[0], one.items, one.language, ordered=one.ordered)
            assert counts.found == counts.gold, one.id
        if one.count is not None:
            assert states_count(one.answers[0], one.count, one.question), one.id


# A planted contradiction stands in the copy and not in the original, which has another reading.
def test_planted(records: list[Record]) -> None:
    planted = [one for one in records if one.kind == "contradiction"]

    for one in planted:
        copy = len(one.documents) - 1
        quotes = [place.sentence for place in one.supporting if place.document == copy]
        assert len(quotes) == len(one.items) >= 4, one.id
        for place in one.supporting:
            is_copy = place.document == copy
            others = one.documents[:copy] if is_copy else one.documents[copy:]
            assert not any(place.sentence in other.text for other in others), place.sentence


# Counts that a script can take from the texts agree with the answers.
def test_counts_by_script(records: list[Record]) -> None:
    counts = {one.id: one.count for one in records if one.count is not None}
    alice = (FOLDER / "texts" / "alice.txt").read_text("utf-8").split("CHAPTER ")[1:]
    macbeth = (FOLDER / "texts" / "macbeth.txt").read_text("utf-8")
    books = (FOLDER / "texts" / "lunyu.txt").read_text("utf-8").split("篇\n")[1:]
    messages = [one.read_text("utf-8") for one in (FOLDER / "texts").glob("lincoln_186?.txt")]

    assert len(alice) == 12
    assert counts["alice-count-1"] == sum("Dinah" in one for one in alice)
    assert counts["alice-count-2"] == sum("Hatter" in one for one in alice)
    assert counts["macbeth-count-1"] == macbeth.count("\nSCENE ")
    assert counts["lincoln-count-1"] == sum("Liberia" in one for one in messages)
    assert counts["lincoln-count-2"] == sum("Costa Rica" in one for one in messages)
    assert len(books) == 20
    assert counts["lunyu-count-2"] == sum("子夏" in one for one in books)
    assert counts["factbook-count-2"] == sum("unicameral" in one for one in profiles())
    assert counts["factbook-count-1"] == sum("compulsory" in suffrage(one) for one in profiles())


def profiles() -> list[str]:
    files = (FOLDER / "texts").glob("factbook_*.txt")
    return [one.read_text("utf-8") for one in files if not one.stem.endswith("copy")]


def suffrage(profile: str) -> str:
    return next(line for line in profile.split("\n") if line.startswith("Suffrage"))


# Texts that a question names are shipped, all of them, and together they are small.
def test_texts() -> None:
    named = set[str]()
    for name in ("dev.jsonl", "test.jsonl"):
        for line in (FOLDER / name).read_text("utf-8").splitlines():
            row: dict[str, Any] = json.loads(line)
            named |= {one["text_file"] for one in row["documents"]}
    files = list((FOLDER / "texts").iterdir())

    assert named == {f"texts/{one.name}" for one in files}
    assert sum(one.stat().st_size for one in files) < 1_000_000
