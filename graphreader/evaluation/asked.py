"""What a person asks of an evaluation, and who takes part in it therefore."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graphreader.deciding.clients import open_chat_model, open_embeddings
from graphreader.errors import UsageError
from graphreader.evaluation.entrants import entrants
from graphreader.evaluation.entry import Entry
from graphreader.evaluation.graph_entrant import PHASES
from graphreader.evaluation.plan import Wanted
from graphreader.settings import OFFLINE, Settings, variable
from graphreader.usage import Phase

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
