"""The same chronicle read in by LightRAG's own package, with Neo4j as the storage of its graph.

Its model replies at once, in its own format, with the entities of `benchmarks.ingest` and one
relation for each fact with two names or more, so fewer than there are facts. Chunks are the same.
Second passes and its cache of replies are off. Its other storages are its defaults: vectors, texts
and states as JSON files.
"""

import asyncio
import gc
import os
import re
import tempfile
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.chronicle import Chronicle, InstantDecider, InstantEmbedder
from benchmarks.measured import Clock, Measured, peak_memory
from graphreader.baselines.lightrag import Tokenizer, load_package
from graphreader.cli.main import COLLECTIONS
from graphreader.settings import hidden_environment
from graphreader.store.connection import Address

_CHUNK = re.compile(r"Part (\d+) of the chronicle\.")

COUNTS = """
MATCH (n:$($corpus))
RETURN count(n) AS entities, sum(COUNT { (n)-->() }) AS relations
"""


def write(
    address: Address, corpus: str, chronicle: Chronicle, *, parallel: int, requests: int
) -> Measured:
    """Read a chronicle in: so many documents, and requests to the model, at once."""
    return asyncio.run(_write(address, corpus, chronicle, parallel, requests))


async def _write(
    address: Address, corpus: str, chronicle: Chronicle, parallel: int, requests: int
) -> Measured:
    package = load_package()
    with hidden_environment():
        import_module("lightrag.kg.neo4j_impl")
    os.environ.update(
        NEO4J_URI=address.uri,
        NEO4J_USERNAME=address.username,
        NEO4J_PASSWORD=address.password,
        NEO4J_DATABASE=address.database or "neo4j",
    )
    gc.set_threshold(*COLLECTIONS)
    decider, embedder = InstantDecider(chronicle), InstantEmbedder(corpus)

    async def reply(prompt: str, system_prompt: str | None = None, **_: object) -> str:
        chunk = _CHUNK.search(system_prompt or "")
        return _extraction(decider, int(chunk[1])) if chunk else "A summary of what is known."

    async def embed(texts: Sequence[str], **_: object) -> Any:
        return np.asarray(await embedder.embed(texts), np.float32)

    with tempfile.TemporaryDirectory() as folder:
        rag = package.LightRAG(
            working_dir=folder,
            workspace=corpus,
            graph_storage="Neo4JStorage",
            tokenizer=Tokenizer(),
            embedding_func=import_module("lightrag.utils").EmbeddingFunc(embedder.dimension, embed),
            embedding_batch_num=100,
            embedding_func_max_async=requests,
            llm_model_func=reply,
            llm_model_max_async=requests,
            max_parallel_insert=parallel,
            entity_extract_max_gleaning=0,
            enable_llm_cache=False,
            enable_llm_cache_for_entity_extract=False,
        )
        await rag.initialize_storages()
        await import_module("lightrag.kg.shared_storage").initialize_pipeline_status()
        files = sorted(chronicle.texts.iterdir())
        texts = [file.read_text(encoding="utf-8") for file in files]
        clock = Clock()
        await rag.ainsert(
            texts,
            split_by_character="\n\n",
            split_by_character_only=True,
            file_paths=[file.name for file in files],
        )
        measured = Measured(clock.seconds, clock.cpu, memory=peak_memory())
        states = import_module("lightrag.base").DocStatus
        failed = await rag.get_docs_by_status(states.FAILED)
        for one in (await rag.get_docs_by_status(states.PROCESSED)).values():
            measured.written.extend([measured.seconds] * one.chunks_count)
        await rag.finalize_storages()
    await decider.aclose()
    if len(measured.written) != chronicle.chunks:
        raise RuntimeError(f"LightRAG did not read everything: {failed}")
    return measured


def _extraction(decider: InstantDecider, chunk: int) -> str:
    """The entities and relations of a chunk, in the package's format."""
    facts = decider.facts_of(chunk)
    described = {name: fact for fact, names in reversed(facts) for name in names}
    lines = [f"entity<|#|>{name}<|#|>other<|#|>{fact}" for name, fact in described.items()]
    lines += [
        f"relation<|#|>{names[0]}<|#|>{names[1]}<|#|>meeting<|#|>{fact}"
        for fact, names in facts
        if len(names) > 1
    ]
    return "\n".join([*lines, "<|COMPLETE|>"])
