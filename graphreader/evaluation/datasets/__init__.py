"""Published question sets as records; `load` reads them all."""

from graphreader.evaluation.datasets.loading import data_files, load
from graphreader.evaluation.datasets.presets import PRESETS, preset_limit
from graphreader.evaluation.datasets.records import Record, SourceText, Supporting
from graphreader.evaluation.datasets.sizes import Statistics, statistics

__all__ = [
    "PRESETS",
    "Record",
    "SourceText",
    "Statistics",
    "Supporting",
    "data_files",
    "load",
    "preset_limit",
    "statistics",
]
