"""Keeps finished runs in the graph, linked to the nodes that they visited.

The ingested texts do not change by it.
"""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from graphreader.errors import StoreError
from graphreader.reading import Path, Reading
from graphreader.store import schema
from graphreader.store.connection import Connection, Run


class RunWriter:
    """Keeps runs of one corpus."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def write(self, reading: Reading) -> str | None:
        """Keep a run, in one transaction; writing it again changes nothing.

        Nodes that are deleted since are left out. Returns a sentence that says why the run is not
        kept. That is no failure: the question is answered, and the user may have read access only.
        """
        try:
            await schema.prepare_runs(self._connection)
            if await self._connection.transact(lambda run: self._keep(run, reading)):
                return None
            reason = f"the corpus {self._corpus!r} is gone, or the id is another corpus's."
        except StoreError as error:
            reason = str(error)
        return f"The run is not kept in the graph: {reason}"

    async def _keep(self, run: Run, reading: Reading) -> bool:
        scope = {"id": reading.run or uuid4().hex, "corpus": self._corpus}
        if not await run("write/run", **scope, **_run_values(reading)):
            return False
        paths = list(enumerate(reading.paths, 1))
        steps = [row for number, path in paths for row in _step_rows(number, path)]
        await run("write/run_paths", **scope, paths=[_path_row(*path) for path in paths])
        await run("write/run_steps", **scope, steps=steps)
        await run("write/run_citations", **scope, citations=list(_citation_rows(reading)))
        return True


def _run_values(reading: Reading) -> dict[str, Any]:
    """The question, the answer and the cost of a run."""
    return {
        "question": reading.question,
        "plan": reading.plan,
        "analysis": reading.analysis,
        "answer": reading.answer,
        "answered": reading.answered,
        "claims": [claim.text for claim in reading.claims],
        "contradictions": [one.text for one in reading.contradictions],
        "notes": list(reading.notes),
        "decider": reading.decider,
        "seconds": reading.usage.seconds,
        "calls": reading.usage.calls,
        "tokens": reading.usage.tokens,
    }


def _path_row(number: int, path: Path) -> dict[str, Any]:
    return {
        "path": number,
        "node": path.node_id,
        "calls": path.calls,
        "stopped": path.stopped,
        "notebook": path.notebook,
        "error": path.error,
    }


def _step_rows(number_of_path: int, path: Path) -> Iterator[dict[str, Any]]:
    """The functions that a path chose, counted from 1, with the node where it chose each."""
    for number, call in enumerate(path.functions, 1):
        yield {
            "path": number_of_path,
            "number": number,
            "node": call.id,
            "function": call.name,
            "argument": call.argument,
            "rationale": call.rationale,
        }


def _citation_rows(reading: Reading) -> Iterator[dict[str, Any]]:
    """The citations, counted from 1 as in the answer, each with the claims that it supports."""
    for number, citation in enumerate(reading.citations, 1):
        claims = [claim.text for claim in reading.claims if number in claim.citations]
        yield {
            "number": number,
            "claims": claims,
            "document": citation.document_id,
            "chunk": citation.chunk,
            "start": citation.start,
            "end": citation.end,
            "quote": citation.quote,
        }
