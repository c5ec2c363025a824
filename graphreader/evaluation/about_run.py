"""What `run.json` says of an evaluation: what may not change, who was asked, about what."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from graphreader.deciding.prompting import Prompts
from graphreader.evaluation.asked import Asked
from graphreader.evaluation.datasets import statistics
from graphreader.evaluation.entry import Entry
from graphreader.evaluation.plan import Group, Plan
from graphreader.settings import Settings

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
