"""Notebooks that have grown too long are written anew by the decider, never cut.

The paper's notebooks have no limit; a window of 4,096 tokens has. So the notebook of a path is
condensed as soon as it passes NOTEBOOK_TOKENS, and notebooks that are too many for one answer
prompt are joined, some at a time, until they fit.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from graphreader import tokens
from graphreader.agent.dependencies import AgentDependencies, wasted_costs
from graphreader.agent.state import Costs, add_costs, total_usage
from graphreader.agent.tasks import NOTEBOOK_TOKENS, CondenseTask, JoinTask
from graphreader.errors import DecisionError
from graphreader.text.sentences import sentence_spans


async def condense(
    parts: AgentDependencies, question: str, plan: str, notebook: str
) -> tuple[str, Costs]:
    """The notebook, written anew if it is too long.

    Raises DecisionError where that fails; its `spent` is all that was paid.
    """
    costs: Costs = {}
    if tokens.count(notebook) <= NOTEBOOK_TOKENS:
        return notebook, costs
    sentences = [notebook[start:end] for start, end in sentence_spans(notebook)]
    pieces = [" ".join(batch) for batch in _batches(sentences, parts.limits.window // 4, 1)]
    while True:
        tasks = [CondenseTask(question, plan, batch) for batch in _grouped(parts, pieces)]
        pieces, costs = await _written(parts, tasks, costs)
        if len(pieces) == 1:
            return pieces[0], costs


async def join(
    parts: AgentDependencies, question: str, plan: str, notebooks: Sequence[str], costs: Costs
) -> tuple[list[str], Costs]:
    """The notebooks as fewer ones: each out of as many as fit half a window, at least two.

    Returns them with `costs` and what this has cost. Raises DecisionError as `condense` does.
    """
    batches = _grouped(parts, notebooks)
    return await _written(parts, [JoinTask(question, plan, batch) for batch in batches], costs)


async def _written(
    parts: AgentDependencies, tasks: Sequence[CondenseTask], costs: Costs
) -> tuple[list[str], Costs]:
    """The notebooks that the tasks give, asked for side by side; none is left under way."""
    results = await asyncio.gather(*(parts.decide(task) for task in tasks), return_exceptions=True)
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


def _grouped(parts: AgentDependencies, notebooks: Iterable[str]) -> Iterator[tuple[str, ...]]:
    return _batches(notebooks, parts.limits.window // 2, 2)


def _batches(texts: Iterable[str], most: int, fewest: int) -> Iterator[tuple[str, ...]]:
    """The texts in their order, in groups of at most so many tokens but at least so many texts."""
    batch: list[str] = []
    size = 0
    for text in texts:
        length = tokens.count(text)
        if len(batch) >= fewest and size + length > most:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield tuple(batch)
