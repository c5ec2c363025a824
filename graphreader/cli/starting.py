"""What a person sees while the embedded Neo4j is fetched and started."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from graphreader.settings import Settings
    from graphreader.store.embedded.process import Phase
    from graphreader.store.embedded.server import RunningServer


_WORDS = {
    "waiting": "Another command is starting Neo4j",
    "downloading": "Downloading Neo4j",
    "preparing": "Preparing Neo4j",
    "starting": "Starting Neo4j (it stays running until `graphreader neo4j stop`)",
}


def start_embedded(settings: "Settings") -> "RunningServer":
    """The running embedded server; what it takes to get there is drawn on stderr.

    A terminal gets a bar and a spinner that go away at the end; anything else a line a phase.
    """
    from rich.console import Console

    from graphreader.store.embedded import server

    with StartDrawing(Console(stderr=True)) as drawing:
        return server.ensure_running(settings, drawing)


class StartDrawing:
    """Draws the phases of a start; give it to `ensure_running` as its progress."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._phase: str | None = None
        self._drawn: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._clear()

    def __call__(self, phase: "Phase", done: int, total: int | None) -> None:
        """Draw how far it is."""
        if phase != self._phase:
            self._clear()
            self._phase = phase
            self._draw(phase, total)
        if self._drawn and self._task is not None and total:
            self._drawn.update(self._task, completed=done)

    def _draw(self, phase: str, total: int | None) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        words = _WORDS[phase]
        if not self._console.is_terminal:
            size = f" ({total // 10**6} MB)" if total else ""
            self._console.print(f"{words}{size} ...", highlight=False)
            return
        bar = (BarColumn(), DownloadColumn()) if total else ()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), *bar, Elapsed())
        self._drawn = Progress(*columns, console=self._console, transient=True)
        self._task = self._drawn.add_task(words, total=total)
        self._drawn.start()

    def _clear(self) -> None:
        if self._drawn:
            self._drawn.stop()
        self._drawn = None
