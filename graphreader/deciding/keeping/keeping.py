"""Decisions that were paid for once: kept by what was asked, and asked once however many ask.

What is kept is the decision as it was finally taken, under the prompt that was asked first: model,
parameters, schema and every message. The form of the reply makes no difference to it.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar, cast

from pydantic import ValidationError

from graphreader.deciding import schemas
from graphreader.deciding.decider import Decided
from graphreader.deciding.decisions import Decision
from graphreader.deciding.fitting import Fitted
from graphreader.deciding.keeping.reply_cache import ReplyCache, key_of
from graphreader.deciding.keeping.single_flight import in_flight
from graphreader.errors import BudgetError
from graphreader.usage import Usage

D = TypeVar("D", bound=Decision)


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
        self, asked: Fitted[D], ask: Callable[[], Awaitable[Decided[D]]]
    ) -> Decided[D]:
        """The decision that is kept, else the one that `ask` gives, which is kept then."""
        key = self._key(asked)
        asks = False

        async def make() -> Decided[D]:
            nonlocal asks
            kept = self._decision(asked, await self._cache.get(key))
            if kept is not None:
                return Decided(kept, asked.task)
            asks = True
            decided = await ask()
            await self._cache.put(key, decided.decision.model_dump_json(), model=self._model)
            return decided

        decided = await in_flight().once(key, make, own=(BudgetError,))
        return decided if asks else replace(decided, usage=Usage(reused=1))

    async def aclose(self) -> None:
        """Close the store."""
        await self._cache.aclose()

    def _key(self, asked: Fitted[D]) -> str:
        schema = json.dumps(schemas.schema_of(asked.task.decision), sort_keys=True)
        texts = [str(message.text) for message in asked.messages]
        return key_of(self._model, *self._about, asked.task.prompt, schema, *texts)

    def _decision(self, asked: Fitted[D], kept: str | None) -> D | None:
        """The kept decision, unless it does not suit the task (any more)."""
        if kept is None:
            return None
        try:
            decision = cast(D, asked.task.decision.model_validate_json(kept))
        except ValidationError:
            return None
        return decision if asked.task.problem(decision) is None else None
