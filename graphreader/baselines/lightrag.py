"""The reader LightRAG (Guo et al. 2024, arXiv 2410.05779), which uses its authors' package.

The package reads texts into a graph of entities and relations and searches it, with its own prompts
and defaults. The answer comes from the results by the same prompt as for retrieved passages.
"""

import asyncio
import json
import logging
import shutil
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4
from weakref import WeakKeyDictionary

import numpy as np

from graphreader import tokens
from graphreader.baselines.answering import Excerpt, answer_from
from graphreader.baselines.session import (
    NO_TEXT,
    BaselineReader,
    QuestionSession,
    ReaderModel,
    TextPassage,
)
from graphreader.documents import Document, without_controls
from graphreader.errors import DecisionError, UsageError
from graphreader.files import atomic_write
from graphreader.llm.protocols import (
    LONGEST_REPLY,
    Budget,
    Decider,
    Embedder,
    PlainTask,
    embed_all,
)
from graphreader.reading import Reading
from graphreader.settings import hidden_environment
from graphreader.text.sentences import language_of
from graphreader.usage import Phase, Usage

_STORAGES = ("json_kv_impl", "json_doc_status_impl", "nano_vector_db_impl", "networkx_impl")
_LANGUAGES = {"en": "English", "zh": "Chinese"}
_NO_TIMEOUT = 1_000_000  # seconds: our own services have timeouts and retries
_COMPLETE = "complete"  # the file that names the folder of a finished index

_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""Locks by event loop: only one index is built at a time, as the package has one queue."""


@dataclass(frozen=True, slots=True)
class ReadInTask(PlainTask):
    """A request of LightRAG while it reads texts in: entities and relations, or a summary."""

    prompt: ClassVar[str] = "lightrag"
    phase: ClassVar[Phase] = "extract"
    reply_tokens: ClassVar[int] = LONGEST_REPLY


@dataclass(frozen=True, slots=True)
class KeywordsTask(PlainTask):
    """A request of LightRAG for the keywords of a question."""

    prompt: ClassVar[str] = "lightrag"
    phase: ClassVar[Phase] = "look_up"
    reply_tokens: ClassVar[int] = 500


@cache
def load_package() -> Any:
    """Import LightRAG without its log, `.env` and environment variables. Raises UsageError."""
    for name in ("lightrag", "nano-vectordb"):
        logging.getLogger(name).disabled = True
    changed = logging.root, logging.getLogger("httpx")  # by the imports
    before = [(one, one.level, list(one.handlers)) for one in changed]
    try:
        with hidden_environment(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            package = import_module("lightrag")
            for storage in _STORAGES:
                _part(f"kg.{storage}")
    except ImportError as error:
        raise UsageError(
            "The reader lightrag needs the package lightrag-hku: in the checkout run "
            'pip install -e ".[peers]"'
        ) from error
    finally:
        for logger, level, handlers in before:
            logger.setLevel(level)
            logger.handlers[:] = handlers
    return package


def _part(name: str) -> Any:
    """Return a module of LightRAG by its name in the package."""
    return import_module(f"lightrag.{name}")


class Tokenizer:
    """Our token encoding with LightRAG's interface; a deep copy is the object itself."""

    def __init__(self) -> None:
        encoding = tokens.load_encoding(tokens.DEFAULT)
        self.encode, self.decode = encoding.encode_ordinary, encoding.decode

    def __deepcopy__(self, memo: object) -> "Tokenizer":
        return self


class LightRAG(BaselineReader):
    """A reader that answers from entities, relations and chunks found by LightRAG, mode "mix".

    `builder` reads the documents in, at the first question or by `build`. The index is stored in
    a folder of `home`, which is named by documents, model and embeddings.
    """

    name = "lightrag"

    def __init__(
        self,
        documents: Sequence[Document],
        model: ReaderModel,
        builder: Decider,
        embedder: Embedder,
        home: Path,
    ) -> None:
        super().__init__(self.name, model)
        load_package()
        self._documents = {one.id: one for one in documents if one.text.strip()}
        self._builder = builder
        self._embedder = embedder
        texts = [(one.id, one.text) for one in self._documents.values()]
        made_by = (builder.name, embedder.name, embedder.dimension, version("lightrag-hku"))
        key = sha256(repr((texts, made_by)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._folder = home / key

    async def build(self) -> Usage:
        """Read the documents in, unless that is done; return its cost. Raises DecisionError."""
        builder = replace(self.model, decider=self._builder, budget=Budget)
        session = QuestionSession(self.name, builder)
        async with _locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if self._documents and not (self._folder / _COMPLETE).exists():
                try:
                    await self._read_in(session)
                except OSError as error:
                    problem = error.strerror or error
                    raise UsageError(
                        f"LightRAG's files cannot be written to {self._folder} ({problem})."
                    ) from error
        return session.usage

    async def read(self, session: QuestionSession) -> Reading:
        """Search, and answer from the results. Raises DecisionError."""
        if not self._documents:
            return session.unanswered(NO_TEXT)
        session.count(await self.build(), ReadInTask.phase)
        workspace = (self._folder / _COMPLETE).read_text()
        share = min(1.0, self.window / 30_000)  # the defaults are made for 30,000 tokens
        async with self._opened(workspace, _Service(session, KeywordsTask), self._embedder) as rag:
            param = load_package().QueryParam(
                max_entity_tokens=int(6_000 * share),
                max_relation_tokens=int(8_000 * share),
                enable_rerank=False,
            )
            found = (await rag.aquery_data(session.question, param)).get("data") or {}
        graph = _graph_lines(found)
        excerpts = [Excerpt("Entities and relations", "\n".join(graph), -1)] if graph else []
        excerpts += [self._excerpt(*one) for one in enumerate(found.get("chunks", []))]
        if not excerpts:
            return session.unanswered("LightRAG found nothing about the question.")
        for line in graph:
            session.coverage.derived(line)
        return await answer_from(session, excerpts)

    def _excerpt(self, place: int, chunk: Mapping[str, Any]) -> Excerpt:
        """Make an excerpt of a chunk; its place is unknown if LightRAG changed the text."""
        document = self._documents[chunk["file_path"]]
        text = chunk["content"].strip("\ufffd")  # a part of a cut character
        start = without_controls(document.text, " ").find(text)
        size = tokens.count(text)
        passage = TextPassage(document, place, start, text, size) if start >= 0 else None
        return Excerpt(document.title, text, 2 * place, passage=passage)

    async def _read_in(self, session: QuestionSession) -> None:
        """Build the index in a new folder, which counts once it is complete."""
        workspace = uuid4().hex[:12]
        service = _Service(session, ReadInTask)
        texts = [without_controls(one.text, " ") for one in self._documents.values()]
        ids = list(self._documents)
        try:
            async with self._opened(workspace, service, self._embedder) as rag:
                await rag.ainsert(texts, ids=ids, file_paths=ids)
                failed = await rag.get_docs_by_status(_part("base").DocStatus.FAILED)
            service.raise_failure()
            if failed:
                problem = next(iter(failed.values())).error_msg
                raise DecisionError(f"LightRAG could not read the texts in: {problem}")
            with atomic_write(self._folder / _COMPLETE) as file:
                file.write(workspace.encode())
        except BaseException:
            shutil.rmtree(self._folder / workspace, ignore_errors=True)
            raise

    @asynccontextmanager
    async def _opened(
        self, workspace: str, service: "_Service", embedder: Embedder
    ) -> AsyncIterator[Any]:
        """Open LightRAG over a folder; its model and embeddings are functions of `service`."""
        package = load_package()
        first = next(iter(self._documents.values()))
        rag = package.LightRAG(
            working_dir=str(self._folder),
            workspace=workspace,
            tokenizer=Tokenizer(),
            embedding_func=_part("utils").EmbeddingFunc(
                embedder.dimension, service.embed_by(embedder)
            ),
            llm_model_func=service.model(),
            llm_model_max_async=self._builder.concurrency,
            max_parallel_insert=self._builder.concurrency,
            default_llm_timeout=_NO_TIMEOUT,
            default_embedding_timeout=_NO_TIMEOUT,
            enable_llm_cache=False,  # we keep replies ourselves
            enable_llm_cache_for_entity_extract=False,
            addon_params={
                "language": _LANGUAGES[language_of(first.text)],
                "entity_types": _part("constants").DEFAULT_ENTITY_TYPES,
            },
        )
        await rag.initialize_storages()
        await _part("kg.shared_storage").initialize_pipeline_status()
        try:
            yield rag
        finally:
            await rag.llm_model_func.shutdown()
            await rag.embedding_func.shutdown()


class _Service:
    """The model and the embeddings of one session, as functions for LightRAG.

    LightRAG logs errors and goes on, so after the first error no further request is sent.
    """

    def __init__(self, session: QuestionSession, task: type[PlainTask]) -> None:
        self._session = session
        self._task = task
        self._failure: DecisionError | None = None

    def raise_failure(self) -> None:
        """Raise the first error of a request, if there was one, with the cost so far."""
        if self._failure:
            self._failure.spent = self._session.usage
            raise self._failure

    def model(self) -> Callable[..., Awaitable[str]]:
        """Make the function that replies to LightRAG; no method, since LightRAG would copy it."""

        async def reply(
            prompt: str,
            system_prompt: str | None = None,
            history_messages: Sequence[Mapping[str, str]] | None = None,
            **_: object,
        ) -> str:
            messages = [("system", system_prompt)] if system_prompt else []
            messages += [(one["role"], one["content"]) for one in history_messages or ()]
            task = self._task((*messages, ("user", prompt)))
            result = await self._guard(lambda: self._session.decide(task))
            return str(result.decision.text)

        return reply

    def embed_by(self, embedder: Embedder) -> Callable[..., Awaitable[Any]]:
        """Make the function that embeds texts for LightRAG."""

        async def embed(texts: Sequence[str], **_: object) -> Any:
            return np.asarray(await self._guard(lambda: embed_all(embedder, texts)), np.float32)

        return embed

    async def _guard(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        self.raise_failure()
        try:
            return await ask()
        except DecisionError as error:
            self._failure = self._failure or error
            raise


def _graph_lines(found: Mapping[str, Any]) -> list[str]:
    """Format entities and relations as LightRAG shows them to a model, the best first."""
    entities = [
        {
            "entity": one["entity_name"],
            "type": one["entity_type"],
            "description": one["description"],
        }
        for one in found.get("entities", [])
    ]
    relations = [
        {"entity1": one["src_id"], "entity2": one["tgt_id"], "description": one["description"]}
        for one in found.get("relationships", [])
    ]
    return [json.dumps(one, ensure_ascii=False) for one in (*entities, *relations)]
