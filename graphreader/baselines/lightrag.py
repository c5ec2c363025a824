"""LightRAG (Guo et al. 2024, arXiv 2410.05779), by its own package, as a reader.

The package reads texts into its graph of entities and relations and searches it, with its own
prompts and defaults. The answer is drawn from what it finds by the prompt that all retrieval has.
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
from graphreader.llm.protocols import LONGEST_REPLY, Budget, Decider, Embedder, PlainTask
from graphreader.reading import Reading
from graphreader.settings import hidden_environment
from graphreader.text.sentences import language_of
from graphreader.usage import Phase, Usage

_STORAGES = ("json_kv_impl", "json_doc_status_impl", "nano_vector_db_impl", "networkx_impl")
_LANGUAGES = {"en": "English", "zh": "Chinese"}
_NO_TIMEOUT = 1_000_000  # seconds: requests have the timeouts and retries of our services
_COMPLETE = "complete"  # a file that names the folder of a finished reading

_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""One at a time reads in: the package has one queue of documents."""


@dataclass(frozen=True, slots=True)
class ReadInTask(PlainTask):
    """A request of the package as it reads texts in: entities and relations, or a summary."""

    prompt: ClassVar[str] = "lightrag"
    phase: ClassVar[Phase] = "extract"
    reply_tokens: ClassVar[int] = LONGEST_REPLY


@dataclass(frozen=True, slots=True)
class KeywordsTask(PlainTask):
    """Its request for the keywords of a question."""

    prompt: ClassVar[str] = "lightrag"
    phase: ClassVar[Phase] = "look_up"
    reply_tokens: ClassVar[int] = 500


@cache
def load_package() -> Any:
    """The package, without its log, its `.env` and its variables. Raises UsageError."""
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
    """A module of the package, which is loaded."""
    return import_module(f"lightrag.{name}")


class Tokenizer:
    """Our encoding as the package uses one; it copies its settings, and this copy is itself."""

    def __init__(self) -> None:
        encoding = tokens.load_encoding(tokens.DEFAULT)
        self.encode, self.decode = encoding.encode_ordinary, encoding.decode

    def __deepcopy__(self, memo: object) -> "Tokenizer":
        return self


class LightRAG(BaselineReader):
    """Answers from entities, relations and chunks that LightRAG finds (its mode "mix").

    `builder` reads the documents in, at the first question or by `build`; the working files are
    kept in a folder of `home` by documents, model and embeddings.
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
        """Read the documents in unless they are; returns the cost now. Raises DecisionError."""
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
        """Search, and answer from what is found. Raises DecisionError."""
        if not self._documents:
            return session.unanswered(NO_TEXT)
        session.count(await self.build(), ReadInTask.phase)
        workspace = (self._folder / _COMPLETE).read_text()
        share = min(1.0, self.window / 30_000)  # the defaults are made for that many tokens
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
        """A chunk; where it stands cannot be told if the package changed its text."""
        document = self._documents[chunk["file_path"]]
        text = chunk["content"].strip("\ufffd")  # of a character that was cut
        start = without_controls(document.text, " ").find(text)
        size = tokens.count(text)
        passage = TextPassage(document, place, start, text, size) if start >= 0 else None
        return Excerpt(document.title, text, 2 * place, passage=passage)

    async def _read_in(self, session: QuestionSession) -> None:
        """Read in to a folder of its own, which counts once it is complete."""
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
        """The package over that folder; what a model says it gets from the service."""
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
    """The model and the embeddings of one session, as functions.

    The package logs errors and goes on: after the first one nothing more is asked here.
    """

    def __init__(self, session: QuestionSession, task: type[PlainTask]) -> None:
        self._session = session
        self._task = task
        self._failure: DecisionError | None = None

    def raise_failure(self) -> None:
        """Raise the first error, if there was one, with the cost so far."""
        if self._failure:
            self._failure.spent = self._session.usage
            raise self._failure

    def model(self) -> Callable[..., Awaitable[str]]:
        """The function for its requests. It has to be a plain one: methods would be copied."""

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
        """The function for its vectors."""

        async def embed(texts: Sequence[str], **_: object) -> Any:
            return np.asarray(await self._guard(lambda: embedder.embed(texts)), np.float32)

        return embed

    async def _guard(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        self.raise_failure()
        try:
            return await ask()
        except DecisionError as error:
            self._failure = self._failure or error
            raise


def _graph_lines(found: Mapping[str, Any]) -> list[str]:
    """Entities and relations as the package shows them to a model, the best first."""
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
