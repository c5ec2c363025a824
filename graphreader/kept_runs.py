"""The runs that are kept: listed, shown, taken out, exported. No database is opened for it."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from graphreader.agent.events import Event, as_plain
from graphreader.agent.graph import build_agent
from graphreader.agent.parts import Parts
from graphreader.agent.resuming import Thread, beginnings, known
from graphreader.agent.retelling import retold, retold_from
from graphreader.deciding.prompting import Prompts
from graphreader.errors import UsageError
from graphreader.reading import Reading
from graphreader.runs.keeper import forget
from graphreader.runs.register import RunSummary
from graphreader.runs.training import TrainingReport, training_lines
from graphreader.session import Session


@dataclass(frozen=True, slots=True)
class KeptRun:
    """All that is known of a run.

    `events` tell what has happened, as to one who watches; `reading` is what came of it, None while
    it has no answer. `steps` are those before which it can be begun again, by their numbers.
    """

    summary: RunSummary
    events: tuple[Event, ...]
    reading: Reading | None
    steps: Mapping[int, str]

    def as_dict(self) -> Mapping[str, Any]:
        """Plain JSON types."""
        return {
            **asdict(self.summary),
            "steps": {str(number): name for number, name in self.steps.items()},
            "events": [as_plain(one) for one in self.events],
            "reading": self.reading.as_dict() if self.reading else None,
        }


class KeptRuns:
    """What can be done with kept runs beside going on with them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def summaries(self, corpus: str | None = None) -> list[RunSummary]:
        """The runs, of one corpus or of all, newest first."""
        register = self._session.register
        return await register.summaries(corpus) if register else []

    async def show(self, run: str) -> KeptRun:
        """The run whose id is, or alone begins with, `run`. Raises UnknownRunError."""
        record = await self._session.kept.get(run)
        saver = await self._session.saver()
        events: Iterable[Event] = ()
        steps: Mapping[int, str] = {}
        if saver:
            # An agent that only remembers: it looks nowhere and decides nothing.
            agent = build_agent(cast(Parts, None), checkpointer=saver)
            thread = Thread(saver, record.summary.id)
            steps = await beginnings(agent, thread)
            snapshot = await known(agent, thread)
            events = retold(snapshot) if snapshot else ()
        if record.reading:
            events = retold_from(record.reading)
        return KeptRun(record.summary, tuple(events), record.reading, steps)

    async def delete(
        self, runs: Sequence[str] = (), *, everything: bool = False, before: float | None = None
    ) -> int:
        """Take runs out, named by the beginnings of their ids; how many they were.

        Or all of them, or those that have not changed since `before`, in seconds of the epoch; of
        these, the ones that are under way stay.
        """
        if bool(runs) + everything + (before is not None) != 1:
            raise UsageError("Name the runs to delete, or say that all or the old ones shall go.")
        if runs:
            chosen = [(await self._session.kept.get(run)).summary for run in runs]
            for run in chosen:
                if run.status == "running":
                    raise UsageError(f"The run {run.id} is under way: wait until it has ended.")
        else:
            chosen = [one for one in await self.summaries() if one.status != "running"]
        ids = {one.id for one in chosen if before is None or one.updated < before}
        if ids:
            await forget(self._session.kept, await self._session.saver(), ids)
        return len(ids)

    async def training(
        self, report: TrainingReport, runs: Sequence[str] = (), corpus: str | None = None
    ) -> AsyncGenerator[str]:
        """Lines of decisions, those of the named runs or else of all that are finished."""
        if runs:
            chosen = [(await self._session.kept.get(run)).summary for run in runs]
        else:
            chosen = [one for one in await self.summaries(corpus) if one.status == "finished"]
        prompts = Prompts(self._session.settings.prompts)
        async for line in training_lines(self._session.kept.file, chosen, prompts, report):
            yield line
