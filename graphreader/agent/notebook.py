"""Condensing and joining of long notebooks, by the decider, without truncation.

The paper has no limit, but a window has: a notebook of more than NOTEBOOK_TOKENS is condensed, and
notebooks that do not fit one answer prompt are joined.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from graphreader.agent.context import RunContext, wasted_costs
from graphreader.agent.state import Costs, add_costs, total_usage
from graphreader.agent.tasks import NOTEBOOK_TOKENS, CondenseTask, JoinTask
from graphreader.errors import DecisionError
from graphreader.text.sentences import sentence_spans
from graphreader.tokens import count


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
    pieces = [" ".join(batch) for batch in _batches(sentences, context.limits.window // 4, 1)]
    while True:
        batches = _batches(pieces, context.limits.window // 2, 2)
        tasks = [CondenseTask(question, plan, batch) for batch in batches]
        pieces, costs = await _decide_all(context, tasks, costs)
        if len(pieces) == 1:
            return pieces[0], costs


async def join(
    context: RunContext, question: str, plan: str, notebooks: Sequence[str], costs: Costs
) -> tuple[list[str], Costs]:
    """Join notebooks into fewer notebooks, each from two or more. Raises like `condense`."""
    batches = _batches(notebooks, context.limits.window // 2, 2)
    return await _decide_all(context, [JoinTask(question, plan, batch) for batch in batches], costs)


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


def _batches(texts: Iterable[str], max_tokens: int, min_texts: int) -> Iterator[tuple[str, ...]]:
    """Yield batches of texts in order, of at most `max_tokens` but at least `min_texts` texts."""
    batch: list[str] = []
    size = 0
    for text in texts:
        length = count(text)
        if len(batch) >= min_texts and size + length > max_tokens:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield tuple(batch)
