"""HotpotQA and 2WikiMultihopQA, as published (github.com: hotpotqa/hotpot, Alab-NII/2wikimultihop).

`{"_id", "question", "answer", "type", "level", "context": [[title, [sentence, ...]], ...],
"supporting_facts": [[title, number of the sentence], ...]}`; 2WikiMultihopQA adds `evidences`.
Copies of the `datasets` library have `id`, and dicts of lists in the place of lists of pairs.

Some supporting facts point past a paragraph's sentences: they name the paragraph only. Where one
names no paragraph of the context (HotpotQA's fullwiki setting) nothing is said of evidence.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphreader.evaluation.datasets.records import Record, SourceText, Supporting
from graphreader.evaluation.datasets.rows import Row, distinct

_OF_2WIKI = {"compositional", "inference", "bridge_comparison"}


def fits(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return {"question", "context", "supporting_facts"} <= values.keys()


def records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. Raises DatasetError for test splits, which have no answers."""
    for row in rows:
        kind = row.written("type")
        is_2wiki = "evidences" in row.values or kind in _OF_2WIKI
        dataset = "2wikimultihopqa" if is_2wiki else "hotpotqa"
        if not row.written("answer"):
            raise row.wrong('"answer" is missing: take a split with answers, such as dev.')
        paragraphs = _pairs(row, "context", "sentences")
        supporting = _supporting(row, paragraphs)
        yield Record(
            id=f"{dataset}-{row.name_of('_id', 'id')}",
            dataset=dataset,
            question=row.text("question"),
            answers=distinct([row.written("answer")]),
            documents=tuple(SourceText(title, _joined(said)) for title, said in paragraphs),
            supporting=supporting,
            kind=kind,
            hops=len({place.document for place in supporting}),
        )


def _supporting(row: Row, paragraphs: list[tuple[str, Any]]) -> tuple[Supporting, ...]:
    found = []
    titles = [title for title, _ in paragraphs]
    for title, number in _pairs(row, "supporting_facts", "sent_id"):
        if title not in titles:
            return ()
        document = titles.index(title)
        said = paragraphs[document][1]
        known = isinstance(number, int) and 0 <= number < len(said)
        found.append(Supporting(document, said[number].strip() if known else ""))
    return tuple(dict.fromkeys(found))


def _pairs(row: Row, key: str, second: str) -> list[tuple[str, Any]]:
    """The pairs of a title and something, written as lists of two or as a dict of two lists."""
    value = row.values.get(key)
    if isinstance(value, Mapping):
        columns = row.row(key)
        value = list(zip(columns.listed("title"), columns.listed(second), strict=False))
    if not isinstance(value, list) or not all(_is_pair(pair) for pair in value):
        raise row.wrong(f'"{key}" must be a list of pairs of a title and {second}.')
    for title, other in value:
        if second == "sentences" and not _is_sentences(other):
            raise row.wrong(f'"{key}" must give a list of sentences for "{title}".')
    return [(title, other) for title, other in value]


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str)


def _is_sentences(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(sentence, str) for sentence in value)


def _joined(sentences: list[str]) -> str:
    """The paragraph of sentences: HotpotQA writes them with the space between, 2Wiki without."""
    text = ""
    for sentence in sentences:
        space = "" if not text or text[-1].isspace() or sentence[:1].isspace() else " "
        text += space + sentence
    return text.strip()
