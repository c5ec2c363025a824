"""Decisions that were paid for once: kept by what was asked, and asked once however many ask.

What is kept is the decision as it was finally taken, with how many of the task's choices were
shown for it. It is kept under all that was there to be asked: model, parameters, schema and the
whole prompt. The form of the reply makes no difference to it.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from graphreader.deciding import schemas
from graphreader.deciding.decider import Decided
from graphreader.deciding.decisions import Decision
from graphreader.deciding.keeping.reply_cache import ReplyCache, key_of
from graphreader.deciding.keeping.single_flight import in_flight
from graphreader.deciding.tasks import Task
from graphreader.errors import BudgetError, DecisionError
from graphreader.usage import Usage

D = TypeVar("D", bound=Decision)

logger = logging.getLogger("graphreader.deciding")


class KeptDecisions:
    """The decisions of one model; `about` is all that changes its replies beside the prompt."""

    def __init__(self, cache: ReplyCache, model: str, *about: object) -> None:
        self._cache = cache
        self._model = model
        self._about = [str(one) for one in about]

    @property
    def trouble(self) -> str:
        """A sentence on what is wrong with the store, or nothing."""
        return self._cache.trouble or ""

    async def or_asked(
        self, task: Task[D], texts: Sequence[str], ask: Callable[[], Awaitable[Decided[D]]]
    ) -> Decided[D]:
        """The decision that is kept, else the one that `ask` gives, which is kept then.

        `texts` is all that the task could show. Who only waited for another one's request has
        spent nothing, also where it failed.
        """
        key = self._key(task, texts)
        asks = False

        async def make() -> Decided[D]:
            nonlocal asks
            kept = _read(task, await self._cache.get(key))
            if kept is not None:
                return kept
            asks = True
            decided = await ask()
            await self._cache.put(key, _written(decided), model=self._model)
            return decided

        try:
            decided = await in_flight().once(key, make, own=(BudgetError,))
        except DecisionError as error:
            if asks:
                raise
            raise _unspent(error) from error
        if not asks:
            logger.debug("A kept reply of %s serves for %s", self._model, task.prompt)
        return decided if asks else replace(decided, usage=Usage(reused=1))

    async def aclose(self) -> None:
        """Close the store."""
        await self._cache.aclose()

    def _key(self, task: Task[D], texts: Sequence[str]) -> str:
        schema = json.dumps(schemas.schema_of(task.decision), sort_keys=True)
        return key_of(self._model, *self._about, task.prompt, schema, *texts)


def _written(decided: Decided[D]) -> str:
    return json.dumps(
        {"shown": decided.task.choices, "decision": decided.decision.model_dump(mode="json")}
    )


def restored(task: Task[D], shown: int, fields: object) -> Decided[D] | None:
    """A decision that was kept, with what was shown for it, if it suits the task (still)."""
    try:
        task = _showing(task, shown)
        decision = cast(D, task.decision.model_validate(fields))
    except (TypeError, ValueError):
        return None
    return Decided(decision, task) if task.problem(decision) is None else None


def _read(task: Task[D], kept: str | None) -> Decided[D] | None:
    """The kept decision, if there is one that suits the task."""
    try:
        record = json.loads(kept or "")
        return restored(task, record["shown"], record["decision"])
    except (KeyError, TypeError, ValueError):
        return None


def _showing(task: Task[D], number: int) -> Task[D]:
    """The task with so many of its choices. Raises ValueError where it has fewer."""
    if number == task.choices:
        return task
    if not task.fewest <= number < task.choices:
        raise ValueError(f"{number} of {task.choices} choices cannot be shown")
    return task.keeping(number)


def _unspent(error: DecisionError) -> DecisionError:
    """The same failure for one who has paid nothing for it: whoever meets it writes into it."""
    twin = type(error).__new__(type(error), *error.args)
    vars(twin).update(vars(error), spent=Usage())
    return twin
