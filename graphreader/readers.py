"""The readers that can answer in GraphReader's place, by their names.

`KINDS` is the table of names: each row has a pattern, what the reader does, and the function that
makes it. `make` makes a reader over documents, `ask` has one answer from a corpus.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from graphreader import sync
from graphreader.baselines.answering import FullText, Golden, Policy
from graphreader.baselines.chunk_reading import ChunkReader, ChunkReaderWithNotes
from graphreader.baselines.read_agent.look_up import MOST_PAGES, Strategy
from graphreader.baselines.read_agent.pages import preset_for
from graphreader.baselines.read_agent.reader import (
    TASK_AWARE,
    GistMemRetrieval,
    PagesRetrieval,
    ReadAgent,
)
from graphreader.baselines.retrieval import (
    BM25,
    TOP_K_TOKENS,
    EmbeddingRanking,
    Ranking,
    Retrieval,
    top_1_tokens,
)
from graphreader.baselines.search_agent import SearchAgent
from graphreader.baselines.session import TextPassage, passages_of
from graphreader.documents import Document
from graphreader.errors import UsageError
from graphreader.integrations.langgraph import ExecutionContext
from graphreader.models import ModelRegistry
from graphreader.reading import Reader, Reading
from graphreader.runs import check_question, empty_corpus_message
from graphreader.tokens import count


@dataclass(frozen=True, slots=True)
class Material:
    """The documents that a reader reads.

    `tokens` is their number of tokens if they were brought to a length, which decides the size of
    ReadAgent's pages; None if they are as they came. `golden` are the supporting facts and the
    documents that hold them, for the reader `golden` alone.
    """

    documents: Sequence[Document]
    tokens: int | None = None
    golden: tuple[Sequence[str], Sequence[Document]] = ((), ())


@dataclass(frozen=True, slots=True)
class ReaderKind:
    """A kind of reader: a row of the table of names.

    `pattern` matches its names, `names` are the examples that messages list. `uses_long_window`:
    its prompts may fill the long window. `needs_evidence`: it reads the evidence that a record of a
    question set names, of which a corpus knows nothing.
    """

    pattern: str
    names: tuple[str, ...]
    description: str
    make: Callable[[re.Match[str], Material, ModelRegistry], Reader]
    uses_long_window: bool = False
    needs_evidence: bool = False


def make(name: str, material: Material, models: ModelRegistry) -> Reader:
    """The reader of that name over the material. Raises UsageError for an unknown name."""
    kind, match = _kind_of(name)
    return kind.make(match, material, models)


def window_of(name: str, models: ModelRegistry) -> int:
    """The tokens that each prompt of that reader may have. Raises UsageError."""
    kind, _ = _kind_of(name)
    return models.long_window if kind.uses_long_window else models.window


def check_for_corpus(name: str) -> None:
    """Raise UsageError for an unknown name, or one that cannot be asked about a corpus."""
    kind, _ = _kind_of(name, [one for one in KINDS if not one.needs_evidence])
    if kind.needs_evidence:
        raise UsageError(
            f"{name} reads the supporting facts that a question set names, and a corpus names "
            f"none: `graphreader evaluate DATA --readers {name}` asks it."
        )


def ask(name: str, context: ExecutionContext, question: str) -> Reading:
    """Have the reader of that name answer from a corpus, without changing the corpus.

    Raises UsageError as `check_for_corpus`, or if the corpus is empty, and DecisionError.
    """
    check_for_corpus(name)
    return sync.run(_ask(name, context, check_question(question)))


async def _ask(name: str, context: ExecutionContext, question: str) -> Reading:
    catalog = await context.resources.catalog(context.corpus)
    documents = await catalog.texts(context.corpus)
    if not documents:
        raise UsageError(empty_corpus_message(context.corpus))
    material = Material(documents, sum(count(one.text) for one in documents))
    reader = make(name, material, context.resources.models)
    return replace(await reader.aask(question), corpus=context.corpus)


def _kind_of(
    name: str, proposed: Sequence[ReaderKind] | None = None
) -> tuple[ReaderKind, re.Match[str]]:
    """The kind of that name, and its match.

    Raises UsageError, which lists the names of the `proposed` kinds, for an unknown name.
    """
    for kind in KINDS:
        if match := re.fullmatch(kind.pattern, name):
            return kind, match
    kinds = KINDS if proposed is None else proposed
    names = ["graphreader", *(one for kind in kinds for one in kind.names)]
    near = get_close_matches(name, names, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f"There is no reader {name!r}: choose among {', '.join(names)}.{hint}")


def _ranking(by: str, passages: Sequence[TextPassage], models: ModelRegistry) -> Ranking:
    return BM25(passages) if by == "bm25" else EmbeddingRanking(passages, models.embedder())


def _retrieval(match: re.Match[str], material: Material, models: ModelRegistry) -> Reader:
    k, window = int(match["k"]), models.window
    decider = models.asker(window)
    limit = top_1_tokens(decider, window) if k == 1 else TOP_K_TOKENS
    ranking = _ranking(match["by"], passages_of(material.documents, limit), models)
    return Retrieval(match[0], ranking, decider, k=k, window=window, budget=models.budget)


def _full_text(match: re.Match[str], material: Material, models: ModelRegistry) -> Reader:
    policies: Mapping[str | None, Policy] = {None: "head", "middle": "middle", "refuse": "refuse"}
    window = models.long_window
    return FullText(
        material.documents,
        models.asker(window),
        window=window,
        policy=policies[match["policy"]],
        budget=models.budget,
    )


def _chunk_reader(match: re.Match[str], material: Material, models: ModelRegistry) -> Reader:
    reader = ChunkReaderWithNotes if match["notes"] else ChunkReader
    return reader(
        material.documents,
        models.asker(models.window),
        chunk_tokens=models.settings.chunk_tokens,
        window=models.window,
        budget=models.budget,
    )


def _golden(match: re.Match[str], material: Material, models: ModelRegistry) -> Reader:
    supporting, documents = material.golden
    decider = models.asker(models.window)
    return Golden(supporting, documents, decider, window=models.window, budget=models.budget)


def _search_agent(match: re.Match[str], material: Material, models: ModelRegistry) -> Reader:
    return SearchAgent(
        material.documents,
        models.asker(models.window),
        models.embedder(),
        window=models.window,
        budget=models.budget_of_steps,
    )


def _read_agent(match: re.Match[str], material: Material, models: ModelRegistry) -> Reader:
    strategies: Mapping[str, Strategy] = {"p": "parallel", "s": "sequential"}
    return ReadAgent(
        **_page_reader_arguments(material, models),
        strategy=strategies[match["strategy"]],
        max_pages=int(match["pages"] or MOST_PAGES),
        task_aware=bool(match["task_aware"]),
    )


def _gist_mem(match: re.Match[str], material: Material, models: ModelRegistry) -> Reader:
    return ReadAgent(**_page_reader_arguments(material, models), strategy="gists")


def _gist_mem_retrieval(match: re.Match[str], material: Material, models: ModelRegistry) -> Reader:
    return GistMemRetrieval(
        **_page_reader_arguments(material, models),
        ranking_of=lambda pages: _ranking("embedding", pages, models),
        k=int(match["k"]),
    )


def _pages_retrieval(match: re.Match[str], material: Material, models: ModelRegistry) -> Reader:
    return PagesRetrieval(
        match[0],
        **_page_reader_arguments(material, models),
        ranking_of=lambda pages: _ranking(match["by"], pages, models),
        k=int(match["k"]),
    )


def _page_reader_arguments(material: Material, models: ModelRegistry) -> dict[str, Any]:
    """The arguments of all readers that cut texts into ReadAgent's pages."""
    window = models.long_window
    return {
        "documents": material.documents,
        "builder": models.builder(window),
        "decider": models.asker(window),
        "pages": preset_for(material.tokens),
        "window": window,
        "gists_home": models.settings.home / "gists",
        "budget": models.budget,
    }


_BY, _K = r"(?P<by>bm25|embedding)", r"(?P<k>[1-9]\d?)"

KINDS: tuple[ReaderKind, ...] = (
    ReaderKind(
        rf"rag-{_BY}-{_K}",
        ("rag-bm25-3", "rag-embedding-3"),
        "retrieval: the best K chunks by words, or by meaning",
        _retrieval,
    ),
    ReaderKind(
        r"full-text(?:-(?P<policy>middle|refuse))?",
        ("full-text", "full-text-middle", "full-text-refuse"),
        "the whole text in a large window, or as much of it as fits",
        _full_text,
        uses_long_window=True,
    ),
    ReaderKind(
        r"chunk-read(?P<notes>-notes)?",
        ("chunk-read", "chunk-read-notes"),
        "one chunk after the other, until one answers",
        _chunk_reader,
    ),
    ReaderKind(
        rf"read-agent-(?P<strategy>[ps])(?:-(?P<pages>[1-9]\d?))?(?P<task_aware>{TASK_AWARE})?",
        ("read-agent-p", "read-agent-s", "read-agent-s-task-aware"),
        "gists of pages, and up to 5 pages looked up, at once or one by one",
        _read_agent,
        uses_long_window=True,
    ),
    ReaderKind(r"gistmem", ("gistmem",), "gists of pages alone", _gist_mem, uses_long_window=True),
    ReaderKind(
        rf"gistmem-retrieval-{_K}",
        ("gistmem-retrieval-1",),
        "gists, and the K pages most alike",
        _gist_mem_retrieval,
        uses_long_window=True,
    ),
    ReaderKind(
        rf"rag-pages-{_BY}-{_K}",
        ("rag-pages-bm25-3", "rag-pages-embedding-3"),
        "retrieval over ReadAgent's pages",
        _pages_retrieval,
        uses_long_window=True,
    ),
    ReaderKind(
        r"search-agent",
        ("search-agent",),
        "an agent that searches by words and by meaning and reads chunks",
        _search_agent,
    ),
    ReaderKind(
        r"golden",
        ("golden",),
        "the supporting facts, where the data name them",
        _golden,
        needs_evidence=True,
    ),
)
