"""ReadAgent's own tables: compression, pages looked up, and what they bring (its tables 1 to 4)."""

import re
from collections.abc import Callable, Collection, Sequence

from graphreader.evaluation import papers
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import Line
from graphreader.evaluation.tables.measures import (
    Measure,
    average,
    choice,
    lr1,
    lr2,
    measured_by,
    number,
    questions,
    rouge,
    score,
    with_options,
)
from graphreader.evaluation.tables.scores import NO_RATERS
from graphreader.evaluation.tables.table import MODEL, Column, Row, Section, Table, has_printed

_READERS = re.compile(r"^(read-agent|gistmem|rag-pages-bm25|rag-pages-embedding|full-text)")
_OWN = re.compile(r"^(read-agent|gistmem)")
_SETS = ("quality", "narrativeqa", "qmsum")
_SCORES: dict[str, Measure] = {
    "Accuracy": choice,
    "LR-1": lr1,
    "LR-2": lr2,
    "ROUGE-1": rouge("1"),
    "ROUGE-2": rouge("2"),
    "ROUGE-L": rouge("L"),
}


def read_agent(lines: Sequence[Line]) -> Table | None:
    """QuALITY by most pages, NarrativeQA's books and scripts apart, QMSum by P and S.

    Other datasets are shown as well where ReadAgent read them; None where it read nothing.
    """
    kept = [line for line in lines if _READERS.match(line.reader)]
    own = {(line.dataset, line.length) for line in kept if _OWN.match(line.reader)}
    sections = []
    for key, members in grouping.by_set(kept).items():
        if key not in own:
            continue
        for subset, part in sorted(grouping.grouped(members, lambda line: line.subset).items()):
            named = grouping.set_name(*key) + (f", {subset}s" if subset else "")
            kinds = {_kind(line.reader) for line in part} | {"read-agent", "gistmem"}
            rows = (*_rows(part), *_printed(key[0], subset, kinds))
            sections.append(Section(named, rows))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        Column("n", "count"),
        Column("Compression, gists", "percent"),
        Column("Compression, at the question", "percent"),
        Column("Pages looked up", "decimal"),
        *(
            Column(name, "percent", True, NO_RATERS if name.startswith("LR") else "")
            for name in _SCORES
        ),
    )
    notes = ["Compression: words that are saved of those of the text, 1 - shown / whole."]
    if has_printed(sections):
        notes += [f"In italics: {papers.read_agent('source')}.", papers.read_agent("first_version")]
    return Table("read_agent", "ReadAgent's tables", columns, tuple(sections), tuple(notes))


def _rows(lines: Sequence[Line]) -> list[Row]:
    options = with_options(lines)
    return [
        Row.of(
            reader,
            model,
            grouping.window(members[0].window),
            questions(members),
            _mean(members, lambda line: number(line.compression, "gists")),
            _mean(members, lambda line: number(line.compression, "final_query")),
            _mean(members, lambda line: line.pages_looked_up),
            *(
                score(measured_by(name, members, options), measure)
                for name, measure in _SCORES.items()
            ),
            n=questions(members),
        )
        for (reader, model), members in grouping.by_reader(lines).items()
    ]


def _mean(lines: Sequence[Line], told: Callable[[Line], float | None]) -> float | None:
    return average(None if line.error else told(line) for line in lines)


def _kind(reader: str) -> str:
    """What sort of reader it is, without the number of its pages."""
    found = _READERS.match(reader)
    return found[1] if found else ""


def _printed(dataset: str, subset: str, kinds: Collection[str]) -> list[Row]:
    """The paper's rows of ReadAgent itself, and of the other kinds that were asked here."""
    if dataset not in _SETS:
        return []
    told = papers.read_agent(dataset)
    rows = []
    for part, printed in told["parts"].items():
        if part and subset and not part.startswith(subset):
            continue
        for label, reader, *figures in printed:
            if _kind(reader) not in kinds:
                continue
            named = dict(zip(told["columns"], figures, strict=True))
            compressed = papers.share(named["compression"])
            is_gist = label == "GistMem"
            rows.append(
                Row.of(
                    f"paper: {label}" + (f" ({part})" if part else ""),
                    None,
                    None,
                    None,
                    compressed if is_gist else None,
                    compressed,
                    named["pages"],
                    *(papers.share(named.get(name)) for name in _SCORES),
                    paper=True,
                )
            )
    return rows
