"""Two names of one reader: GraphReader in its usual mode is also the reader of that mode."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import Results


def as_one(results: Results) -> Results:
    """The results with each reader under one name, and a note that says so.

    `graphreader` has the mode of the settings. Where that is the paper's, and nothing of it is set
    otherwise, `graphreader-paper` has the very same arguments; their readings of a question are
    two of one reader then.
    """
    named = f"{grouping.DEFAULT}-{_mode(results.run)}"
    readers = {line.reader for line in results.lines}
    if grouping.DEFAULT not in readers or not _mode(results.run):
        return results
    note = f"{grouping.DEFAULT} was asked with the very arguments of {named}"
    if named not in readers:
        return replace(results, notes=(*results.notes, f"{note}: it is that reader."))
    one = {"reader": grouping.DEFAULT}
    lines = (
        line.model_copy(update=one) if line.reader == named else line for line in results.lines
    )
    equal = (
        each.model_copy(update={"against": grouping.DEFAULT}) if each.against == named else each
        for each in results.equal
    )
    note = f"{note}: they are one reader, and its readings of a question are averaged."
    return replace(results, lines=tuple(lines), equal=tuple(equal), notes=(*results.notes, note))


def _mode(run: Mapping[str, Any]) -> str:
    """The mode in which `graphreader` was asked; empty if it is not known, or not all of it."""
    fixed = run.get("fixed")
    told = fixed if isinstance(fixed, dict) else {}
    if told.get("initial_nodes") is not None or told.get("calls") is not None:
        return ""
    return str(told.get("mode") or "")
