"""A data file, a folder of them, or the name of a dataset becomes records.

Rows of a dataset that the `datasets` library knows: "hf:OWNER/NAME/CONFIGURATION@SPLIT".
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets import formats, narrativeqa, own
from graphreader.evaluation.datasets import record as record_module
from graphreader.evaluation.datasets.record import Record, Row, preset_limit

PREFIX = "hf:"
_SPLITS = ("test", "validation", "valid", "dev", "train")


def hub_rows(source: str) -> Iterator[Row]:
    """The rows of "hf:THUDM/LongBench/hotpotqa"; the split is test, else validation, else train.

    Raises DatasetError where the package is missing, there is no network, or the dataset is not as
    the library wants it: newer versions of it refuse datasets that are a program.
    """
    path, _, split = source.removeprefix(PREFIX).partition("@")
    owner, name, *configuration = [*path.split("/"), ""]
    if not owner or not name or len(configuration) > 2:
        raise DatasetError(f'"{source}" must be like "hf:OWNER/NAME/CONFIGURATION" or with @SPLIT.')
    loaded = _loaded(source, f"{owner}/{name}", configuration[0] or None)
    split = split or next((known for known in _SPLITS if known in loaded), "")
    if split not in loaded:
        splits = ", ".join(loaded) or "none"
        raise DatasetError(f'"{source}" has no split "{split}"; it has: {splits}.')
    called = configuration[0] or name
    for number, values in enumerate(loaded[split], 1):
        yield Row(dict(values), f"{source}, record {number}", called)


def _loaded(source: str, path: str, configuration: str | None) -> Any:
    try:
        load_dataset = import_module("datasets").load_dataset
    except (ImportError, AttributeError):  # a folder of that name is a module, too
        raise DatasetError(f'"{source}" needs a further package: pip install datasets.') from None
    try:
        return load_dataset(path, configuration)
    except Exception as error:  # the library lets through whatever its many parts raise
        told = str(error).strip().split("\n", 1)[0] or type(error).__name__
        raise DatasetError(
            f'"{source}" cannot be loaded ({told}). Without a network, or where the library '
            "refuses it, download its files and give their path."
        ) from error


SAMPLES = Path(__file__).parents[1] / "samples"
"""The few records that come with the program; ATTRIBUTION.md there says whose they are."""


@dataclass(frozen=True, slots=True)
class _Format:
    """How rows of one published format are known, and what they become."""

    name: str
    fits: Callable[[Mapping[str, Any]], bool]
    records: Callable[[Iterable[Row]], Iterator[Record]]


_FORMATS = (
    _Format("our own schema", own.fits, own.records),
    _Format("LV-Eval", formats.is_lv_eval, formats.lv_eval_records),
    _Format("LongBench", formats.is_longbench, formats.longbench_records),
    _Format("MuSiQue", formats.is_musique, formats.musique_records),
    _Format("HotpotQA and 2WikiMultihopQA", formats.is_hotpotqa, formats.hotpotqa_records),
    _Format("QuALITY", formats.is_quality, formats.quality_records),
    _Format("QMSum", formats.is_qmsum, formats.qmsum_records),
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
    if str(source).startswith(PREFIX):
        return []
    path = _path(source)
    if narrativeqa.is_folder(path):
        return [path]
    return record_module.data_files(path, also=formats.is_published)


def _tables(source: str | Path) -> Iterator[tuple[str, Iterator[Record]]]:
    """What a source consists of: names for people, and records that are read as they are taken."""
    if str(source).startswith(PREFIX):
        yield str(source), _records(str(source), hub_rows(str(source)))
        return
    for path in data_files(source):
        if narrativeqa.is_folder(path):
            yield str(path), narrativeqa.read(path)
        else:
            yield path.name, _records(path.name, record_module.read(path))


def _path(source: str | Path) -> Path:
    path = Path(source).expanduser()
    first, *rest = path.parts or ("",)
    if path.exists() or first != SAMPLES.name or len(rest) > 1:
        return path
    if not rest:
        return SAMPLES
    named = {sample.stem: sample for sample in record_module.data_files(SAMPLES)}
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
