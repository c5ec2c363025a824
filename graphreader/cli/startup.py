"""Start-up of a command: checks of its input, its settings, its graph and its report."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from graphreader.cli.console import print_error, print_progress
from graphreader.cli.progress import WaitDisplay, spinner
from graphreader.errors import UsageError
from graphreader.waiting import listening

if TYPE_CHECKING:
    from graphreader.agent.run_store import RunSummary
    from graphreader.graph_reader import GraphReader
    from graphreader.reading import Reading
    from graphreader.settings import Settings
    from graphreader.store.connection import Connection
    from graphreader.store.embedded.process import Phase, Progress
    from graphreader.store.embedded.server import RunningServer

STDIN = "-"

_UNUSED_BY_THE_DRIVER = ("numpy", "pandas", "pyarrow")

_PHASES = {
    "waiting": "Another command is starting Neo4j",
    "downloading": "Downloading Neo4j",
    "preparing": "Preparing Neo4j",
    "starting": "Starting Neo4j (it stays running until `graphreader neo4j stop`)",
}


def expand_paths(paths: Sequence[str], name: str | None) -> list[str]:
    """Replace `~` in the paths by the home folder. Raises UsageError for missing files."""
    from graphreader.ingestion.loading.sources import expand_home
    from graphreader.ingestion.loading.web import is_address

    if not paths:
        raise UsageError("Name what to read: files, folders, addresses, or - for stdin.")
    if (STDIN in paths) != bool(name and name.strip()):
        raise UsageError("The text from stdin needs a name: give - and --id NAME together.")
    expanded = expand_home(paths)
    if STDIN in paths:
        check_stdin()
    elif not any(os.path.exists(one) or is_address(one) for one in expanded):
        raise UsageError(f"{', '.join(expanded)}: no such file or folder, check the path.")
    return expanded


def check_stdin() -> None:
    """Raise UsageError if stdin is a terminal, where Ctrl-C would not end the reading."""
    if sys.stdin and sys.stdin.isatty():
        raise UsageError("Nothing is piped in: add a file to the command, as in `< notes.txt`.")


def read_settings(**options: object) -> "Settings":
    """The settings of the environment and of `.env`; `options` override them, unless None."""
    from graphreader.settings import Settings, load_environment, misspelled

    load_environment()
    if names := misspelled():
        print_error(f"Note: no setting is named {', '.join(names)}: check the spelling.")
    return Settings.read(**{name: value for name, value in options.items() if value is not None})


@contextmanager
def open_reader(corpus: str, *, graph: bool = True, **options: object) -> "Iterator[GraphReader]":
    """Open a reader of the corpus; `options` override settings, unless None."""
    settings = read_settings(**options)
    with spinner("Opening the graph"):
        import_driver()
        from graphreader.graph_reader import GraphReader

        reader = GraphReader(corpus, settings=settings)
    if graph and not settings.neo4j_uri:
        start_embedded(settings)
    with reader, listening(WaitDisplay()):
        yield reader


@asynccontextmanager
async def open_database(settings: "Settings") -> "AsyncIterator[Connection]":
    """Open the database and check its schema, without the slow imports of a GraphReader."""
    import_driver()
    from graphreader.store import schema
    from graphreader.store.connection import open_connection

    if not settings.neo4j_uri:
        start_embedded(settings)
    with listening(WaitDisplay()):
        connection = await open_connection(settings)
        try:
            await schema.check(connection)
            yield connection
        finally:
            await connection.aclose()


async def read_runs(settings: "Settings", corpus: str | None = None) -> "list[RunSummary]":
    """The kept runs, read without the slow imports of a GraphReader."""
    from graphreader.agent.run_store import RunStore

    store = RunStore(settings.database_of("runs"))
    try:
        return await store.summaries(corpus)
    finally:
        await store.aclose()


def import_driver() -> None:
    """Import `graphreader.store` while numpy, pandas and pyarrow cannot be imported.

    The driver imports them, where they are installed, only to accept their types as parameters,
    which GraphReader never passes. pandas alone would take half a second of CPU time, a tenth of
    the imports of `ask`.
    """
    hidden = [name for name in _UNUSED_BY_THE_DRIVER if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: not importable
    try:
        import graphreader.store.connection  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]


def start_embedded(settings: "Settings") -> "RunningServer":
    """Start the embedded server, with progress on stderr, unless it runs."""
    import_driver()
    from graphreader.store.embedded import server

    with spinner("Looking for Neo4j") as show:
        return server.ensure_running(settings, start_progress(show))


def start_progress(show: Callable[[str], None] | None = None) -> "Progress":
    """Make a callback that shows the phases of a server's start by `show`, or on stderr."""
    shown: set[str] = set()

    def progress(phase: "Phase", done: int, total: int | None) -> None:
        text = _PHASES[phase] + (f" ({total // 10**6} MB)" if total else "")
        if show:
            show(f"{text}, {100 * done // total} %" if total else text)
        elif phase not in shown:
            shown.add(phase)
            print_progress(f"{text} ...")

    return progress


def check_report(file: str | None) -> None:
    """Raise UsageError, before any cost arises, if no report can be written to the file."""
    if file is not None:
        from graphreader.pages.page import check

        check(file)


def write_report(reader: "GraphReader", reading: "Reading", file: str | None) -> None:
    """Write the report of a reading, if a file is given, and print its path on stderr."""
    if file is not None:
        print_error(f"The report is in {reader.report(reading, file)}")
