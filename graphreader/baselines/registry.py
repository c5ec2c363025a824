"""The readers that can answer in GraphReader's place, by their names (`KINDS`)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from graphreader import sync
from graphreader.baselines.answering import FullText, Golden
from graphreader.baselines.chunk_reading import ChunkReader
from graphreader.baselines.lightrag import LightRAG
from graphreader.baselines.read_agent.gists import GistBuilder, Pagination, preset_for
from graphreader.baselines.read_agent.reader import (
    MOST_PAGES,
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
from graphreader.baselines.session import ReaderModel, TextPassage, passages_of
from graphreader.documents import Document
from graphreader.errors import UsageError
from graphreader.llm.protocols import Quota
from graphreader.models import ModelRegistry
from graphreader.preflight import empty_corpus_message, scope_note
from graphreader.reading import Reader, Reading, check_question
from graphreader.resources import Resources
from graphreader.scope import EVERYTHING, Scope
from graphreader.settings import OFFLINE, Settings
from graphreader.tokens import count


@dataclass(frozen=True, slots=True)
class Material:
    """The documents for a reader, the size of ReadAgent's pages, the evidence for `golden`."""

    documents: Sequence[Document]
    pages: Pagination = field(default_factory=Pagination)
    golden: tuple[Sequence[str], Sequence[Document]] = ((), ())


@dataclass(frozen=True, slots=True)
class ReaderSpec:
    """The parts of a reader: the match of its name, its documents and its models."""

    match: re.Match[str]
    material: Material
    models: ModelRegistry
    model: ReaderModel

    @property
    def name(self) -> str:
        """The reader's name."""
        return self.match[0]

    def ranking(self, passages: Sequence[TextPassage]) -> Ranking:
        """The ranking that the name asks for; by embeddings if it names none."""
        if self.match.groupdict().get("by") == "bm25":
            return BM25(passages)
        return EmbeddingRanking(passages, self.models.embedder(), self.vectors)

    @property
    def vectors(self) -> Path:
        """The folder of kept vectors."""
        return self.models.settings.home / "vectors"

    def gist_builder(self) -> GistBuilder:
        """The builder of ReadAgent's pages and gists."""
        return GistBuilder(
            self.material.documents,
            self.models.builder(self.model.window),
            Pagination.of(self.models.settings.page_words) or self.material.pages,
            self.models.settings.home / "gists",
        )


@dataclass(frozen=True, slots=True)
class ReaderKind:
    """A kind of reader; `pattern` matches its names, `names` are examples."""

    pattern: str
    names: tuple[str, ...]
    make: Callable[[ReaderSpec], Reader]
    uses_long_window: bool = False
    needs_evidence: bool = False
    needs_embeddings: bool = False
    needs_model: bool = False


def make(
    name: str, material: Material, models: ModelRegistry, quota: Quota | None = None
) -> Reader:
    """Make the reader of a name over the material. Raises UsageError for an unknown name."""
    kind, match = _kind_of(name)
    check_models(name, models.settings)
    window = window_of(name, models)
    may_refuse = bool(match.groupdict().get("may_refuse"))
    model = ReaderModel(models.asker(window), window, models.budget, may_refuse, quota)
    return kind.make(ReaderSpec(match, material, models, model))


def window_of(name: str, models: ModelRegistry) -> int:
    """The tokens that each prompt of that reader may have. Raises UsageError."""
    kind, _ = _kind_of(name)
    return models.long_window if kind.uses_long_window else models.window


def needs_embeddings(name: str) -> bool:
    """Whether that reader turns texts into vectors. Raises UsageError."""
    kind, match = _kind_of(name)
    return kind.needs_embeddings or match.groupdict().get("by") == "embedding"


def check_models(name: str, settings: Settings) -> None:
    """Raise UsageError where that reader lacks a language model."""
    models = [settings.model_for("extract"), settings.model_for("look_up")]
    if _kind_of(name)[0].needs_model and OFFLINE in models:
        raise UsageError(
            f"{name} reads texts in and looks for keywords with a language model, and none is set: "
            "set GRAPHREADER_MODEL, or leave this reader out."
        )


def check_for_corpus(name: str) -> None:
    """Raise UsageError for an unknown name, or a reader that a corpus cannot serve."""
    kind, _ = _kind_of(name)
    if kind.needs_evidence:
        raise UsageError(
            f"{name} reads the supporting facts that a question set names, and a corpus names "
            f"none: `graphreader evaluate DATA --readers {name}` asks it."
        )


def ask(
    name: str, resources: Resources, corpus: str, question: str, scope: Scope = EVERYTHING
) -> Reading:
    """Have the reader of that name answer from the documents of a corpus in a scope.

    Raises UsageError, DecisionError.
    """
    return sync.run(aask(name, resources, corpus, question, scope=scope))


async def aask(
    name: str,
    resources: Resources,
    corpus: str,
    question: str,
    quota: Quota | None = None,
    scope: Scope = EVERYTHING,
) -> Reading:
    """Answer as `ask` does, in GraphReader's own event loop; requests take from the `quota`."""
    check_for_corpus(name)
    question = check_question(question)
    catalog = await resources.catalog(corpus)
    limits = await catalog.in_scope(corpus, scope) if scope != EVERYTHING else None
    documents = await catalog.texts(corpus, limits)
    if not documents:
        raise UsageError(empty_corpus_message(corpus))
    material = Material(documents, preset_for(sum(count(one.text) for one in documents)))
    reader = make(name, material, resources.models, quota)
    reading = await reader.aask(question)
    notes = (*scope_note(limits), *reading.notes)
    return replace(reading, corpus=corpus, notes=notes, scope=scope.terms)


def _kind_of(name: str) -> tuple[ReaderKind, re.Match[str]]:
    for kind in KINDS:
        if match := re.fullmatch(kind.pattern, name):
            return kind, match
    names = ["graphreader", *(one for kind in KINDS for one in kind.names)]
    near = get_close_matches(name, names, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f"There is no reader {name!r}: choose among {', '.join(names)}.{hint}")


def _retrieval(spec: ReaderSpec) -> Reader:
    k = int(spec.match["k"])
    limit = top_1_tokens(spec.model) if k == 1 else TOP_K_TOKENS
    ranking = spec.ranking(passages_of(spec.material.documents, limit))
    return Retrieval(spec.name, ranking, spec.model, k)


def _full_text(spec: ReaderSpec) -> Reader:
    return FullText(spec.material.documents, spec.model, spec.name)


def _chunk_reader(spec: ReaderSpec) -> Reader:
    return ChunkReader(
        spec.material.documents,
        spec.model,
        chunk_tokens=spec.models.settings.chunk_tokens,
        with_notes=bool(spec.match["notes"]),
    )


def _search_agent(spec: ReaderSpec) -> Reader:
    model = replace(spec.model, budget=spec.models.budget_of_steps)
    return SearchAgent(spec.material.documents, model, spec.models.embedder(), spec.vectors)


def _lightrag(spec: ReaderSpec) -> Reader:
    models, home = spec.models, spec.models.settings.home / "lightrag"
    builder = models.builder(models.long_window)
    return LightRAG(spec.material.documents, spec.model, builder, models.embedder(), home)


def _read_agent(spec: ReaderSpec) -> Reader:
    return ReadAgent(
        spec.name,
        spec.gist_builder(),
        spec.model,
        max_pages=int(spec.match["pages"] or MOST_PAGES),
        in_parallel=spec.match["strategy"] == "p",
        task_aware=bool(spec.match["task_aware"]),
    )


def _gist_mem(spec: ReaderSpec) -> Reader:
    return ReadAgent(spec.name, spec.gist_builder(), spec.model, max_pages=0)


def _page_ranker(spec: ReaderSpec) -> Reader:
    parts = spec.name, spec.gist_builder(), spec.model, spec.ranking, int(spec.match["k"])
    if spec.name.startswith("gistmem"):
        return GistMemRetrieval(*parts)
    return PagesRetrieval(*parts, by_gists=spec.match["unit"] == "gists")


_BY, _K = r"(?P<by>bm25|embedding)", r"(?P<k>[1-9]\d?)"
_MAY_REFUSE = r"(?P<may_refuse>-may-refuse)?"

KINDS: tuple[ReaderKind, ...] = (
    ReaderKind(
        rf"rag-{_BY}-{_K}{_MAY_REFUSE}",
        ("rag-bm25-3", "rag-embedding-3", "rag-bm25-3-may-refuse"),
        _retrieval,
    ),
    ReaderKind(f"full-text{_MAY_REFUSE}", ("full-text",), _full_text, uses_long_window=True),
    ReaderKind(r"chunk-read(?P<notes>-notes)?", ("chunk-read", "chunk-read-notes"), _chunk_reader),
    ReaderKind(
        rf"read-agent-(?P<strategy>[ps])(?:-(?P<pages>[1-9]\d?))?(?P<task_aware>{TASK_AWARE})?"
        rf"{_MAY_REFUSE}",
        ("read-agent-p", "read-agent-s", "read-agent-s-task-aware"),
        _read_agent,
        uses_long_window=True,
    ),
    ReaderKind(f"gistmem{_MAY_REFUSE}", ("gistmem",), _gist_mem, uses_long_window=True),
    ReaderKind(
        rf"gistmem-retrieval-{_K}{_MAY_REFUSE}",
        ("gistmem-retrieval-1",),
        _page_ranker,
        uses_long_window=True,
        needs_embeddings=True,
    ),
    ReaderKind(
        rf"rag-(?P<unit>pages|gists)-{_BY}-{_K}{_MAY_REFUSE}",
        ("rag-pages-bm25-3", "rag-pages-embedding-3", "rag-gists-embedding-3"),
        _page_ranker,
        uses_long_window=True,
    ),
    ReaderKind("search-agent", ("search-agent",), _search_agent, needs_embeddings=True),
    ReaderKind("lightrag", ("lightrag",), _lightrag, needs_embeddings=True, needs_model=True),
    ReaderKind(
        "golden",
        ("golden",),
        lambda spec: Golden(*spec.material.golden, spec.model),
        needs_evidence=True,
    ),
)
"""Readers without a graph, to compare GraphReader with: all answer behind the `Reader` protocol."""
