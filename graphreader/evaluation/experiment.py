"""A whole evaluation: from data, readers and a folder to the readings that lie in it.

What a person asks of an evaluation, and who takes part in it therefore.

What `run.json` says of an evaluation: what may not change, who was asked, about what.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import product
from types import TracebackType
from typing import Any, Self

from graphreader.errors import UsageError
from graphreader.evaluation.costs import Cost, built_by, cost_of
from graphreader.evaluation.datasets.record import statistics
from graphreader.evaluation.equal_budget import EqualReading
from graphreader.evaluation.plan import Group, Plan, Wanted, plan
from graphreader.evaluation.readers import PHASES, entrants
from graphreader.evaluation.results import Folder, Key, ReadingsFile
from graphreader.evaluation.runner import Benchmark, Entry, Tally, keys
from graphreader.evaluation.scoring import Raters, Scorer
from graphreader.files import Line
from graphreader.llm.prompts import Prompts
from graphreader.llm.providers import open_chat_model, open_embeddings
from graphreader.models import open_decider, open_embedder
from graphreader.offline.decider import OfflineDecider
from graphreader.settings import OFFLINE, Settings, variable
from graphreader.sync import Background
from graphreader.usage import Phase, Usage

RATER_TEMPERATURE = 0.1
"""That of the papers' raters (appendix B)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asks for; see `graphreader evaluate`.

    Without `models` that of the settings is asked. `rate` None: where a model is there to do it.
    `against` is the reader with which rankings are compared at equal reading; empty: the first
    GraphReader among them; None: nothing is compared. Graphs are kept, if not said otherwise, where
    a model builds them.
    """

    sources: tuple[str, ...]
    readers: tuple[str, ...]
    wanted: Wanted = field(default_factory=Wanted)
    models: tuple[str, ...] = ()
    repeats: int = 1
    rate: bool | None = None
    against: str | None = None
    max_dollars: float | None = None
    keep_graphs: bool | None = None
    command: str = ""


def entries_of(asked: Asked, settings: Settings, place: str = "") -> list[Entry]:
    """Every reader with every model, as often as wanted. Each repeat has a seed of its own.

    A model that is named takes the place of those of the settings, but not of one that is set for
    building: then graphs and gists are the same for all models. Graphs that are not kept are those
    of this `place` alone, so that no other evaluation uses one that is thrown away here.
    """
    if not asked.readers:
        raise UsageError("Name at least one reader.")
    if len(set(asked.readers)) < len(asked.readers) or len(set(asked.models)) < len(asked.models):
        raise UsageError("A reader or a model is named twice: name each once.")
    found: list[Entry] = []
    for repeat in range(asked.repeats):
        draw = asked.wanted.seed + repeat
        for model in asked.models or (None,):
            changes: dict[str, Any] = {}
            if settings.seed is not None:
                changes = {"seed": settings.seed + draw}
            if model is not None:
                changes |= {"model": model, "explore_model": None, "answer_model": None}
            own = settings.model_copy(update=changes)
            keep = asked.keep_graphs
            if keep is None:
                keep = own.model_for("extract") != OFFLINE
            made = entrants(asked.readers, own, keep=keep, place=place, seed=draw)
            found += [Entry(one, own, repeat) for one in made]
    return found


def rater_of(asked: Asked, settings: Settings) -> Settings | None:
    """Settings for the raters' decider, whose window must hold whatever evidence there is."""
    models = (settings.model_for("rate"), *asked.models)
    model = next((one for one in models if one != OFFLINE), None)
    if asked.rate and model is None:
        raise UsageError(
            "Answers are rated by a language model: set GRAPHREADER_RATER_MODEL, or leave out "
            "--rate."
        )
    if model is None or asked.rate is False:
        return None
    changes = {
        "rater_model": model,
        "explore_model": model,
        "answer_model": model,
        "temperature": RATER_TEMPERATURE,
        "window": settings.long_window,
    }
    return settings.model_copy(update=changes)


def check_models(entries: Sequence[Entry], rater: Settings | None) -> None:
    """Raise SettingsError where a model cannot be asked, for want of its key, name or package.

    So that is said at once, and not when graphs are built. Nothing is sent.
    """
    asking = [(entry.settings, phase) for entry in entries for phase in PHASES]
    rating: list[tuple[Settings, Phase]] = [(rater, "rate")] if rater else []
    models = {
        (settings.model_for(phase), settings.model_variable_for(phase)): settings
        for settings, phase in (*asking, *rating)
    }
    for (name, setting), settings in models.items():
        if name != OFFLINE:
            open_chat_model(settings, name, setting)
    for name, settings in {one.settings.chosen_embeddings: one.settings for one in entries}.items():
        if name != OFFLINE:
            open_embeddings(settings, name, variable("embeddings"))


def against_of(asked: Asked, entries: Sequence[Entry]) -> str | None:
    """The reader with which rankings are compared."""
    if asked.against is None:
        return None
    names = list(dict.fromkeys(entry.entrant.name for entry in entries))
    if asked.against:
        if asked.against not in names:
            raise UsageError(
                f"{asked.against} takes no part, so nothing is compared with it: name it in "
                "--readers."
            )
        return asked.against
    if own := [name for name in names if name.startswith("graphreader")]:
        return own[0]
    raise UsageError(
        "--equal-reading compares rankings with graphreader, which takes no part: name it in "
        "--readers, or another reader with --against."
    )


_FIXED = (
    "window",
    "long_window",
    "chunk_tokens",
    "mode",
    "initial_nodes",
    "calls",
    "max_calls",
    "max_tokens",
    "normalize",
    "temperature",
)
"""Settings without which figures could not be compared."""


def fixed(
    asked: Asked,
    settings: Settings,
    rater: Settings | None,
    entries: Sequence[Entry],
    plan: Plan,
) -> Mapping[str, Any]:
    """What must be the same for all readings of a folder.

    Of a model or a pool something is told only where it takes part. Raises SettingsError where the
    files of prompts cannot be used.
    """
    building = {
        f"the building model of {entry.model}": entry.settings.model_for("extract")
        for entry in entries
    }
    pools = {
        f"the pool of {group.dataset}": group.pool.digest for group in plan.groups if group.pool
    }
    return {
        "seed": asked.wanted.seed,
        "rater": rater.model_for("rate") if rater else None,
        "embeddings": settings.chosen_embeddings,
        "prompts": Prompts(settings.prompts).version,
        **{name: getattr(settings, name) for name in _FIXED},
        **building,
        **pools,
    }


def about(asked: Asked, entries: Sequence[Entry], plan: Plan) -> Mapping[str, Any]:
    """The command with its arguments, the readers, and the sizes of the datasets."""
    arguments = asdict(asked)
    pool = arguments["wanted"].pop("pool")
    return {
        "command": arguments.pop("command"),
        "version": version("graphreader"),
        "arguments": {**arguments, "pool": str(pool) if pool else None},
        "readers": [
            {
                "reader": entry.entrant.name,
                "model": entry.model,
                "building": entry.settings.model_for("extract"),
                "window": entry.entrant.window,
            }
            for entry in entries
            if not entry.repeat
        ],
        "datasets": _statistics(plan.groups),
    }


def _statistics(groups: Iterable[Group]) -> list[dict[str, Any]]:
    """How large the contexts are (table 1); of longer ones the target is told."""
    by: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        by.setdefault((group.dataset, group.length), []).append(group)
    return [
        {"dataset": dataset, "length": length, **_sizes(members)}
        for (dataset, length), members in by.items()
    ]


def _sizes(groups: Sequence[Group]) -> dict[str, Any]:
    target = groups[0].tokens
    records = [record for group in groups for record in group.records]
    if target is not None:
        return {"average_tokens": target, "max_tokens": target, "samples": len(records)}
    return asdict(statistics(records))


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
