"""Loads the records of a data file, a folder, a sample of the package, or a dataset of the hub.

`_FORMATS` is the table of known formats. A data file is JSON Lines or JSON. The name
"hf:OWNER/NAME/CONFIGURATION@SPLIT" is that of a dataset that the `datasets` library downloads.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets import formats
from graphreader.evaluation.datasets.record import Record, Row, own_records

SAMPLES = Path(__file__).parents[1] / "samples"
"""The records that the package contains; ATTRIBUTION.md there names their sources."""

HUB_PREFIX = "hf:"
_SPLITS = ("test", "validation", "valid", "dev", "train")
_DATA_FILE = re.compile(r".*\.jsonl?|QuALITY\.v[\d.]*htmlstripped\.(train|dev)")

_FORMATS: Mapping[str, tuple[set[str], Callable[[Iterable[Row]], Iterator[Record]]]] = {
    "our own schema": ({"question", "documents"}, own_records),
    "LongBench": ({"input", "context", "answers", "_id"}, formats.longbench_records),
    "LV-Eval": ({"input", "context", "answers"}, formats.lv_eval_records),
    "MuSiQue": ({"question", "paragraphs"}, formats.musique_records),
    "HotpotQA and 2WikiMultihopQA": (
        {"question", "context", "supporting_facts"},
        formats.hotpotqa_records,
    ),
    "QuALITY": ({"article", "questions"}, formats.quality_records),
    "QMSum": ({"meeting_transcripts"}, formats.qmsum_records),
    "NarrativeQA": ({"document", "question", "answers"}, formats.narrativeqa_records),
}
"""For each format the keys that the first row of a file must have, and what reads the rows."""

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
    for records in _record_streams(source):
        is_full: dict[tuple[str, str], bool] = {}
        for record in records:
            group = (record.dataset, record.length)
            limits = (limit, preset_limit(record.dataset, preset))
            most = min((one for one in limits if one is not None), default=None)
            is_full[group] = counts[group] == most
            if all(is_full.values()):
                break
            if not is_full[group]:
                counts[group] += 1
                kept.append(record)
    if not kept:
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
    path = Path(source).expanduser()
    if not path.exists() and path.parts[:1] == (SAMPLES.name,):
        path = SAMPLES.joinpath(*path.parts[1:])
        path = path if path.is_dir() else path.with_suffix(".jsonl")
    if path.is_file() or formats.is_narrativeqa_folder(path):
        return [path]
    if not path.is_dir():
        raise DatasetError(
            f"{path} does not exist: give a data file, a folder of data files, or one of the "
            f"samples ({', '.join(sorted(one.stem for one in SAMPLES.glob('*.jsonl')))})."
        )
    files = sorted(one for one in path.iterdir() if _DATA_FILE.fullmatch(one.name))
    if not files:
        raise DatasetError(f"{path} has no data file (.jsonl or .json).")
    return files


def _record_streams(source: str | Path) -> Iterator[Iterator[Record]]:
    """The records of each part of a source, read one by one."""
    if str(source).startswith(HUB_PREFIX):
        yield _records(str(source), _hub_rows(str(source)))
    for path in data_files(source):
        if path.is_dir():
            yield formats.narrativeqa_folder_records(path)
        else:
            yield _records(path.name, read_rows(path))


def _records(name: str, rows: Iterator[Row]) -> Iterator[Record]:
    """The records of rows, read by the first format whose keys their first row has."""
    first = next(rows, None)
    if first is None:
        raise DatasetError(f"{name} is empty.")
    for keys, read in _FORMATS.values():
        if keys <= first.values.keys():
            return read(chain([first], rows))
    own_keys = ", ".join(list(first.values)[:8]) or "none"
    raise first.wrong(
        f"no known format has just these keys: {own_keys}. Known are {', '.join(_FORMATS)}."
    )


def read_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a file one by one. Raises DatasetError, also in the middle.

    A file is JSON Lines, or in .json a list of objects or one object.
    """
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            if path.suffix == ".json":
                value = json.load(file)
                for one in value if isinstance(value, list) else [value]:
                    number += 1
                    yield _row(one, path, f"record {number}")
            else:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield _row(json.loads(line), path, f"line {number}")
    except json.JSONDecodeError as error:
        place = f"{path.name}, line {number or error.lineno}"
        raise DatasetError(f"{place}: is no JSON ({error.msg}).") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read ({error}).") from None


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
    owner, name, *configuration = [*path.split("/"), "", ""]
    try:
        hub = import_module("datasets")
        dataset = hub.load_dataset(f"{owner}/{name}", configuration[0] or None)
    except Exception as error:  # the library raises errors of its many parts
        reason = str(error).strip().split("\n", 1)[0] or type(error).__name__
        raise DatasetError(
            f'"{source}" cannot be loaded ({reason}). It needs `pip install datasets` and a '
            "network; or download its files and give their path."
        ) from error
    split = split or next((known for known in _SPLITS if known in dataset), "")
    if split not in dataset:
        raise DatasetError(f'"{source}" has no split "{split}"; it has: {", ".join(dataset)}.')
    for number, values in enumerate(dataset[split], 1):
        yield Row(dict(values), f"{source}, record {number}", configuration[0] or name)
