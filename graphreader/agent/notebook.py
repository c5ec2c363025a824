"""Condensing and joining of long notebooks, by the decider, without truncation.

The paper has no limit, but a window has: a notebook of more than NOTEBOOK_TOKENS is condensed, and
notebooks that do not fit one answer prompt are joined.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from graphreader.agent.context import RunContext, wasted_costs
from graphreader.agent.state import Costs, add_costs, total_usage
from graphreader.agent.tasks import NOTEBOOK_TOKENS, CondenseTask, JoinTask
from graphreader.errors import DecisionError
from graphreader.text.sentences import sentence_spans
from graphreader.tokens import count

T = TypeVar("T")


async def condense(
    context: RunContext, question: str, plan: str, notebook: str
) -> tuple[str, Costs]:
    """Rewrite a notebook if it is too long; return it with the cost.

    Raises DecisionError with the total cost in `spent`.
    """
    costs: Costs = {}
    if count(notebook) <= NOTEBOOK_TOKENS:
        return notebook, costs
    sentences = [notebook[start:end] for start, end in sentence_spans(notebook)]
    pieces = [" ".join(batch) for batch in batches(sentences, context.limits.window // 4, count)]
    while True:
        together = batches(pieces, context.limits.window // 2, count, 2)
        tasks = [CondenseTask(question, plan, batch) for batch in together]
        pieces, costs = await _decide_all(context, tasks, costs)
        if len(pieces) == 1:
            return pieces[0], costs


async def join(
    context: RunContext, question: str, plan: str, notebooks: Sequence[str], costs: Costs
) -> tuple[list[str], Costs]:
    """Join notebooks into fewer notebooks, each from two or more. Raises like `condense`."""
    together = batches(notebooks, context.limits.window // 2, count, 2)
    return await _decide_all(context, [JoinTask(question, plan, one) for one in together], costs)


async def _decide_all(
    context: RunContext, tasks: Sequence[CondenseTask], costs: Costs
) -> tuple[list[str], Costs]:
    results = await asyncio.gather(
        *(context.decide(task) for task in tasks), return_exceptions=True
    )
    notebooks: list[str] = []
    failures: list[BaseException] = []
    for task, result in zip(tasks, results, strict=True):
        if isinstance(result, BaseException):
            failures.append(result)
            if isinstance(result, DecisionError):
                costs = add_costs(costs, wasted_costs(result, task.phase))
        else:
            decision, _, cost = result
            notebooks.append(decision.notebook)
            costs = add_costs(costs, cost)
    if failures:
        if isinstance(failures[0], DecisionError):
            failures[0].spent = total_usage(costs)
        raise failures[0]
    return notebooks, costs


def batches(
    items: Iterable[T], most: int, size_of: Callable[[T], int], least: int = 1
) -> Iterator[tuple[T, ...]]:
    """Yield batches of items in order, of at most `most` tokens but at least `least` items."""
    batch: list[T] = []
    size = 0
    for item in items:
        length = size_of(item)
        if len(batch) >= least and size + length > most:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(item)
        size += length
    if batch:
        yield tuple(batch)
