"""An experiment, as `graphreader evaluate` runs it: data, readers, models, a results folder."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, Self

from graphreader import sync
from graphreader.baselines.registry import needs_embeddings
from graphreader.errors import UsageError
from graphreader.evaluation.costs import Cost, QuestionCounts, estimate_costs
from graphreader.evaluation.plan import EvaluationPlan, QuestionSelection, make_plan
from graphreader.evaluation.readers import MODEL_PHASES, evaluated_readers
from graphreader.evaluation.results import (
    BUILDING_COSTS,
    EQUAL_READING,
    READINGS,
    BuildingFile,
    EvaluationProgress,
    ReadingKey,
    ReadingsFile,
    ResultsFolder,
)
from graphreader.evaluation.runner import Condition, EqualBudgetFile, EvaluationRunner
from graphreader.evaluation.scoring import Scorer, check_packages
from graphreader.evaluation.variants import is_graphreader
from graphreader.files import Line
from graphreader.llm.prompts import Prompts
from graphreader.llm.providers import open_chat_model, open_embeddings
from graphreader.models import open_decider, open_embedder
from graphreader.offline.decider import OfflineDecider
from graphreader.settings import OFFLINE, Settings, variable
from graphreader.usage import Phase, Usage

_RATER_TEMPERATURE = 0.1  # as in the paper (appendix B)
_OFFLINE_CONCURRENCY = 2  # questions at once without a model, when only the graph takes time

_FIXED_SETTINGS = (
    *("window", "long_window", "chunk_tokens", "page_words", "mode"),
    *("initial_nodes", "calls"),
    *("max_calls", "max_tokens", "normalize", "temperature"),
)
"""The settings that must not change within a results folder, so that figures are comparable."""


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """The request for an evaluation; with `rate` None answers are rated if there is a model."""

    sources: tuple[str, ...]
    readers: tuple[str, ...]
    selection: QuestionSelection = field(default_factory=QuestionSelection)
    models: tuple[str, ...] = ()
    repeats: int = 1
    rate: bool | None = None
    equal_reading: bool = False
    max_dollars: float | None = None
    command: str = ""


def make_conditions(
    request: EvaluationRequest, settings: Settings, folder_id: str = ""
) -> list[Condition]:
    """Combine every reader with every model and repetition; each repetition has its own seed.

    The model that builds graphs and gists does not change. Raises UsageError.
    """
    conditions: list[Condition] = []
    models = dict.fromkeys(request.models or (None,))
    for repeat, model in product(range(request.repeats), models):
        seed = request.selection.seed + repeat
        changes: dict[str, Any] = {}
        if settings.seed is not None:
            changes = {"seed": settings.seed + seed}
        if model is not None:
            changes |= {"model": model, "explore_model": None, "answer_model": None}
        own = settings.model_copy(update=changes)
        names = list(dict.fromkeys(request.readers))
        readers = evaluated_readers(names, own, folder_id, seed)
        conditions += [Condition(reader, own, repeat) for reader in readers]
    if not conditions:
        raise UsageError("Name at least one reader.")
    return conditions


def rater_settings(request: EvaluationRequest, settings: Settings) -> Settings | None:
    """Make the settings of the rater, with the long window; None if nothing is rated."""
    models = (settings.model_for("rate"), *request.models)
    model = next((one for one in models if one != OFFLINE), None)
    if request.rate and model is None:
        raise UsageError("Only a language model rates answers: set GRAPHREADER_RATER_MODEL.")
    if model is None or request.rate is False:
        return None
    changes: dict[str, Any] = dict.fromkeys(("rater_model", "explore_model", "answer_model"), model)
    changes |= {"temperature": _RATER_TEMPERATURE, "window": settings.long_window}
    return settings.model_copy(update=changes)


def check_models(conditions: Sequence[Condition], rater: Settings | None) -> None:
    """Raise SettingsError if a needed model lacks key, name or package; nothing is sent."""
    uses: list[tuple[Settings, Phase]] = [(rater, "rate")] if rater else []
    uses += [(condition.settings, phase) for condition in conditions for phase in MODEL_PHASES]
    models = {settings.model_for(phase): (settings, phase) for settings, phase in uses}
    for name, (settings, phase) in models.items():
        if name != OFFLINE:
            open_chat_model(settings, name, settings.model_variable_for(phase))
    for condition in conditions:
        name, reader = condition.settings.chosen_embeddings, condition.reader.name
        if name != OFFLINE and (is_graphreader(reader) or needs_embeddings(reader)):
            open_embeddings(condition.settings, name, variable("embeddings"))


def compared_reader(request: EvaluationRequest) -> str | None:
    """Name the reader whose tokens are the budgets of rankings; None without --equal-reading."""
    name = next(filter(is_graphreader, request.readers), None)
    if request.equal_reading and name is None:
        raise UsageError("--equal-reading compares with graphreader: name it in --readers.")
    return name if request.equal_reading else None


class Evaluation:
    """An evaluation with its results folder `out`, or None for estimates; entering it locks it."""

    def __init__(self, request: EvaluationRequest, settings: Settings, out: str | None) -> None:
        self._folder = ResultsFolder(out) if out is not None else None
        self.conditions = make_conditions(
            request, settings, str(self._folder.path) if self._folder else ""
        )
        self.progress = EvaluationProgress()
        self.on_reading: Callable[[Line], None] = lambda line: None
        self.usage = Usage()
        self._request = request
        self._settings = settings
        self._rater = rater_settings(request, settings)
        self._compared = compared_reader(request)
        if out is not None:
            check_models(self.conditions, self._rater)
        self.plan: EvaluationPlan = make_plan(request.sources, request.selection)
        self._fixed = self._fixed_values()
        self._readings: ReadingsFile | None = None
        self._compared_tokens: dict[ReadingKey, int] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Lock the folder, and count its readings."""
        for group, condition in product(self.plan.groups, self.conditions):
            self.progress.expect(
                condition.key(group, record) for record in condition.records(group)
            )
        with ExitStack() as opening:
            if self._folder:
                opening.enter_context(self._folder)
                self._folder.check(self._fixed)
                readings = ReadingsFile(self._folder.path / READINGS, self._count)
                self._readings = opening.enter_context(readings)
            self._open = opening.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.close()

    @property
    def uses_model(self) -> bool:
        """Whether any model is used, if only for embeddings."""
        models = {self._settings.chosen_embeddings, *(["rater"] if self._rater else [])}
        for condition in self.conditions:
            models |= {condition.model, condition.settings.model_for("extract")}
        return models != {OFFLINE}

    @property
    def notice(self) -> str:
        """The notice about figures that were made without a language model, or ""."""
        is_offline = any(OFFLINE in condition.model.split(", ") for condition in self.conditions)
        return OfflineDecider.notice if is_offline else ""

    @property
    def unrated(self) -> int:
        """The number of readings that still need a rating, because a rater failed."""
        return sum(
            number for condition in self.conditions for _, number in self._unrated(condition)
        )

    @property
    def notes(self) -> Sequence[str]:
        """Sentences about data that is left out, with the reasons."""
        pairs = product(self.conditions, self.plan.groups)
        if all(len(condition.records(group)) == len(group.records) for condition, group in pairs):
            return self.plan.notes
        return (*self.plan.notes, "Golden is not asked where a question names no evidence.")

    @property
    def needs_graph(self) -> bool:
        """Whether a reader that is to be asked needs Neo4j."""
        return any(
            self._missing(condition)
            for condition in self.conditions
            if is_graphreader(condition.reader.name)
        )

    def costs(self) -> list[Cost]:
        """Estimate the cost of the missing questions for each reader and model."""
        conditions = [
            (condition, self._missing(condition), self._unrated(condition))
            for condition in self.conditions
        ]
        return sync.run(estimate_costs(conditions, self._rater))

    def run(self) -> None:
        """Ask and rate the missing questions (`EvaluationRunner.run`); earlier readings stay."""
        assert self._folder
        assert self._readings
        details = {
            "command": self._request.command,
            "version": version("graphreader-agent"),
            "notice": self.notice,
            "notes": list(self.notes),
        }
        self._folder.record_run(self._fixed, details)
        sync.run(self._run(self._readings, self._folder.path))

    async def _run(self, readings: ReadingsFile, folder: Path) -> None:
        check_packages(record for group in self.plan.groups for record in group.records)
        async with AsyncExitStack() as stack:
            for condition in self.conditions:
                stack.push_async_callback(condition.reader.aclose)
            rater = open_decider(self._rater) if self._rater else None
            if rater:
                stack.push_async_callback(rater.aclose)
            runner = EvaluationRunner(
                self.plan,
                self.conditions,
                readings,
                stack.enter_context(BuildingFile(folder / BUILDING_COSTS)),
                Scorer(rater),
                concurrency=self._settings.concurrency if self.uses_model else _OFFLINE_CONCURRENCY,
                max_dollars=self._request.max_dollars,
            )
            needs_graph = self.needs_graph
            try:
                await runner.run()
            finally:
                self.usage = runner.usage
            if needs_graph:
                for condition in self.conditions:
                    await condition.reader.discard_leftovers()
            if self._compared:
                embedder = open_embedder(self._settings)
                stack.push_async_callback(embedder.aclose)
                file = EqualBudgetFile(folder / EQUAL_READING, embedder)
                compared = [
                    condition
                    for condition in self.conditions
                    if condition.reader.name == self._compared
                ]
                await stack.enter_context(file).rank(self.plan, compared, self._compared_tokens)

    def _fixed_values(self) -> dict[str, Any]:
        """The values that all readings of a folder must share: settings, models, prompts, pools."""
        settings, groups = self._settings, self.plan.groups
        building = {
            f"the building model of {condition.model}": condition.settings.model_for("extract")
            for condition in self.conditions
        }
        return {
            "seed": self._request.selection.seed,
            "contexts": self._request.selection.contexts,
            "rater": self._rater.model_for("rate") if self._rater else None,
            "embeddings": settings.chosen_embeddings,
            "prompts": Prompts(settings.prompts).version,
            **{name: getattr(settings, name) for name in _FIXED_SETTINGS},
            **building,
            **{f"the pool of {one.dataset}": one.pool.digest for one in groups if one.pool},
        }

    def _missing(self, condition: Condition) -> QuestionCounts:
        readings, counts = self._readings, []
        for group in self.plan.groups:
            records = condition.missing(group, readings) if readings else condition.records(group)
            counts += [(group, len(records))] if records else []
        return counts

    def _unrated(self, condition: Condition) -> QuestionCounts:
        if self._readings is None or self._rater is None:
            return []
        unrated = [(group, condition.unrated(group, self._readings)) for group in self.plan.groups]
        return [(group, len(records)) for group, records in unrated if records]

    def _count(self, line: Line) -> None:
        if line.get("error") is None and line["reader"] == self._compared:
            self._compared_tokens[ReadingKey.of(line)] = line["tokens_read"]
        self.progress.add(line)
        self.on_reading(line)
