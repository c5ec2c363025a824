"""A data file, a folder of them, or the name of a dataset becomes records."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets import (
    hotpotqa,
    hugging_face,
    longbench,
    lv_eval,
    musique,
    narrativeqa,
    ours,
    qmsum,
    quality,
    tables,
)
from graphreader.evaluation.datasets.presets import preset_limit
from graphreader.evaluation.datasets.records import Record
from graphreader.evaluation.datasets.rows import Row

SAMPLES = Path(__file__).parents[1] / "samples"
"""The few records that come with the program; ATTRIBUTION.md there says whose they are."""


@dataclass(frozen=True, slots=True)
class _Format:
    """How rows of one published format are known, and what they become."""

    name: str
    fits: Callable[[Mapping[str, Any]], bool]
    records: Callable[[Iterable[Row]], Iterator[Record]]


_FORMATS = (
    _Format("our own schema", ours.fits, ours.records),
    _Format("LV-Eval", lv_eval.fits, lv_eval.records),
    _Format("LongBench", longbench.fits, longbench.records),
    _Format("MuSiQue", musique.fits, musique.records),
    _Format("HotpotQA and 2WikiMultihopQA", hotpotqa.fits, hotpotqa.records),
    _Format("QuALITY", quality.fits, quality.records),
    _Format("QMSum", qmsum.fits, qmsum.records),
    _Format("NarrativeQA", narrativeqa.fits, narrativeqa.records),
)


def load(source: str | Path, *, limit: int | None = None, preset: str = "") -> list[Record]:
    """The records of a source, in its order; formats are recognized by content.

    A source is a data file, a folder of data files (not of its folders), NarrativeQA's folder,
    "hf:OWNER/NAME/CONFIGURATION", or "samples" and "samples/NAME": records of the program. What
    lies at a path of that name comes first.

    `limit` keeps the first records of each dataset and length, a preset as many as it says (see
    `preset_limit`); the smaller of both counts. A file is read until there are as many of all that
    it held so far, be they one dataset or several. Raises DatasetError, naming file and line.
    """
    kept: list[Record] = []
    counts: Counter[tuple[str, str]] = Counter()
    places: set[tuple[str, str, str]] = set()
    for name, records in _tables(source):
        wanting: dict[tuple[str, str], bool] = {}
        for record in records:
            group = (record.dataset, record.length)
            most = _least(limit, preset_limit(record.dataset, preset))
            wanting[group] = counts[group] != most
            if not any(wanting.values()):
                break
            if not wanting[group]:
                continue
            if (*group, record.id) in places:
                raise DatasetError(f'{name}: the id "{record.id}" comes twice at one length.')
            places.add((*group, record.id))
            counts[group] += 1
            kept.append(record)
    if not kept and limit != 0:
        raise DatasetError(f"{source} has no records.")
    return kept


def data_files(source: str | Path) -> list[Path]:
    """The files that `load` reads for a source, one dataset and length each; none for "hf:..."."""
    if str(source).startswith(hugging_face.PREFIX):
        return []
    path = _path(source)
    if narrativeqa.is_folder(path):
        return [path]
    return tables.data_files(path, also=quality.is_published)


def _tables(source: str | Path) -> Iterator[tuple[str, Iterator[Record]]]:
    """What a source consists of: names for people, and records that are read as they are taken."""
    if str(source).startswith(hugging_face.PREFIX):
        yield str(source), _records(str(source), hugging_face.rows(str(source)))
        return
    for path in data_files(source):
        if narrativeqa.is_folder(path):
            yield str(path), narrativeqa.read(path)
        else:
            yield path.name, _records(path.name, tables.read(path))


def _path(source: str | Path) -> Path:
    path = Path(source).expanduser()
    first, *rest = path.parts or ("",)
    if path.exists() or first != SAMPLES.name or len(rest) > 1:
        return path
    if not rest:
        return SAMPLES
    named = {sample.stem: sample for sample in tables.data_files(SAMPLES)}
    name = rest[0].removesuffix(".jsonl")
    if name not in named:
        raise DatasetError(f'There is no sample "{name}"; there are: {", ".join(named)}.')
    return named[name]


def _records(name: str, rows: Iterator[Row]) -> Iterator[Record]:
    first = next(rows, None)
    if first is None:
        raise DatasetError(f"{name} is empty.")
    for known in _FORMATS:
        if known.fits(first.values):
            return known.records(chain([first], rows))
    keys = ", ".join(list(first.values)[:8]) or "none"
    names = ", ".join(known.name for known in _FORMATS)
    raise first.wrong(f"no known format has just these keys: {keys}. Known are {names}.")


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)
