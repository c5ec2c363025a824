"""Loads the records of a data file, a folder, a sample of the package, or a dataset of the hub.

`_FORMATS` is the table of known formats. "hf:OWNER/NAME/CONFIGURATION@SPLIT" names a dataset that
the `datasets` library downloads.
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
from graphreader.evaluation.datasets.record import (
    Record,
    Row,
    files_of,
    preset_limit,
    read_rows,
)

PREFIX = "hf:"
_SPLITS = ("test", "validation", "valid", "dev", "train")


def hub_rows(source: str) -> Iterator[Row]:
    """The rows of a dataset of the hub, such as "hf:THUDM/LongBench/hotpotqa".

    Without "@SPLIT" the split is test, else validation, else train. Raises DatasetError if the
    package is missing, there is no network, or the library refuses the dataset, as newer versions
    do with datasets that are a program.
    """
    path, _, split = source.removeprefix(PREFIX).partition("@")
    owner, name, *configuration = [*path.split("/"), ""]
    if not owner or not name or len(configuration) > 2:
        raise DatasetError(f'"{source}" must be like "hf:OWNER/NAME/CONFIGURATION" or with @SPLIT.')
    loaded = _load_from_hub(source, f"{owner}/{name}", configuration[0] or None)
    split = split or next((known for known in _SPLITS if known in loaded), "")
    if split not in loaded:
        splits = ", ".join(loaded) or "none"
        raise DatasetError(f'"{source}" has no split "{split}"; it has: {splits}.')
    title = configuration[0] or name
    for number, values in enumerate(loaded[split], 1):
        yield Row(dict(values), f"{source}, record {number}", title)


def _load_from_hub(source: str, path: str, configuration: str | None) -> Any:
    try:
        load_dataset = import_module("datasets").load_dataset
    except (ImportError, AttributeError):  # a folder named "datasets" is a module, too
        raise DatasetError(f'"{source}" needs a further package: pip install datasets.') from None
    try:
        return load_dataset(path, configuration)
    except Exception as error:  # the library raises errors of its many parts
        reason = str(error).strip().split("\n", 1)[0] or type(error).__name__
        raise DatasetError(
            f'"{source}" cannot be loaded ({reason}). Without a network, or where the library '
            "refuses it, download its files and give their path."
        ) from error


SAMPLES = Path(__file__).parents[1] / "samples"
"""The records that the package contains; ATTRIBUTION.md there names their sources."""


@dataclass(frozen=True, slots=True)
class _Format:
    """A format of rows: its name, how the first row is recognized, and what reads the rows."""

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
    "hf:OWNER/NAME/CONFIGURATION", or "samples" and "samples/NAME", the records of the package,
    unless a path has such a name.

    `limit` and a preset (see `preset_limit`) keep the first records of each dataset and length; the
    smaller number counts. A file is read until it has enough records of every dataset that came up
    in it. Raises DatasetError, which names file and line.
    """
    kept: list[Record] = []
    counts: Counter[tuple[str, str]] = Counter()
    ids: set[tuple[str, str, str]] = set()
    for name, records in _record_streams(source):
        incomplete: dict[tuple[str, str], bool] = {}
        for record in records:
            group = (record.dataset, record.length)
            most = _least(limit, preset_limit(record.dataset, preset))
            incomplete[group] = counts[group] != most
            if not any(incomplete.values()):
                break
            if not incomplete[group]:
                continue
            if (*group, record.id) in ids:
                raise DatasetError(f'{name}: the id "{record.id}" comes twice at one length.')
            ids.add((*group, record.id))
            counts[group] += 1
            kept.append(record)
    if not kept and limit != 0:
        raise DatasetError(f"{source} has no records.")
    return kept


def data_files(source: str | Path) -> list[Path]:
    """The files, or NarrativeQA's folder, that `load` reads for a source; none for "hf:..."."""
    if str(source).startswith(PREFIX):
        return []
    path = _source_path(source)
    if narrativeqa.is_folder(path):
        return [path]
    return files_of(path, formats.is_quality_file)


def _record_streams(source: str | Path) -> Iterator[tuple[str, Iterator[Record]]]:
    """The parts of a source: the name of each, and its records, which are read one by one."""
    if str(source).startswith(PREFIX):
        yield str(source), _records(str(source), hub_rows(str(source)))
        return
    for path in data_files(source):
        if narrativeqa.is_folder(path):
            yield str(path), narrativeqa.read_folder(path)
        else:
            yield path.name, _records(path.name, read_rows(path))


def _source_path(source: str | Path) -> Path:
    """The path of a source, or that of a sample."""
    path = Path(source).expanduser()
    first, *rest = path.parts or ("",)
    if path.exists() or first != SAMPLES.name or len(rest) > 1:
        return path
    if not rest:
        return SAMPLES
    named = {sample.stem: sample for sample in files_of(SAMPLES)}
    name = rest[0].removesuffix(".jsonl")
    if name not in named:
        raise DatasetError(f'There is no sample "{name}"; there are: {", ".join(named)}.')
    return named[name]


def _records(name: str, rows: Iterator[Row]) -> Iterator[Record]:
    """The records of rows, read by the first format that fits their first row."""
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
