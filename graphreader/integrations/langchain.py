"""Adapters of a reader for LangChain: a tool for other agents, and a retriever."""

from collections.abc import Iterable
from contextlib import aclosing
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from graphreader.agent.run_view import RunView
from graphreader.documents import Chunk
from graphreader.errors import GraphReaderError
from graphreader.reading import Reader, Reading
from graphreader.scope import Terms
from graphreader.settings import ModeName
from graphreader.sync import run

TOOL_NAME = "ask_texts"

TOOL_DESCRIPTION = (
    "Answers a question about a collection of long texts, also where the answer is spread over "
    "several places in them. Gives the answer with numbered quotes from the texts, or says that "
    "the texts do not tell. Ask one whole question in plain words; it remembers no earlier one."
)


class QuestionInput(BaseModel):
    """The arguments of the tool."""

    question: str = Field(description="A whole question, understandable by itself.")


def as_tool(
    reader: Reader, name: str = TOOL_NAME, description: str = TOOL_DESCRIPTION, **options: Any
) -> BaseTool:
    """Make a tool that asks the reader; content: answer or error, artifact: the Reading.

    Each question is asked with the `options` of `reader.aask`.
    """

    async def aask(question: str) -> tuple[str, Reading]:
        try:
            reading = await reader.aask(question, **options)
        except GraphReaderError as error:
            raise ToolException(str(error)) from error
        return in_words(reading), reading

    def ask(question: str) -> tuple[str, Reading]:
        return run(aask(question))

    return StructuredTool.from_function(
        ask,
        aask,
        name=name,
        description=description,
        args_schema=QuestionInput,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def in_words(reading: Reading) -> str:
    """Format the answer as text, with its explanation, quotes, contradictions and notes."""
    likely = " (likely, not stated)" if reading.confidence == "likely" else ""
    lines = [f"{reading.answer}{likely}", *filter(None, [reading.explanation])]
    if reading.citations:
        lines += ["", "Quotes:"]
    for number, one in enumerate(reading.citations, 1):
        lines.append(f"[{number}] {one.where}: {' '.join(one.quote.split())}")
    lines += [f"The texts differ: {one.text}" for one in reading.contradictions]
    lines += [f"Note: {note}" for note in reading.notes]
    return "\n".join(lines)


_WHOLE = (-1, "")  # key of the whole chunk, sorted before all facts


class GraphReaderRetriever(BaseRetriever):
    """A retriever that returns the chunks and facts that the exploration of a question has read.

        retriever = GraphReaderRetriever(reader=reader, k=8)
        documents = retriever.invoke("Which pope canonized Joan of Arc?")

    `reader` is a `GraphReader`, which stays open. Cited documents come first, then documents read
    by more paths, each in the order of the texts. `k` limits their number; without `facts` only
    chunks are returned. Each call is a whole run with its cost, in `mode` and `scope`, if given.

    A document's text is the chunk, or one atomic fact. Its metadata: `kind` ("chunk" or
    "atomic_fact"), `corpus`, `document` (the title), `document_id`, `source`, `chunk` (the index),
    `start` and `end` of the chunk in characters of the document; `paths` (numbers, from 1) that
    read it; `quotes` of the answer, and `cited` (true with quotes); for facts also `key_elements`
    at which the fact was shown. Raises the errors of `ask`.
    """

    reader: Any = Field(exclude=True)
    facts: bool = True
    k: int | None = Field(default=None, ge=1)
    mode: ModeName | None = None
    scope: Terms | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return run(self._retrieve(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self._retrieve(query)

    async def _retrieve(self, query: str) -> list[Document]:
        view = RunView()
        async with aclosing(self.reader.astream(query, mode=self.mode, scope=self.scope)) as events:
            async for event in events:
                view.apply(event)
        chunks = await self.reader.apassages(list(view.shown))
        in_order = sorted(chunks, key=lambda one: (one.document, one.document_id, one.index))
        documents = [
            document
            for chunk in in_order
            for document in _documents(view, view.so_far(), chunk)
            if self.facts or document.metadata["kind"] == "chunk"
        ]
        documents.sort(key=lambda one: (not one.metadata["cited"], -len(one.metadata["paths"])))
        return documents[: self.k]


def _documents(view: RunView, reading: Reading, chunk: Chunk) -> Iterable[Document]:
    """Yield a chunk's LangChain documents: the whole chunk if it was read, and its facts."""
    place = (chunk.document_id, chunk.index)
    cited = [one for one in reading.citations if (one.document_id, one.chunk) == place]
    shown = view.shown[place]
    for fact in sorted(shown, key=lambda one: one or _WHOLE):
        quotes = [one.quote for one in cited if fact is None or _alike(one.quote, fact[1])]
        metadata = {
            "kind": "chunk" if fact is None else "atomic_fact",
            "corpus": reading.corpus,
            "document": chunk.document,
            "document_id": chunk.document_id,
            "source": chunk.source,
            "chunk": chunk.index,
            "start": chunk.start,
            "end": chunk.end,
            "places": chunk.places,
            "paths": sorted(shown[fact].paths),
            "cited": bool(quotes),
            "quotes": quotes,
        }
        if fact is None:
            yield Document(id=chunk.id, page_content=chunk.text, metadata=metadata)
        else:
            metadata["key_elements"] = sorted(shown[fact].nodes)
            yield Document(page_content=fact[1], metadata=metadata)


def _alike(quote: str, fact: str) -> bool:
    """Whether a quote and a fact contain one another, except for white space."""
    quote, fact = " ".join(quote.split()), " ".join(fact.split())
    return quote in fact or fact in quote
