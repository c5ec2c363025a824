"""Keeping a finished run in the graph, tied to the very nodes that it touched.

Nothing of the texts changes but that relationships end there: asking leaves them as they were read.
"""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from graphreader.errors import StoreError
from graphreader.reading import Citation, Path, Reading
from graphreader.store import schema
from graphreader.store.connection import Connection, Run


class RunWriter:
    """Keeps runs of one corpus."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def write(self, reading: Reading) -> str | None:
        """Keep a run in one transaction of its own; kept again, it is the same.

        What it touched and what is gone since is left out. Returns a sentence on why nothing is
        kept, which is no failure: the question is answered, and many a user may only read.
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
        # Without an id of its own each run is another one.
        scope = {"id": reading.run or uuid4().hex, "corpus": self._corpus}
        if not await run("write/run", **scope, **_said(reading)):
            return False
        paths = list(enumerate(reading.paths, 1))
        steps = [row for number, path in paths for row in _steps(number, path)]
        await run("write/run_paths", **scope, paths=[_path(*path) for path in paths])
        await run("write/run_steps", **scope, steps=steps)
        await run("write/run_citations", **scope, citations=list(_citations(reading)))
        return True


def _said(reading: Reading) -> dict[str, Any]:
    """What the run asked, said and cost."""
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


def _path(number: int, path: Path) -> dict[str, Any]:
    return {
        "path": number,
        "node": path.node_id,
        "calls": path.calls,
        "stopped": path.stopped,
        "notebook": path.notebook,
        "error": path.error,
    }


def _steps(path: int, taken: Path) -> Iterator[dict[str, Any]]:
    """The functions that a path chose, counted from 1, each with the place where it did."""
    for number, call in enumerate(taken.functions, 1):
        yield {
            "path": path,
            "number": number,
            "node": call.id,
            "function": call.name,
            "argument": call.argument,
            "rationale": call.rationale,
        }


def _citations(reading: Reading) -> Iterator[dict[str, Any]]:
    """The citations, counted from 1 as the answer does, each with the claims that rest on it."""
    for number, citation in enumerate(reading.citations, 1):
        claims = [claim.text for claim in reading.claims if number in claim.citations]
        yield {"number": number, "claims": claims, **_place(citation)}


def _place(citation: Citation) -> dict[str, Any]:
    return {
        "document": citation.document_id,
        "chunk": citation.chunk,
        "start": citation.start,
        "end": citation.end,
        "quote": citation.quote,
    }
