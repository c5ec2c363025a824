"""Rows of a dataset that the `datasets` library knows: "hf:OWNER/NAME/CONFIGURATION@SPLIT"."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.rows import Row

PREFIX = "hf:"
_SPLITS = ("test", "validation", "valid", "dev", "train")


def rows(source: str) -> Iterator[Row]:
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
