"""The readers by name: what can be asked in GraphReader's place, about the same documents.

Another reader in GraphReader's place, about the documents of a corpus.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from graphreader import runs, sync
from graphreader import tokens as tokens_module
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
from graphreader.runs import check_question


@dataclass(frozen=True, slots=True)
class Material:
    """What is to be read; `tokens` is how long it was made, None: it is as it came.

    `golden` are the supporting facts and the documents that hold them, at which only the reader of
    that name looks.
    """

    documents: Sequence[Document]
    tokens: int | None = None
    golden: tuple[Sequence[str], Sequence[Document]] = ((), ())


Made = Callable[[re.Match[str], Material, ModelRegistry], Reader]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of reader. `names` are such as a person is told, `says` what it does.

    `long`: its prompts may fill the long window. `with_evidence`: it reads what a record names as
    its evidence, of which a corpus knows nothing.
    """

    pattern: str
    names: tuple[str, ...]
    says: str
    make: Made
    long: bool = False
    with_evidence: bool = False


def make(name: str, material: Material, minds: ModelRegistry) -> Reader:
    """The reader of that name over the material. Raises UsageError for a name that none has."""
    kind, found = _kind(name)
    return kind.make(found, material, minds)


def check(name: str) -> None:
    """Raise UsageError for a name that no reader has."""
    _kind(name)


def check_for_corpus(name: str) -> None:
    """Raise UsageError for a name that no reader has, or one that cannot be asked of a corpus."""
    kind, _ = _kind(name, [one for one in KINDS if not one.with_evidence])
    if kind.with_evidence:
        raise UsageError(
            f"{name} reads the supporting facts that a question set names, and a corpus names "
            f"none: `graphreader evaluate DATA --readers {name}` asks it."
        )


def window_of(name: str, minds: ModelRegistry) -> int:
    """Tokens that each prompt of that reader may have."""
    kind, _ = _kind(name)
    return minds.long_window if kind.long else minds.window


def _kind(name: str, told: Sequence[Kind] | None = None) -> tuple[Kind, re.Match[str]]:
    """The kind of that name. Raises UsageError, which names those that are `told`, or all."""
    for kind in KINDS:
        if found := re.fullmatch(kind.pattern, name):
            return kind, found
    kinds = KINDS if told is None else told
    shown = ["graphreader", *(one for kind in kinds for one in kind.names)]
    near = get_close_matches(name, shown, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f"There is no reader {name!r}: choose among {', '.join(shown)}.{hint}")


def _retrieval(found: re.Match[str], material: Material, minds: ModelRegistry) -> Reader:
    k, window = int(found["k"]), minds.window
    decider = minds.asker(window)
    limit = top_1_tokens(decider, window) if k == 1 else TOP_K_TOKENS
    passages = passages_of(material.documents, limit)
    ranking: Ranking = (
        BM25(passages) if found["by"] == "bm25" else EmbeddingRanking(passages, minds.embedder())
    )
    return Retrieval(found[0], ranking, decider, k=k, window=window, budget=minds.budget)


def _full_text(found: re.Match[str], material: Material, minds: ModelRegistry) -> Reader:
    policies: Mapping[str | None, Policy] = {None: "head", "middle": "middle", "refuse": "refuse"}
    window = minds.long_window
    return FullText(
        material.documents,
        minds.asker(window),
        window=window,
        policy=policies[found["policy"]],
        budget=minds.budget,
    )


def _chunk_read(found: re.Match[str], material: Material, minds: ModelRegistry) -> Reader:
    kind = ChunkReaderWithNotes if found["notes"] else ChunkReader
    return kind(
        material.documents,
        minds.asker(minds.window),
        chunk_tokens=minds.settings.chunk_tokens,
        window=minds.window,
        budget=minds.budget,
    )


def _golden(found: re.Match[str], material: Material, minds: ModelRegistry) -> Reader:
    supporting, documents = material.golden
    decider = minds.asker(minds.window)
    return Golden(supporting, documents, decider, window=minds.window, budget=minds.budget)


def _search_agent(found: re.Match[str], material: Material, minds: ModelRegistry) -> Reader:
    return SearchAgent(
        material.documents,
        minds.asker(minds.window),
        minds.embedder(),
        window=minds.window,
        budget=minds.budget_of_steps,
    )


def _read_agent(found: re.Match[str], material: Material, minds: ModelRegistry) -> Reader:
    strategies: Mapping[str, Strategy] = {"p": "parallel", "s": "sequential"}
    pages = int(found["pages"] or MOST_PAGES)
    return _agent(material, minds, strategies[found["how"]], pages, bool(found["aware"]))


def _gist_mem(found: re.Match[str], material: Material, minds: ModelRegistry) -> Reader:
    return _agent(material, minds, "gists")


def _agent(
    material: Material,
    minds: ModelRegistry,
    strategy: Strategy,
    pages: int = MOST_PAGES,
    task_aware: bool = False,
) -> ReadAgent:
    return ReadAgent(
        **_episodes(material, minds),
        strategy=strategy,
        max_pages=pages,
        task_aware=task_aware,
        budget=minds.budget,
    )


def _gist_mem_retrieval(found: re.Match[str], material: Material, minds: ModelRegistry) -> Reader:
    return GistMemRetrieval(
        **_episodes(material, minds),
        ranking_of=lambda pages: EmbeddingRanking(pages, minds.embedder()),
        k=int(found["k"]),
        budget=minds.budget,
    )


def _episodes(material: Material, minds: ModelRegistry) -> dict[str, Any]:
    """What all that have gists are made of."""
    window = minds.long_window
    return {
        "documents": material.documents,
        "builder": minds.builder(window),
        "decider": minds.asker(window),
        "pages": preset_for(material.tokens),
        "window": window,
        "gists_home": minds.settings.home / "gists",
    }


def _pages_retrieval(found: re.Match[str], material: Material, minds: ModelRegistry) -> Reader:
    def ranking_of(pages: Sequence[TextPassage]) -> Ranking:
        return BM25(pages) if found["by"] == "bm25" else EmbeddingRanking(pages, minds.embedder())

    return PagesRetrieval(
        found[0],
        **_episodes(material, minds),
        ranking_of=ranking_of,
        k=int(found["k"]),
        budget=minds.budget,
    )


KINDS: tuple[Kind, ...] = (
    Kind(
        r"rag-(?P<by>bm25|embedding)-(?P<k>[1-9]\d?)",
        ("rag-bm25-3", "rag-embedding-3"),
        "retrieval: the best K chunks by words, or by meaning",
        _retrieval,
    ),
    Kind(
        r"full-text(?:-(?P<policy>middle|refuse))?",
        ("full-text", "full-text-middle", "full-text-refuse"),
        "the whole text in a large window, or as much of it as fits",
        _full_text,
        long=True,
    ),
    Kind(
        r"chunk-read(?P<notes>-notes)?",
        ("chunk-read", "chunk-read-notes"),
        "one chunk after the other, until one answers",
        _chunk_read,
    ),
    Kind(
        rf"read-agent-(?P<how>[ps])(?:-(?P<pages>[1-9]\d?))?(?P<aware>{TASK_AWARE})?",
        ("read-agent-p", "read-agent-s", "read-agent-s-task-aware"),
        "gists of pages, and up to 5 pages looked up, at once or one by one",
        _read_agent,
        long=True,
    ),
    Kind(r"gistmem", ("gistmem",), "gists of pages alone", _gist_mem, long=True),
    Kind(
        r"gistmem-retrieval-(?P<k>[1-9]\d?)",
        ("gistmem-retrieval-1",),
        "gists, and the K pages most alike",
        _gist_mem_retrieval,
        long=True,
    ),
    Kind(
        r"rag-pages-(?P<by>bm25|embedding)-(?P<k>[1-9]\d?)",
        ("rag-pages-bm25-3", "rag-pages-embedding-3"),
        "retrieval over ReadAgent's pages",
        _pages_retrieval,
        long=True,
    ),
    Kind(
        r"search-agent",
        ("search-agent",),
        "an agent that searches by words and by meaning and reads chunks",
        _search_agent,
    ),
    Kind(
        r"golden",
        ("golden",),
        "the supporting facts, where the data name them",
        _golden,
        with_evidence=True,
    ),
)


async def material_of(home: ExecutionContext) -> Material:
    """The documents of the home's corpus, as they were read in. Raises UsageError without any."""
    library = await home.resources.catalog(home.corpus)
    documents = await library.texts(home.corpus)
    if not documents:
        raise UsageError(runs.empty_corpus_message(home.corpus))
    return Material(documents, sum(tokens_module.count(one.text) for one in documents))


def ask(name: str, home: ExecutionContext, question: str) -> Reading:
    """Have the reader of that name answer from the corpus; nothing is changed.

    Raises UsageError for a name that none has, or one that cannot be asked of a corpus, and
    DecisionError.
    """
    check_for_corpus(name)
    return sync.run(_asked(name, home, check_question(question)))


async def _asked(name: str, home: ExecutionContext, question: str) -> Reading:
    reader = make(name, await material_of(home), home.resources.models)
    return replace(await reader.aask(question), corpus=home.corpus)
