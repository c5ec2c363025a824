"""The checks of a run, an ingest and the settings, made before any cost arises."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, get_args

from graphreader import tokens
from graphreader.agent.context import RunContext
from graphreader.agent.modes import Mode
from graphreader.agent.tasks import NOTEBOOK_TOKENS, PLAN_TOKENS, ChunkTask
from graphreader.cluster import ClusterDecider, ClusterEmbedder, Workers
from graphreader.documents import check_corpus_name
from graphreader.errors import SettingsError, UsageError, WindowError
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.ingestion.loading.parser_process import parse
from graphreader.ingestion.pipeline import Pipeline
from graphreader.ingestion.report import Progress
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Budget, Decider, Quota, Task
from graphreader.llm.structured_output import ReplyForm
from graphreader.llm.window import render_prompt
from graphreader.models import in_background
from graphreader.resources import Resources, reindex_call
from graphreader.scope import EVERYTHING, Scope
from graphreader.settings import OFFLINE, Settings
from graphreader.store.catalog import Catalog
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import DocumentsInScope
from graphreader.store.writer import GraphWriter

LEAST_QUESTION = 100  # tokens of a question that fit into every prompt
LABEL_TOKENS = 60  # tokens for the label of a chunk: a document's title and the chunk's number

_SMALLEST_CHUNK = 50  # tokens that the settings allow

# Two joined texts can have a token or two more than both counted separately.
_TOKENS_A_SEAM = 2


async def prepare_run(
    resources: Resources,
    corpus: str,
    question: str,
    mode: Mode,
    quota: Quota | None = None,
    scope: Scope = EVERYTHING,
) -> RunContext:
    """Open the context of a run in a mode.

    Raises UnknownCorpusError, EmbeddingMismatchError, UsageError (empty corpus or scope, or a
    question that does not fit), and BudgetError where the first call would exceed the budget.
    """
    settings, models = resources.settings, resources.models
    decider, budget = models.asker(settings.window), models.budget_of_steps(quota)
    check_budget(budget, decider, mode.first_task(question))
    connection = await resources.connection()
    catalog = Catalog(connection)
    record = await catalog.corpus(corpus)
    vectors = resources.query_vectors(corpus, record)
    resources.renew_terms(connection, corpus, record)
    documents = await catalog.in_scope(corpus, scope) if scope != EVERYTHING else None
    extent = await catalog.extent(corpus, documents)
    if not extent.documents:
        raise UsageError(empty_corpus_message(corpus))
    if models.own_decider is None:
        try:
            check_question(question, extent.chunk_tokens, settings)
        except UsageError:  # it may fit all the same: few texts have a chunk that is full
            check_question(question, await catalog.largest_chunk(corpus), settings)
    notes = [decider.notice] if decider.notice else []
    notes += other_decider_note(corpus, record.decider, models.builder_name)
    notes += other_embedding_note(corpus, record.embedding, models.embedder_name)
    notes += unfinished_note(extent.documents, extent.unfinished)
    notes += scope_note(documents)
    return RunContext(
        GraphExplorer(connection, corpus, documents),
        decider,
        vectors,
        mode.limits(settings),
        budget,
        resources.nodes,
        notes,
    )


async def prepare_ingest(
    resources: Resources,
    corpus: str,
    progress: Progress,
    *,
    decider: Decider | None = None,
    workers: Workers | None = None,
    quota: Quota | None = None,
) -> tuple[Pipeline, list[str]]:
    """Open the pipeline that reads texts into a corpus; returns it with notes for the user.

    Raises EmbeddingMismatchError, and BudgetError where the first call would exceed the budget.
    """
    settings, models = resources.settings, resources.models
    decider, budget = decider or models.builder(settings.window), models.budget(quota)
    budget.background = True
    check_budget(budget, decider, ExtractionTask("", ""))
    await resources.prepare_schema()
    connection, notes = await resources.connection(), list[str]()
    record = await Catalog(connection).find_corpus(corpus)
    check_corpus_name(corpus, is_new=record is None)
    embedder = in_background(resources.embedder_of(corpus, record))
    if record:
        resources.renew_terms(connection, corpus, record)
        notes = other_decider_note(corpus, record.decider, decider.name)
        notes += other_embedding_note(corpus, record.embedding, models.embedder_name)
    if workers:
        decider, embedder = ClusterDecider(decider, workers), ClusterEmbedder(embedder, workers)
    pipeline = Pipeline(
        GraphWriter(connection, corpus),
        decider,
        embedder,
        chunk_tokens=settings.chunk_tokens,
        budget=budget,
        parse=workers.parse if workers else parse,
        progress=progress,
    )
    return pipeline, notes


def check_question(question: str, largest_chunk: int, settings: Settings) -> None:
    """Raise UsageError if the question and the largest chunk do not fit into one prompt."""
    window, prompts = settings.window, Prompts(settings.prompts)
    for encoding in _encodings(settings):
        room = room_for_question(largest_chunk, window, prompts=prompts, encoding=encoding)
        size = tokens.count(question, encoding)
        if size > room:
            raise UsageError(
                f"The question has {size:,} tokens, but only {max(room, 0):,} fit into the "
                f"window ({window:,}) with a chunk of {largest_chunk:,}: ask a shorter one, "
                f"set GRAPHREADER_WINDOW to at least {window - room + size:,}, or read the "
                "texts again with a smaller GRAPHREADER_CHUNK_TOKENS."
            )


def check_budget(budget: Budget, decider: Decider, task: Task[Any]) -> None:
    """Raise BudgetError if the tokens do not suffice even for this task, the smallest one."""
    with suppress(WindowError):  # another check says it
        if budget.max_tokens is not None and (size := decider.measure(task)):
            budget.check(size + task.reply_tokens, task.phase)


def empty_corpus_message(corpus: str) -> str:
    """The message about a corpus without documents."""
    return (
        f"The corpus {corpus!r} is empty: read texts into it with "
        f"`graphreader ingest PATH --corpus {shlex.quote(corpus)}`."
    )


def other_decider_note(corpus: str, before: str, now: str) -> list[str]:
    """A note if the facts of a corpus were extracted by another decider than the present one."""
    if before == now:
        return []
    return [
        f"The facts of this corpus were taken by {before!r}, not by {now!r}: for facts of its own "
        f"use another --corpus, or run `graphreader delete --all --corpus {shlex.quote(corpus)}` "
        "and read again."
    ]


def other_embedding_note(corpus: str, before: str, now: str) -> list[str]:
    """A note if a corpus has other embeddings than the settings."""
    if before == now:
        return []
    return [
        f"This corpus keeps the embeddings {before!r} that it was read with: for {now!r} run "
        f"{reindex_call(corpus, now)}."
    ]


def refused_vectors_note(corpus: str, number: int, embedding: str) -> list[str]:
    """A note on texts to which the embeddings service gave no vector, if there are any."""
    if not number:
        return []
    texts = "1 text has" if number == 1 else f"{number:,} texts have"
    return [
        f"{texts} no vector, since the embeddings service gave none: they are found by their words "
        f"alone. {reindex_call(corpus, embedding)} asks once more."
    ]


def scope_note(documents: DocumentsInScope | None) -> list[str]:
    """A note on the documents to which a question is limited, if it is."""
    if documents is None:
        return []
    number = len(documents.ids)
    count = "1 document" if number == 1 else f"{number:,} documents"
    return [
        f"Only {count} of the corpus {'is' if number == 1 else 'are'} searched: "
        f"{', '.join(documents.scope.terms)}."
    ]


def unfinished_note(documents: int, titles: Sequence[str]) -> list[str]:
    """A note on documents of which only a part is in the graph, if there are any."""
    if not titles:
        return []
    shown = ", ".join(titles[:5]) + (", ..." if len(titles) > 5 else "")
    return [
        f"{len(titles)} of {documents} documents are not read completely ({shown}): the same "
        "`graphreader ingest` reads on."
    ]


def check_chunks(settings: Settings) -> None:
    """Raise SettingsError, with the numbers, if chunks are too large for a model's window."""
    prompts = Prompts(settings.prompts)
    for encoding in _encodings(settings):
        check_chunk_fits(settings.chunk_tokens, settings.window, prompts=prompts, encoding=encoding)


def check_chunk_fits(
    chunk_tokens: int, window: int, *, prompts: Prompts, encoding: str = tokens.DEFAULT
) -> None:
    """Raise SettingsError, with the numbers, if a chunk leaves no room for a question."""
    room = room_for_question(chunk_tokens, window, prompts=prompts, encoding=encoding)
    lacking = LEAST_QUESTION - room
    if lacking <= 0:
        return
    other = window - room - chunk_tokens + LEAST_QUESTION
    largest = chunk_tokens - lacking
    smaller = f"GRAPHREADER_CHUNK_TOKENS to at most {largest:,} or "
    raise SettingsError(
        f"A chunk (GRAPHREADER_CHUNK_TOKENS, {chunk_tokens:,}) and what goes along with it "
        f"({other:,} tokens) do not fit into the model's window (GRAPHREADER_WINDOW, "
        f"{window:,}): set {smaller if largest >= _SMALLEST_CHUNK else ''}GRAPHREADER_WINDOW to at "
        f"least {window + lacking:,}."
    )


def room_for_question(
    chunk_tokens: int, window: int, *, prompts: Prompts, encoding: str = tokens.DEFAULT
) -> int:
    """Tokens that the largest prompt of a path leaves for its question; negative if none."""
    bare = ChunkTask("", "", ("",) * 99, "", "", "", "", ("",) * 99).keeping(0)
    forms: tuple[ReplyForm, ...] = get_args(ReplyForm)
    largest = max(render_prompt(bare, form, prompts, encoding).tokens for form in forms)
    seams = _TOKENS_A_SEAM * len(bare.values())
    return window - (largest + seams + chunk_tokens + NOTEBOOK_TOKENS + PLAN_TOKENS + LABEL_TOKENS)


def _encodings(settings: Settings) -> Iterator[str]:
    models = {settings.model_for("extract"), settings.model_for("explore")} - {OFFLINE}
    yield from sorted({tokens.encoding_for(model) for model in models})
