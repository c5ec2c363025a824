"""`ingest --prune` and `ingest --watch`: a corpus that keeps in step with folders."""

import os
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphreader.cli.console import (
    confirm_or_exit,
    duration,
    plural,
    print_error,
    print_json,
    print_progress,
    print_words,
    single_line,
)
from graphreader.cli.startup import STDIN
from graphreader.errors import BudgetError, GraphReaderError, SettingsError, UsageError

if TYPE_CHECKING:
    from graphreader.graph_reader import GraphReader
    from graphreader.ingestion.loading.sources import Source
    from graphreader.llm.protocols import SharedBudget
    from graphreader.store.catalog import DocumentSummary

INTERVAL = 2.0  # seconds between two looks at a folder
_LOOK_SHARE = 0.1  # the largest share of the time in which a watch looks: of large folders rarely
_LONGEST_PAUSE = 300.0  # seconds until a failed round is tried again
_LISTED_GONE = 20

Stamp = tuple[int, int, int]
"""The size of a file, its time of change in nanoseconds, its number in the file system."""


class FolderChanges:
    """The files of folders that are new, changed or gone since they were last `taken`.

    A file counts once it is quiet: two looks find it the same, or find it gone.
    """

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = {str(Path(one)) for one in folders}
        self._taken: dict[str, Stamp] = {}
        self._last: dict[str, Stamp] = {}

    def look(self, sources: "Iterable[Source]") -> "tuple[list[Source], set[str]]":
        """Return the changed sources among all that the folders have now, and the gone files."""
        found: dict[str, tuple[Source, Stamp]] = {}
        for one in sources:
            if one.name not in self._folders and (stamp := _stamp(one.name)):
                found[one.name] = one, stamp
        changed = [
            source
            for name, (source, stamp) in found.items()
            if self._last.get(name) == stamp != self._taken.get(name)
        ]
        gone = self._taken.keys() - found.keys() - self._last.keys()
        self._last = {name: stamp for name, (_, stamp) in found.items()}
        return changed, gone

    def take(self, changed: "Iterable[Source]", gone: Iterable[str]) -> None:
        """Count what the last look returned as known."""
        self._taken |= {one.name: self._last[one.name] for one in changed}
        for name in gone:
            del self._taken[name]


def _stamp(name: str) -> Stamp | None:
    """The stamp of a file; None if it is gone. Folders are sources that give only a reason."""
    try:
        status = os.stat(name)
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return 0, 0, status.st_ino
    return status.st_size, status.st_mtime_ns, status.st_ino


def folders_among(paths: Sequence[str], *, watch: bool) -> list[str]:
    """The folders among paths, which a watch takes alone. Raises UsageError without a folder."""
    from graphreader.ingestion.loading.web import is_address

    option = "--watch" if watch else "--prune"
    folders = [one for one in paths if os.path.isdir(one)]
    others = [one for one in paths if not os.path.isdir(one)]
    missing = [
        one
        for one in others
        if watch or not (one == STDIN or os.path.exists(one) or is_address(one))
    ]
    if not folders or missing:
        raise UsageError(
            f"{option} keeps a corpus in step with folders, and {(missing or others)[0]} is none, "
            "or is missing."
        )
    return folders


def confirm_pruning(
    reader: "GraphReader", folders: Sequence[str], patterns: Mapping[str, Any], *, yes: bool
) -> frozenset[str]:
    """List the documents whose files are gone, and ask; return the ids of those to delete.

    Without consent the command ends.
    """
    gone = reader.prune(*folders, **patterns, dry_run=True)
    print_gone(gone)
    if gone:
        count = plural(len(gone), "document whose file is", "documents whose files are")
        question = f"Delete {count} gone from the corpus {reader.corpus!r}?"
        confirm_or_exit(question, yes, "Nothing was read or deleted.")
    return frozenset(one.id for one in gone)


def print_gone(documents: "Sequence[DocumentSummary]") -> None:
    """List documents whose files are gone on stderr."""
    for one in documents[:_LISTED_GONE]:
        print_error(single_line(f"No file: {one.title}  {one.source}"))
    if len(documents) > _LISTED_GONE:
        print_error(f"... and {len(documents) - _LISTED_GONE:,} more.")


def print_pruned(corpus: str, documents: "Sequence[DocumentSummary]") -> None:
    """Print how many documents were deleted."""
    count = plural(len(documents), "document")
    print_words(f"{corpus}: {count} without a file deleted.")


def follow(
    reader: "GraphReader",
    folders: Sequence[str],
    options: Mapping[str, Any],
    read: "Callable[[GraphReader, Sequence[Source]], None]",
    *,
    interval: float,
    max_calls: int | None,
    max_tokens: int | None,
    prune: bool,
    yes: bool,
    json: bool,
) -> None:
    """Look at folders again and again, and `read` what has changed, until an interrupt.

    `options` are those of `sources_of`. A round that fails is tried again, later each time. Raises
    UsageError if a model has no limit, BudgetError once the limit of the watch is reached.
    """
    from graphreader.ingestion.loading.sources import sources_of

    budget = _budget_of(reader, max_calls, max_tokens)
    reader = reader.at(reader.corpus, budget)
    if prune:
        question = (
            f"Delete documents of the corpus {reader.corpus!r} whenever their files are gone, "
            "without another question?"
        )
        confirm_or_exit(question, yes, "Nothing was read or deleted.")
    changes, pause, is_due = FolderChanges(folders), interval, prune
    print_progress(f"Watching {', '.join(folders)}. Ctrl-C ends it.")
    while True:
        began = time.monotonic()
        try:
            changed, gone = changes.look(sources_of(folders, **options))
            looked = time.monotonic() - began
            if changed or gone or is_due:
                _round(reader, folders, options, read, changed, gone, prune=prune, json=json)
                is_due = False
                if budget.refused:
                    raise budget.refused
                sys.stdout.flush()  # whoever reads a pipe or a file waits for each round
            changes.take(changed, gone)
            pause = max(interval, looked / _LOOK_SHARE)
        except (SettingsError, BudgetError):
            raise
        except GraphReaderError as error:
            pause = min(2 * pause, _LONGEST_PAUSE)
            print_error(f"{error} Tried again in {duration(pause)}.")
        time.sleep(pause)


def _budget_of(
    reader: "GraphReader", max_calls: int | None, max_tokens: int | None
) -> "SharedBudget":
    """The budget of all rounds. Raises UsageError if a model reads without a limit."""
    from graphreader.llm.protocols import Budget, SharedBudget
    from graphreader.settings import OFFLINE

    name = reader.resources.models.builder_name
    if name != OFFLINE and max_calls is max_tokens is None:
        raise UsageError(
            f"--watch lets {name} read whatever changes: limit the whole watch with --max-calls N "
            "or --max-tokens N."
        )
    return SharedBudget(Budget(max_calls, max_tokens))


def _round(
    reader: "GraphReader",
    folders: Sequence[str],
    options: Mapping[str, Any],
    read: "Callable[[GraphReader, Sequence[Source]], None]",
    changed: "Sequence[Source]",
    gone: Collection[str],
    *,
    prune: bool,
    json: bool,
) -> None:
    """Read the changed files, then delete the documents that had no file before."""
    patterns = {name: options[name] for name in ("include", "exclude")}
    missing = frozenset[str]()
    if prune:
        try:
            missing = frozenset(one.id for one in reader.prune(*folders, **patterns, dry_run=True))
        except UsageError as error:
            print_error(str(error))
    elif gone:
        stay = ("file is gone: its document stays", "files are gone: their documents stay")
        print_progress(f"{plural(len(gone), *stay)} (--prune deletes such documents).")
    if changed:
        read(reader, changed)
    if missing:
        documents = reader.prune(*folders, **patterns, among=missing)
        print_gone(documents)
        if json:
            print_json({"corpus": reader.corpus, "pruned": [one.id for one in documents]})
        else:
            print_pruned(reader.corpus, documents)
