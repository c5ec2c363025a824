"""Progress of long commands on stderr: spinners, bars, lines in a log, waits for services."""

import math
import re
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, Task, TaskID, TaskProgressColumn, TextColumn
from rich.spinner import Spinner
from rich.text import Text

from graphreader.cli.console import Quiet, duration, literal_line, print_progress, single_line
from graphreader.waiting import Waiting, listening

_RATE_WINDOW = 300.0  # seconds over which a rate is measured; one item may take a minute
_LOG_SECONDS, _LOG_SHARE = 10.0, 0.05  # the least time, and share of all, between log lines
_LONGEST_SILENCE = 300.0  # the longest time between log lines
_COUNTDOWN = re.compile(r"(?<= in )\d+(?= s$)")  # the seconds at the end of a line about a wait
_LISTED_FAILURES = 5
_WAIT_SECONDS = 3.0  # a wait is printed again if it ends later by more than this
_SAME_SECONDS = 60.0  # the least time until an equal line about a wait is printed again
_ATTEMPT_SECONDS = 3.0  # how long a live display shows a wait beyond its end


class WaitDisplay:
    """A display of waits for services: as `lines` of a live display, else printed on stderr."""

    def __init__(self, *, live: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._live, self._clock = live, clock
        self._waits: dict[str, tuple[str, float]] = {}  # by service: line and end, the latest last
        self._printed: dict[str, float] = {}  # by service: the end of the last printed wait
        self._repeat: dict[str, float] = {}  # by line: the time from which it may be printed again

    def __call__(self, waiting: Waiting) -> None:
        """Show a wait, or end its display if it has no text."""
        now, service, text = self._clock(), waiting.service, waiting.text
        end = now + waiting.seconds
        if self._live:
            self._waits.pop(service, None)
            if text:
                self._waits[service] = text, end if waiting.seconds else math.inf
        elif not text:
            self._printed.pop(service, None)
        elif end > self._printed.get(
            service, -math.inf
        ) + _WAIT_SECONDS and now >= self._repeat.get(same := _COUNTDOWN.sub("", text), now):
            self._printed[service], self._repeat[same] = end, now + _SAME_SECONDS
            print_progress(text)

    @property
    def lines(self) -> list[Text]:
        """The lines of a live display: the latest wait until its next attempt."""
        now = self._clock()
        waits = [one for one in self._waits.values() if one[1] > now - _ATTEMPT_SECONDS]
        if not waits:
            return []
        text, end = waits[-1]
        text = _COUNTDOWN.sub(lambda one: str(min(int(one[0]), max(1, math.ceil(end - now)))), text)
        return [literal_line(text, "yellow")]


@contextmanager
def spinner(text: str) -> Iterator[Callable[[str], None] | None]:
    """Show a spinner on stderr; yield a function that sets its text, None without a terminal."""
    console = Console(stderr=True, highlight=False)
    if Quiet.enabled or not console.is_terminal:
        yield None
        return
    with console.status(text) as status:
        yield status.update


class CommandProgress(Progress, ABC):
    """The progress of a command on stderr: bars and a status in a terminal, lines in a log.

    A log gets a line at most every 10 seconds, after 5 % more or five minutes. Events may come
    from another thread.
    """

    def __init__(
        self,
        command: str,
        *,
        live: bool = True,
        clock: Callable[[], float] = time.monotonic,
        **options: Any,
    ) -> None:
        console = Console(stderr=True, highlight=False)
        # With FORCE_COLOR set, rich takes a file for a terminal: it may get colours, no more.
        self.in_terminal = console.is_interactive and console.file.isatty()
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            console=console,
            transient=True,
            get_time=clock,
            disable=Quiet.enabled or not (live and self.in_terminal),
            **options,
        )
        self._command = command
        self._spinner = Spinner("dots")
        self.wait = WaitDisplay(live=not self.disable, clock=clock)
        self._listening = listening(self.wait)
        self._failures = 0
        self._logged_at = clock()
        self._logged: tuple[str, float] = ("", 0)  # activity and finished items of the last line
        self._samples: dict[
            TaskID, deque[tuple[float, float]]
        ] = {}  # pairs of time and finished items

    @abstractmethod
    def status(self) -> str:
        """The state as text: `12 of 40 answered, 1 failed, 3.2 a minute, about 9 min left`."""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bars, and below them the status and waits."""
        yield from super().get_renderables()
        if self.tasks:  # rich calls this once in its constructor
            self._spinner.update(text=Text(self.status()))
            yield self._spinner
            yield from self.wait.lines

    def __enter__(self) -> Self:
        self._listening.__enter__()
        return super().__enter__()

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        self._listening.__exit__(*raised)

    def new_task(self, name: str, total: float = 0, **options: Any) -> Task:
        """Add a task, and return it."""
        self.add_task(name, total=total, **options)
        task = self.tasks[-1]
        self._rate(task)  # begins to measure
        return task

    def pace(self, task: Task, left: float | None) -> list[str]:
        """List `3.2 a minute` and `about 9 min left` for the items left, if the rate is known."""
        rate = self._rate(task)
        if not rate or not left:
            return []
        return [f"{60 * rate:,.1f} a minute", f"about {duration(left / rate)} left"]

    def _rate(self, task: Task) -> float:
        """Items per second in the last five minutes, waits included; 0 if not known."""
        if not task.total:
            return 0.0
        now = self.get_time()
        samples = self._samples.setdefault(task.id, deque([(now, task.completed)]))
        if now - samples[-1][0] >= 1:
            samples.append((now, task.completed))
        while len(samples) > 1 and samples[1][0] <= now - _RATE_WINDOW:
            samples.popleft()
        began, before = samples[0]
        return (task.completed - before) / (now - began) if now - began >= 1 else 0.0

    def print_line(self, line: Text) -> None:
        """Print a line above the bars; in a log it is not wrapped."""
        self.console.print(line, soft_wrap=not self.in_terminal)

    def print_failure(self, failure: str, output: str) -> None:
        """Print one of the first five failures; further failures stand in the `output` only."""
        self._failures += 1
        if self._failures <= _LISTED_FAILURES:
            self.print_line(Text(single_line(failure), "red"))
        elif self._failures == _LISTED_FAILURES + 1:
            self.print_line(Text(f"... further failures are recorded in the {output} only", "dim"))

    def log_status(self, task: Task, activity: str = "") -> None:
        """Log the status, if enough items or another activity came since the last line."""
        now, total = self.get_time(), task.total or 0
        self._rate(task)
        if Quiet.enabled or not self.disable or now - self._logged_at < _LOG_SECONDS:
            return
        activity_before, done_before = self._logged
        enough = (
            task.completed - done_before >= max(1, _LOG_SHARE * total)
            or now - self._logged_at >= _LONGEST_SILENCE
        )
        if activity != activity_before or (enough and task.completed < total):
            self._logged_at, self._logged = now, (activity, task.completed)
            self.print_line(Text(f"{self._command}: {self.status()}"))


class QuestionProgress(CommandProgress):
    """The progress of a set of questions, whose failures are recorded in the `output`."""

    def __init__(
        self, command: str, name: str, output: str, total: int, completed: int = 0, **options: Any
    ) -> None:
        super().__init__(command, **options)
        self._output = output
        self._logged = ("", completed)
        self._task = self.new_task(name, total, completed=completed)

    @abstractmethod
    def counts(self) -> str:
        """The counts as text: `12 of 40 answered, 1 failed`."""

    def status(self) -> str:
        """The counts, the rate and the time left."""
        return ", ".join([self.counts(), *self.pace(self._task, self._task.remaining)])

    def count(self, failure: str | None = None) -> None:
        """Count one more finished item; `failure` is the reason if it failed."""
        self.advance(self._task.id)
        if failure is not None:
            self.print_failure(failure, self._output)
        self.log_status(self._task)
