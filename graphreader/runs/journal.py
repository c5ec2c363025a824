"""The decisions of a run, written down as they are taken: none is ever paid for twice.

A step is kept only when it is done, and it may have taken several decisions. Those that a run had
taken when it broke off are found here by all that was shown for them, and each serves once.
"""

import json
from collections import defaultdict, deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decided, Decider, Heard
from graphreader.deciding.decisions import Decision
from graphreader.deciding.keeping.keeping import restored
from graphreader.deciding.keeping.reply_cache import key_of
from graphreader.deciding.tasks import Task
from graphreader.errors import DecisionError, RunsError
from graphreader.runs.run_file import RunFile
from graphreader.usage import Usage

D = TypeVar("D", bound=Decision)

_ADD: Final = """
INSERT INTO decisions
(run, number, asked, prompt, shown, given, decision, decider, prompts, usage)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ALL: Final = """
SELECT number, asked, prompt, shown, given, decision, decider, prompts, usage
FROM decisions WHERE run = ? ORDER BY number
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One decision: `given` is what its prompt showed, `decision` its fields, None if none came.

    `asked` names all that there was to show, of which `shown` choices were.
    """

    number: int
    asked: str
    prompt: str
    shown: int
    given: Mapping[str, str]
    decision: Mapping[str, Any] | None
    decider: str
    prompts: str
    usage: Usage


class Journal:
    """The decisions of one run, first those that an earlier part of it took."""

    def __init__(self, file: RunFile, run: str, earlier: list[Entry]) -> None:
        self.spent = sum((one.usage for one in earlier), Usage())
        self._file = file
        self._run = run
        self._number = max((one.number for one in earlier), default=0)
        self._left: dict[str, deque[Entry]] = defaultdict(deque)
        for one in earlier:
            if one.decision is not None:
                self._left[one.asked].append(one)

    @classmethod
    async def of(cls, file: RunFile, run: str) -> "Journal":
        """The journal as it stands. Raises RunsError."""
        return cls(file, run, await entries(file, run))

    def take(self, task: Task[D]) -> Decided[D] | None:
        """The decision that was taken for just this, with what it cost then; each only once."""
        left = self._left.get(_asked(task)) if self._left else None
        while left:
            entry = left.popleft()
            decided = restored(task, entry.shown, entry.decision)
            if decided:
                return Decided(decided.decision, decided.task, entry.usage)
        return None

    async def add(
        self, decider: Decider, asked: Task[D], taken: Decided[D] | DecisionError
    ) -> None:
        """Write down what became of a task; where the file is of no use, the run goes on."""
        task = taken.task if isinstance(taken, Decided) else asked
        decision = taken.decision.model_dump_json() if isinstance(taken, Decided) else None
        usage = taken.usage if isinstance(taken, Decided) else taken.spent
        self._number += 1
        row = (
            self._run,
            self._number,
            _asked(asked),
            task.prompt,
            task.choices,
            json.dumps(dict(task.values()), ensure_ascii=False),
            decision,
            decider.name,
            decider.prompts,
            json.dumps(asdict(usage)),
        )
        with suppress(RunsError):
            await self._file.write(_ADD, row)


class Journaled:
    """A decider whose decisions are written down before they are handed on."""

    def __init__(self, decider: Decider, journal: Journal) -> None:
        self.name = decider.name
        self.prompts = decider.prompts
        self.concurrency = decider.concurrency
        self._decider = decider
        self._journal = journal

    @property
    def notice(self) -> str:
        """What the decider has to say."""
        return self._decider.notice

    async def decide(
        self,
        task: Task[D],
        budget: Budget | None = None,
        heard: Heard | None = None,
    ) -> Decided[D]:
        """The decision of the run's earlier part, else a new one."""
        known = self._journal.take(task)
        if known:
            return known
        try:
            decided = await self._decider.decide(task, budget, heard)
        except DecisionError as error:
            if error.spent.calls:
                await self._journal.add(self._decider, task, error)
            raise
        await self._journal.add(self._decider, task, decided)
        return decided

    def measure(self, task: Task[Any]) -> int:
        """How many tokens the decider's prompt has."""
        return self._decider.measure(task)

    async def aclose(self) -> None:
        """Close the decider."""
        await self._decider.aclose()


async def entries(file: RunFile, run: str) -> list[Entry]:
    """All that was decided in a run, in order. Raises RunsError."""
    return [_entry(row) for row in await file.read(_ALL, (run,))]


def _entry(row: Any) -> Entry:
    number, asked, prompt, shown, given, decision, decider, prompts, usage = row
    return Entry(
        number,
        asked,
        prompt,
        shown,
        json.loads(given),
        json.loads(decision) if decision else None,
        decider,
        prompts,
        Usage(**json.loads(usage)),
    )


def _asked(task: Task[Any]) -> str:
    shown = [part for pair in sorted(task.values().items()) for part in pair]
    return key_of(task.prompt, task.phase, *shown)
