"""Reading in as a graph of LangGraph: the cost, the reading, the comparing of key elements.

It stops where whoever runs it wants it to, so that a person can look at the cost before anything is
sent. The work is that of a reader, in the reader's own event loop.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from graphreader.agent.events import as_plain
from graphreader.errors import UsageError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.estimating import Estimate
from graphreader.ingestion.loading.sources import Thing
from graphreader.ingestion.normalization.normalization_report import NormalizationReport
from graphreader.ingestion.report import IngestReport, Progress, ReadingEvent
from graphreader.settings import OFFLINE

Source = Callable[[Runtime[Any]], Awaitable[GraphReader]]
"""Who reads in, by what the run was given as its context."""

Update = Mapping[str, Any]


class Text(TypedDict):
    """A text as it is pasted. Another one of the same title takes its place."""

    title: str
    text: str


class Document(TypedDict):
    """What became of a document; `status` as in `DocumentReport`."""

    title: str
    status: str
    error: str | None


class Sources(TypedDict, total=False):
    """What the world puts in. It is there for the first step alone: a thread is used again."""

    sources: Annotated[
        list[str],
        EphemeralValue,
        Field(description="Files and folders on the machine of the server."),
    ]
    texts: Annotated[
        list[Text], EphemeralValue, Field(description="Texts themselves, each with a title.")
    ]


class Given(TypedDict):
    """What was put in this time."""

    sources: list[str]
    texts: list[Text]


class Ingested(Sources, total=False):
    """What is known of it.

    `given` is what the cost was counted for and what is read in. `merged` names the key elements
    that were merged now, each with what it went into.
    """

    given: Given
    estimate: str
    documents: list[Document]
    facts: int
    report: str
    merged: list[str]


@dataclass(slots=True)
class Pasted:
    """A text in the shape of a LangChain document."""

    page_content: str
    id: str
    metadata: Mapping[str, str] = field(default_factory=dict)


def ingest_graph(
    source: Source, context_schema: type[Any] | None = None
) -> CompiledStateGraph[Ingested, Any, Sources, Ingested]:
    """The graph; how far it is goes to the custom stream as plain JSON types.

    Raises what a reader raises, and UsageError where nothing can be read at all. A text that cannot
    be read beside others that can stands in `documents`.
    """

    async def estimate_cost(state: Ingested, runtime: Runtime[Any]) -> Update:
        reader = await source(runtime)
        given: Given = {"sources": state.get("sources") or [], "texts": state.get("texts") or []}
        found = await reader.aestimate(*_things(given))
        if not found.documents:
            raise UsageError(" ".join(found.refused))
        new: Ingested = {"documents": [], "facts": 0, "report": "", "merged": []}
        return {**new, "given": given, "estimate": "\n".join(_estimated(found))}

    async def read_in(state: Ingested, runtime: Runtime[Any]) -> Update:
        reader = await source(runtime)
        things = _things(state["given"])
        report = await reader.aingest(*things, normalize=False, progress=_plainly(runtime))
        documents = [
            {"title": one.title, "status": one.status, "error": one.error}
            for one in report.documents
        ]
        told = "\n".join(_reported(report))
        return {"documents": documents, "facts": report.facts, "report": told}

    async def normalize(state: Ingested, runtime: Runtime[Any]) -> Update:
        reader = await source(runtime)
        return {"merged": _merged(await reader.anormalize(progress=_plainly(runtime)))}

    graph = StateGraph(Ingested, context_schema, input_schema=Sources, output_schema=Ingested)
    graph.add_sequence([estimate_cost, read_in, normalize])
    graph.add_edge(START, "estimate_cost")
    graph.add_edge("normalize", END)
    return graph.compile(name="ingest")


def _things(given: Given) -> list[Thing]:
    """What is to be read. Raises UsageError where it has not the shape it should have."""
    sources, texts = given["sources"], given["texts"]
    if not isinstance(sources, list) or not isinstance(texts, list):
        raise UsageError("`sources` is a list of paths, `texts` a list of texts: give lists.")
    return [*sources, *map(_pasted, texts)]


def _pasted(text: Text) -> Pasted:
    match text:
        case {"title": str(title), "text": str(words)} if title.strip() and words.strip():
            return Pasted(words, title.strip(), {"title": title.strip()})
        case _:
            raise UsageError("A text needs a title and a text: give both.")


def _plainly(runtime: Runtime[Any]) -> Progress:
    """Tells what happens to whoever does not know our classes."""

    def tell(event: ReadingEvent) -> None:
        runtime.stream_writer(as_plain(event))

    return tell


def _estimated(found: Estimate) -> Iterator[str]:
    """What reading in would cost, a line for each thing that counts."""
    there = found.chunks - found.missing
    yield f"documents: {found.documents:,}"
    yield f"chunks: {found.chunks:,}" + (f", {there:,} of them read already" if there else "")
    if found.model == OFFLINE:
        yield "model: offline, no language model; nothing is sent, nothing costs anything"
    else:
        sent, received = found.reading.input_tokens, found.reading.output_tokens
        yield f"calls: {found.reading.calls:,}"
        yield f"tokens: {sent:,} in, about {received:,} out"
        yield f"price: {_price(found.dollars)}"
        yield f"model: {found.model}, embeddings {found.embeddings}"
        yield f"a question afterwards: {_price(found.question.dollars)}"
    yield from (f"left out: {reason}" for reason in found.refused)


def _price(dollars: float | None) -> str:
    if dollars is None:
        return "not known"
    return f"about ${dollars:.4f}" if dollars else "$0"


def _reported(report: IngestReport) -> Iterator[str]:
    """What became of it, then what a person should know."""
    by_status = Counter(one.status for one in report.documents)
    yield "documents: " + ", ".join(f"{count:,} {status}" for status, count in by_status.items())
    yield f"chunks: {report.asked_chunks:,} read, {report.reused_chunks:,} kept"
    yield f"facts: {report.facts:,}"
    for one in report.documents:
        yield from (f"{one.title}, chunk {chunk.chunk}: {chunk.reason}" for chunk in one.failed)
    yield from report.notes


def _merged(report: NormalizationReport) -> list[str]:
    """`Einsteins -> Einstein`, for each that was merged now."""
    return [
        f"{one.element.name} -> {one.into.name}"
        for one in report.merges
        if one.element.id in report.merged
    ]
