"""A whole evaluation: from data, readers and a folder to the readings that lie in it."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict
from itertools import product
from types import TracebackType
from typing import Self

from graphreader.background import Background
from graphreader.deciding.offline.decider import OfflineDecider
from graphreader.deciding.opening import open_decider, open_embedder
from graphreader.evaluation.about_run import about, fixed
from graphreader.evaluation.asked import Asked, against_of, check_models, entries_of, rater_of
from graphreader.evaluation.benchmark import Benchmark
from graphreader.evaluation.costs import Cost, built_by, cost_of
from graphreader.evaluation.entry import Entry, keys
from graphreader.evaluation.equal_reading import EqualReading
from graphreader.evaluation.folder import Folder
from graphreader.evaluation.lines_file import Line
from graphreader.evaluation.plan import Group, Plan, plan
from graphreader.evaluation.raters import Raters
from graphreader.evaluation.readings_file import Key, ReadingsFile
from graphreader.evaluation.scoring import Scorer
from graphreader.evaluation.tally import Tally
from graphreader.settings import OFFLINE, Settings
from graphreader.usage import Phase, Usage

OFFLINE_AT_ONCE = 2
"""Without a model nothing is waited for but the graph."""

_ASKING: tuple[Phase, ...] = ("explore", "answer")


class Evaluation:
    """Asks into a folder, which is its own while it is entered; None: costs can be told only.

    Raises UsageError where the data, the readers, the models or the folder cannot be used as
    asked. `told` hears every new line, in a thread of the evaluation's own.
    """

    def __init__(self, asked: Asked, settings: Settings, out: str | None) -> None:
        self._folder = Folder(out) if out is not None else None
        self.entries = entries_of(asked, settings, self._folder.place if self._folder else "")
        self.tally = Tally()
        self.told: Callable[[Line], None] = lambda line: None
        self.spent = Usage()
        self._asked = asked
        self._settings = settings
        self._rater = rater_of(asked, settings)
        self._against = against_of(asked, self.entries)
        if out is not None:
            check_models(self.entries, self._rater)
        self.plan: Plan = plan(asked.sources, asked.wanted)
        self._fixed = fixed(asked, settings, self._rater, self.entries, self.plan)
        self._readings: ReadingsFile | None = None
        self._tokens: dict[Key, int] = {}
        self._background = Background()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Take the folder, and what was read before."""
        with ExitStack() as opening:
            opening.callback(self._background.close)
            if self._folder:
                opening.enter_context(self._folder)
                self._folder.check(self._fixed)
                readings = ReadingsFile(self._folder.readings, self._take)
                self._readings = opening.enter_context(readings)
            self.tally.expect(keys(self.plan, self.entries))
            self._open = opening.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, trace)

    @property
    def uses_model(self) -> bool:
        """Whether anything is asked of a model, be it for vectors alone."""
        building = {entry.settings.model_for("extract") for entry in self.entries}
        asking = {entry.model for entry in self.entries}
        others = {self._settings.chosen_embeddings, *(["rater"] if self._rater else [])}
        return (building | asking | others) != {OFFLINE}

    @property
    def notice(self) -> str:
        """What must be seen beside figures that were got without a language model, or nothing."""
        asking = (entry.settings.model_for(one) for entry in self.entries for one in _ASKING)
        return OfflineDecider.notice if OFFLINE in asking else ""

    @property
    def unrated(self) -> int:
        """How many readings are there that are to be rated still, because a rater failed."""
        places = product(self.entries, self.plan.groups)
        return sum(self._unrated(entry, group) for entry, group in places)

    @property
    def notes(self) -> Sequence[str]:
        """What of the data is left out, and why."""
        lacking = {
            group.dataset
            for entry in self.entries
            for group in self.plan.groups
            if len(entry.asked(group)) < len(group.records)
        }
        golden = (
            f"{name} names no evidence for some or all questions: golden is not asked there."
            for name in sorted(lacking)
        )
        return (*self.plan.notes, *golden)

    @property
    def needs_graph(self) -> bool:
        """Whether Neo4j is needed for what is to be asked still, or to be thrown away."""
        ours = [one for one in self.entries if one.entrant.name.startswith("graphreader")]
        is_left = any(self._left(entry, group) for entry, group in product(ours, self.plan.groups))
        leaves_graphs = self._folder is not None and self._folder.leaves_graphs
        return is_left or (bool(ours) and leaves_graphs)

    def costs(self) -> list[Cost]:
        """What will be spent on what is missing, a reader and model at a time.

        Repeats count together. Graphs and gists count with the first who needs them.
        """
        found: dict[tuple[str, str], Cost] = {}
        built: set[tuple[object, ...]] = set()
        for entry in self.entries:
            counted = ((group, self._left(entry, group)) for group in self.plan.groups)
            missing = [(group, number) for group, number in counted if number]
            judged = ((group, self._unrated(entry, group)) for group in self.plan.groups)
            unrated = [(group, number) for group, number in judged if number]
            is_built = built_by(entry) in built
            one = cost_of(entry, missing, self._rater, unrated=unrated, is_built=is_built)
            cost = self._background.run(one)
            if missing:
                built.add(built_by(entry))
            before = found.get((cost.reader, cost.model))
            found[cost.reader, cost.model] = before.again(cost) if before else cost
        return list(found.values())

    def run(self) -> None:
        """Ask whatever is missing; see `Benchmark.run`. What is read stays, however it ends."""
        assert self._folder is not None
        estimate = [asdict(one) for one in self.costs()]
        with_graph = self.needs_graph
        leaves_graphs = with_graph or self._folder.leaves_graphs
        noted = {"notice": self.notice, "notes": list(self.notes)}
        told = {**about(self._asked, self.entries, self.plan), **noted, "estimate": estimate}
        self._folder.tell(self._fixed, {**told, "leaves_graphs": leaves_graphs})
        self._background.run(self._run(self._folder, with_graph))

    async def _run(self, folder: Folder, with_graph: bool) -> None:
        assert self._readings is not None
        async with AsyncExitStack() as stack:
            for entry in self.entries:
                stack.push_async_callback(entry.entrant.aclose)
            raters = None
            if self._rater:
                decider = open_decider(self._rater)
                stack.push_async_callback(decider.aclose)
                raters = Raters(decider)
            scorer = Scorer(raters)
            scorer.check([record for group in self.plan.groups for record in group.records])
            benchmark = Benchmark(
                self.plan,
                self.entries,
                self._readings,
                scorer,
                at_once=self._settings.concurrency if self.uses_model else OFFLINE_AT_ONCE,
                max_dollars=self._asked.max_dollars,
            )
            try:
                await benchmark.run()
            finally:
                self.spent = benchmark.spent
            if with_graph:
                for entry in self.entries:
                    await entry.entrant.clear()
                folder.graphs_are_gone()
            if self._against:
                await self._compare(folder)

    async def _compare(self, folder: Folder) -> None:
        """Rank at equal reading."""
        async with AsyncExitStack() as stack:
            embedder = open_embedder(self._settings)
            stack.push_async_callback(embedder.aclose)
            comparing = stack.enter_context(EqualReading(folder.equal_reading, embedder))
            against = [one for one in self.entries if one.entrant.name == self._against]
            await comparing.run(self.plan, against, self._tokens.get)

    def _left(self, entry: Entry, group: Group) -> int:
        if self._readings is None:
            return len(entry.asked(group))
        return len(entry.missing(group, self._readings))

    def _unrated(self, entry: Entry, group: Group) -> int:
        if self._readings is None or self._rater is None:
            return 0
        return len(entry.unrated(group, self._readings))

    def _take(self, line: Line) -> None:
        if line.get("error") is None and line["reader"] == self._against:
            self._tokens[Key.of(line)] = line["tokens_read"]
        self.tally.take(line)
        self.told(line)
