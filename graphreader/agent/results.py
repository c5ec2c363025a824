"""The reading of a run: its final state as a `Reading`, and how much of the texts was read."""

from collections.abc import Sequence
from dataclasses import replace

from graphreader.agent.dependencies import AgentDependencies
from graphreader.agent.state import (
    AgentOutput,
    PathResult,
    Seen,
    Statement,
    add_seen,
    total_usage,
)
from graphreader.errors import StoreError
from graphreader.reading import (
    Citation,
    Claim,
    Contradiction,
    Coverage,
    FunctionCall,
    Path,
    Reading,
)
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import ShownChunk
from graphreader.usage import Usage


async def reading_of(
    question: str,
    result: AgentOutput,
    deps: AgentDependencies,
    notes: Sequence[str],
    seconds: float,
) -> Reading:
    """Make the reading of a finished run; `notes` stand before the run's own.

    `seconds` is how long the run took. If the database can no longer say what was read, a note
    says so.
    """
    paths = sorted(result.get("paths", []), key=lambda path: path["path"])
    reading = Reading(
        question=question,
        answer=result["answer"],
        analysis=result["analysis"],
        answered=result["answered"],
        corpus=deps.explorer.corpus,
        plan=result["plan"],
        citations=tuple(Citation(**quote) for quote in result["citations"]),
        claims=tuple(Claim(*_text_and_citations(one)) for one in result["claims"]),
        contradictions=tuple(
            Contradiction(*_text_and_citations(one)) for one in result["contradictions"]
        ),
        paths=tuple(_path(path) for path in paths),
        usage=replace(total_usage(result["costs"]), seconds=round(seconds, 3)),
        phases={phase: Usage(**cost) for phase, cost in result["costs"].items()},
        decider=deps.decider.name,
        notes=(*notes, *result.get("notes", [])),
        evidence="\n\n".join(path["notebook"] for path in paths if path["notebook"].strip()),
    )
    return await _with_coverage(reading, paths, deps.explorer)


async def _with_coverage(
    reading: Reading, paths: Sequence[PathResult], explorer: GraphExplorer
) -> Reading:
    """Add the documents, passages and facts that the paths were shown, and their tokens."""
    try:
        texts = await explorer.shown_texts(_shown_chunks(paths))
    except StoreError as error:
        note = f"How much of the texts was read could not be counted: {error}"
        return replace(reading, notes=(*reading.notes, note))
    coverage = Coverage()
    facts = tuple(fact for one in texts for fact in one.facts)
    for one in texts:
        if one.text is not None:
            coverage.passage(one.document_id, one.start, one.text)
    for fact in facts:
        coverage.derived(fact)
    return replace(
        reading,
        documents_read=coverage.documents,
        passages_read=coverage.passages,
        facts_read=facts,
        tokens_read=coverage.tokens,
    )


def _shown_chunks(paths: Sequence[PathResult]) -> dict[str, ShownChunk]:
    """What the paths were shown, each chunk once: first those read in full, in reading order."""
    seen: Seen = {}
    for path in paths:
        seen = add_seen(seen, path.get("seen", {}))
    read = dict.fromkeys(id_ for path in paths for id_ in path.get("read", ()))
    return {
        id_: ShownChunk(id_ in read, seen.get(id_, ())) for id_ in dict.fromkeys((*read, *seen))
    }


def _path(path: PathResult) -> Path:
    functions = tuple(FunctionCall(**function) for function in path["functions"])
    return Path(
        initial_node=path["initial_node"],
        notebook=path["notebook"],
        calls=len(functions),
        stopped=path["stopped"],
        error=path["error"],
        functions=functions,
        usage=total_usage(path["costs"]),
        node_id=path["node_id"],
    )


def _text_and_citations(statement: Statement) -> tuple[str, tuple[int, ...]]:
    return statement["text"], tuple(statement["citations"])
