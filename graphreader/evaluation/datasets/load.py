"""Loads the records of a data file, a folder, a sample of the package, or a dataset of the hub.

`_FORMATS` is the table of known formats. A data file is JSON Lines or JSON. The name
"hf:OWNER/NAME/CONFIGURATION@SPLIT" is that of a dataset that the `datasets` library downloads.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets import formats
from graphreader.evaluation.datasets.record import Record, Row, own_records, read_error

SAMPLES = Path(__file__).parents[1] / "samples"
"""The records that the package contains; ATTRIBUTION.md there names their sources."""

HUB_PREFIX = "hf:"
_SPLITS = ("test", "validation", "valid", "dev", "train")
_SUFFIXES = (".jsonl", ".json")


def _has(*keys: str) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a row has these keys."""
    return lambda values: values.keys() >= set(keys)


_FORMATS: Mapping[
    str, tuple[Callable[[Mapping[str, Any]], bool], Callable[[Iterable[Row]], Iterator[Record]]]
] = {
    "our own schema": (_has("question", "documents"), own_records),
    "LV-Eval": (formats.is_lv_eval, formats.lv_eval_records),
    "LongBench": (_has("input", "context", "answers"), formats.longbench_records),
    "MuSiQue": (_has("question", "paragraphs"), formats.musique_records),
    "HotpotQA and 2WikiMultihopQA": (
        _has("question", "context", "supporting_facts"),
        formats.hotpotqa_records,
    ),
    "QuALITY": (_has("article", "questions"), formats.quality_records),
    "QMSum": (_has("meeting_transcripts"), formats.qmsum_records),
    "NarrativeQA": (_has("document", "question", "answers"), formats.narrativeqa_records),
}
"""For each format what recognizes the first row of a file, and what reads the rows."""

_PRESETS = {
    # Table 1 and appendix C; table 1's 300 are the sizes of LongBench-E.
    "graphreader-paper": {
        "hotpotwikiqa-mixup": 50,
        "longbench-hotpotqa": 300,
        "longbench-2wikimqa": 300,
        "longbench-musique": 200,
        "longbench-narrativeqa": 200,
        "hotpotqa": 300,
        "2wikimultihopqa": 300,
        "musique": 200,
        "narrativeqa": 200,
    }
}


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
            limits = (limit, preset_limit(record.dataset, preset))
            most = min((one for one in limits if one is not None), default=None)
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


def preset_limit(dataset: str, preset: str = "graphreader-paper") -> int | None:
    """How many records of a dataset a preset takes at each length; None for all of them.

    "graphreader-paper" takes the first 50 of every level of LV-Eval's mixup, and 300, 300, 200 and
    200 of HotpotQA, 2WikiMultihopQA, MuSiQue and NarrativeQA. An empty name takes all.
    """
    if not preset:
        return None
    if preset not in _PRESETS:
        raise DatasetError(f'There is no preset "{preset}"; there is: {", ".join(_PRESETS)}.')
    return _PRESETS[preset].get(dataset)


def data_files(source: str | Path) -> list[Path]:
    """The files, or NarrativeQA's folder, that `load` reads for a source; none for "hf:..."."""
    if str(source).startswith(HUB_PREFIX):
        return []
    path = _source_path(source)
    if path.is_file() or formats.is_narrativeqa_folder(path):
        return [path]
    if not path.is_dir():
        raise DatasetError(f"{path} does not exist: give a data file or a folder of data files.")
    files = sorted(
        one
        for one in path.iterdir()
        if one.suffix.lower() in _SUFFIXES or formats.is_quality_file(one)
    )
    if not files:
        raise DatasetError(f"{path} has no data file (.jsonl or .json).")
    return files


def _source_path(source: str | Path) -> Path:
    """The path of a source, or that of a sample."""
    path = Path(source).expanduser()
    first, *rest = path.parts or ("",)
    if path.exists() or first != SAMPLES.name or len(rest) > 1:
        return path
    if not rest:
        return SAMPLES
    samples = {sample.stem: sample for sample in sorted(SAMPLES.glob("*.jsonl"))}
    name = rest[0].removesuffix(".jsonl")
    if name not in samples:
        raise DatasetError(f'There is no sample "{name}"; there are: {", ".join(samples)}.')
    return samples[name]


def _record_streams(source: str | Path) -> Iterator[tuple[str, Iterator[Record]]]:
    """The parts of a source: the name of each, and its records, which are read one by one."""
    if str(source).startswith(HUB_PREFIX):
        yield str(source), _records(str(source), _hub_rows(str(source)))
        return
    for path in data_files(source):
        if path.is_dir():
            yield str(path), formats.narrativeqa_folder_records(path)
        else:
            yield path.name, _records(path.name, read_rows(path))


def _records(name: str, rows: Iterator[Row]) -> Iterator[Record]:
    """The records of rows, read by the first format that fits their first row."""
    first = next(rows, None)
    if first is None:
        raise DatasetError(f"{name} is empty.")
    for fits, read in _FORMATS.values():
        if fits(first.values):
            return read(chain([first], rows))
    own_keys = ", ".join(list(first.values)[:8]) or "none"
    raise first.wrong(
        f"no known format has just these keys: {own_keys}. Known are {', '.join(_FORMATS)}."
    )


def read_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a file one by one. Raises DatasetError, also in the middle.

    A file is JSON Lines unless its name ends in .json and it is one JSON value: a list of objects,
    an object with such a list as `data`, or one object.
    """
    try:
        if path.suffix.lower() == ".json":
            text = path.read_text(encoding="utf-8-sig")
            if (value := _parse(text, path)) is not None:
                if isinstance(value, dict) and isinstance(value.get("data"), list):
                    value = value["data"]
                for number, one in enumerate(value if isinstance(value, list) else [value], 1):
                    yield _row(one, path, f"record {number}")
                return
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _row(_parse(line, path, number), path, f"line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise read_error(path, error) from None


def _parse(text: str, path: Path, number: int | None = None) -> Any:
    """The JSON value of a line, or without its `number` of a file; None if that is JSON Lines."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if number is None and error.msg == "Extra data":
            return None
        raise DatasetError(
            f"{path.name}, line {number or error.lineno}: is no JSON ({error.msg})."
        ) from None


def _row(value: Any, path: Path, place: str) -> Row:
    where = f"{path.name}, {place}"
    if not isinstance(value, dict):
        raise DatasetError(f"{where}: must be a JSON object.")
    return Row(value, where, path.stem, path.parent)


def _hub_rows(source: str) -> Iterator[Row]:
    """The rows of a dataset of the hub, such as "hf:THUDM/LongBench/hotpotqa".

    Without "@SPLIT" the split is test, else validation, else train. Raises DatasetError if the
    package is missing, there is no network, or the library refuses the dataset, as newer versions
    do with datasets that are a program.
    """
    path, _, split = source.removeprefix(HUB_PREFIX).partition("@")
    owner, name, *configuration = [*path.split("/"), ""]
    if not owner or not name or len(configuration) > 2:
        raise DatasetError(f'"{source}" must be like "hf:OWNER/NAME/CONFIGURATION" or with @SPLIT.')
    try:
        load_dataset = import_module("datasets").load_dataset
    except (ImportError, AttributeError):  # a folder named "datasets" is a module, too
        raise DatasetError(f'"{source}" needs a further package: pip install datasets.') from None
    try:
        dataset = load_dataset(f"{owner}/{name}", configuration[0] or None)
    except Exception as error:  # the library raises errors of its many parts
        reason = str(error).strip().split("\n", 1)[0] or type(error).__name__
        raise DatasetError(
            f'"{source}" cannot be loaded ({reason}). Without a network, or where the library '
            "refuses it, download its files and give their path."
        ) from error
    split = split or next((known for known in _SPLITS if known in dataset), "")
    if split not in dataset:
        splits = ", ".join(dataset) or "none"
        raise DatasetError(f'"{source}" has no split "{split}"; it has: {splits}.')
    for number, values in enumerate(dataset[split], 1):
        yield Row(dict(values), f"{source}, record {number}", configuration[0] or name)
