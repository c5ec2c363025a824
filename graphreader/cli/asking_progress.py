"""How far the questions of a file are, in a terminal and in a log, and what came of them."""

import time
from collections import deque
from collections.abc import Callable

from rich.console import RenderableType
from rich.spinner import Spinner
from rich.text import Text

from graphreader.cli.living import Living
from graphreader.cli.pace import duration
from graphreader.cli.printing import cost, plural, printable
from graphreader.reading import Reading
from graphreader.usage import Usage

_WINDOW = 100  # answers whose rate is told
_SECONDS, _SHARE = 10.0, 0.05  # so long, and so much of all, between two lines of a log
_FAILURES = 5  # that are told one by one


class AskingTally:
    """Counts answers; `clock` tells seconds. `before` were there when it began."""

    def __init__(
        self, total: int, before: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.total, self.before = total, before
        self.answered = self.untold = self.failed = 0
        self.usage = Usage()
        self.clock = clock
        self._moments = deque([clock()], maxlen=_WINDOW + 1)

    def take(self, outcome: Reading | Exception) -> None:
        """Count one more."""
        self._moments.append(self.clock())
        if isinstance(outcome, Reading):
            self.answered += 1
            self.untold += not outcome.answered
            self.usage += outcome.usage
        else:
            self.failed += 1
            self.usage += getattr(outcome, "spent", Usage())

    @property
    def done(self) -> int:
        """Those that are through."""
        return self.before + self.answered + self.failed

    def line(self) -> str:
        """`12 of 40 answered, 1 failed, 3.2 a minute, about 9 min left`."""
        told = [f"{self.before + self.answered:,} of {self.total:,} answered"]
        told += [f"{self.failed:,} failed"] if self.failed else []
        fresh, seconds = len(self._moments) - 1, self.clock() - self._moments[0]
        left = self.total - self.done
        if fresh and seconds and left:
            told.append(f"{60 * fresh / seconds:,.1f} a minute")
            told.append(f"about {duration(left * seconds / fresh)} left")
        return ", ".join(told)

    def summary(self) -> str:
        """What came of all, and what it cost."""
        told = [f"{self.before + self.answered:,} of {plural(self.total, 'question')} answered"]
        told += [f"{self.before:,} of them before"] if self.before else []
        told += [f"{self.untold:,} not in the texts"] if self.untold else []
        told += [f"{self.failed:,} failed"] if self.failed else []
        spent = self.usage
        cost_ = f" Cost: {cost(spent)}." if spent.tokens or spent.reused else ""
        return f"{', '.join(told)}.{cost_}"


class AskingDrawing(Living):
    """Draws on stderr: a line that lives in a terminal, else one from time to time.

    No line lives where the answers go to the same terminal. The first failures are told, the others
    counted.
    """

    def __init__(self, tally: AskingTally, *, lives: bool = True) -> None:
        # Answers may be printed meanwhile: they are not for this console.
        super().__init__(self, lives=lives, redirect_stdout=False)
        self._tally = tally
        self._spinner = Spinner("dots")
        self._at, self._done = tally.clock(), tally.done

    def take(self, id_: str | int, outcome: Reading | Exception) -> None:
        """Show that one more is through."""
        self._tally.take(outcome)
        if isinstance(outcome, Exception) and self._tally.failed <= _FAILURES:
            self._print(Text(printable(f"{id_}: {outcome}"), "red"))
        if isinstance(outcome, Exception) and self._tally.failed == _FAILURES + 1:
            self._print(Text("... further failures stand in the answers only", "dim"))
        if not self.lives and self._is_due():
            self._at, self._done = self._tally.clock(), self._tally.done
            self._print(Text(f"ask: {self._tally.line()}"))

    def __rich__(self) -> RenderableType:
        self._spinner.update(text=Text(self._tally.line()))
        return self._spinner

    def _is_due(self) -> bool:
        tally = self._tally
        enough = tally.done - self._done >= max(1, _SHARE * tally.total)
        return enough and tally.clock() - self._at >= _SECONDS and tally.done < tally.total

    def _print(self, line: Text) -> None:
        self.console.print(line, soft_wrap=not self.in_terminal)
