"""Decisions of runs as prompt and reply, to train open models (the paper's future work)."""

import json
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import Any

from graphreader.agent.run_store import Entry, RunFile, RunSummary, entries
from graphreader.llm.prompts import Prompts
from graphreader.settings import OFFLINE


@dataclass(slots=True)
class TrainingReport:
    """What was written: runs, decisions; `renewed` ones were asked with other prompts than now.

    `skipped` are those for which the prompts of now have no place.
    """

    runs: int = 0
    decisions: int = 0
    renewed: int = 0
    skipped: int = 0


async def training_lines(
    file: RunFile, runs: Iterable[RunSummary], prompts: Prompts, report: TrainingReport
) -> AsyncGenerator[str]:
    """A line of JSON for each decision, run by run, in the order in which they were taken.

    Prompts are those of now, filled with what was shown then. Raises RunsError.
    """
    for run in runs:
        report.runs += 1
        for entry in await entries(file, run.id):
            if entry.decision is None:
                continue
            messages = _messages(entry, prompts)
            if messages is None:
                report.skipped += 1
                continue
            report.decisions += 1
            report.renewed += entry.decider != OFFLINE and entry.prompts != prompts.version
            line = {
                "messages": messages,
                "task": entry.prompt,
                "run": run.id,
                "corpus": run.corpus,
                "decider": entry.decider,
                "prompts": prompts.version,
            }
            yield json.dumps(line, ensure_ascii=False)


def _messages(entry: Entry, prompts: Prompts) -> list[dict[str, Any]] | None:
    try:
        prompt = prompts.named(entry.prompt)
        user = prompt.render(entry.given)
    except KeyError:
        return None
    reply = json.dumps(entry.decision, ensure_ascii=False)
    return [
        {"role": "system", "content": prompt.system},
        {"role": "user", "content": user},
        {"role": "assistant", "content": reply},
    ]
