"""Whether normalization helps to find evidence: the same questions, each stage on and off.

    python -m benchmarks.evidence musique.jsonl hotpotqa.jsonl

Each file holds records of a question, its documents and which of them support the answer
(`question`, `documents[]`, `supporting[].doc`). All documents of a file are one corpus, which is
read once; then it is normalized by other stages and every question is asked again. Told are the
share of supporting documents of which a path read a chunk, of which the answer cites words, and the
share of questions for which all of them were read. The model is the configured one, or none.

It uses the configured Neo4j, or an embedded one of its own in a temporary folder, and corpora of
its own, which are deleted at the end.
"""

import argparse
import asyncio
import json
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings, load_environment
from graphreader.store.embedded import server as embedded

VARIANTS = (
    "none",
    "semantic",
    "semantic,association",
)
AT_ONCE = 2
_CHUNK = re.compile(r"(.+), chunk \d+")


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of the supporting documents of some questions, as shares."""

    read: float
    cited: float
    all_read: float
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--questions", type=int, default=50, help="of each file, the first ones")
    parser.add_argument("--variants", nargs="+", default=VARIANTS, metavar="STAGES")
    given = parser.parse_args()
    load_environment()
    with tempfile.TemporaryDirectory(prefix="graphreader-evidence-") as home:
        settings = Settings.read(home=Path(home))
        try:
            for file in given.files:
                records = [json.loads(line) for line in file.open(encoding="utf-8")]
                found = _measured(settings, records, given.questions, given.variants)
                _print(file.stem, found)
        finally:
            if not settings.neo4j_uri:
                embedded.stop(settings)


def _measured(
    settings: Settings,
    records: Sequence[Mapping[str, Any]],
    questions: int,
    variants: Sequence[str],
) -> dict[str, tuple[Found, str]]:
    corpus = f"evidence-{uuid4().hex[:8]}"
    documents = {(one["title"], one["text"]) for record in records for one in record["documents"]}
    lines = [json.dumps({"title": title, "text": text}) for title, text in sorted(documents)]
    file = settings.home / f"{corpus}.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    with GraphReader(corpus, settings=settings) as reader:
        reader.ingest(file, normalize=False)
    found = {}
    try:
        for variant in variants:
            changed = settings.model_copy(update={"normalize": variant})
            with GraphReader(corpus, settings=changed) as reader:
                reader.normalize()
                sizes = reader.stats()
                graph = (
                    f"{sizes.key_elements:,} elements, {sizes.facts_per_element:.2f} facts and "
                    f"{sizes.neighbors_per_element:.1f} neighbors each"
                )
                found[variant] = asyncio.run(_asked(reader, records[:questions])), graph
    finally:
        with GraphReader(corpus, settings=settings) as reader:
            reader.delete(everything=True)
    return found


async def _asked(reader: GraphReader, records: Sequence[Mapping[str, Any]]) -> Found:
    gate = asyncio.Semaphore(AT_ONCE)

    async def ask(record: Mapping[str, Any]) -> Reading:
        async with gate:
            return await reader.aask(record["question"], mode="paper")

    began = time.monotonic()
    readings = await asyncio.gather(*map(ask, records))
    seconds = (time.monotonic() - began) / len(records)
    golds = [_gold(record) for record in records]
    pairs = [(gold, reading) for gold, reading in zip(golds, readings, strict=True) if gold]
    read = [len(gold & _read(reading)) / len(gold) for gold, reading in pairs]
    cited = [
        len(gold & {one.document for one in reading.citations}) / len(gold)
        for gold, reading in pairs
    ]
    return Found(_mean(read), _mean(cited), _mean([share == 1 for share in read]), seconds)


def _gold(record: Mapping[str, Any]) -> set[str]:
    """The titles of the documents that support the answer."""
    return {record["documents"][one["doc"]]["title"] for one in record["supporting"]}


def _read(reading: Reading) -> set[str]:
    """The titles of the documents of which a path read a chunk."""
    titles = set()
    for path in reading.paths:
        for call in path.functions:
            for part in (call.at, *call.argument.split("; ")):
                match = _CHUNK.fullmatch(part)
                if match and (call.name != "search_more" or part == call.at):
                    titles.add(match[1])
    return titles


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares) if shares else 0.0


def _print(name: str, found: Mapping[str, tuple[Found, str]]) -> None:
    print(f"\n{name}\n| stages | read | cited | all read | s a question | graph |")
    print("| --- | --- | --- | --- | --- | --- |")
    for variant, (one, graph) in found.items():
        print(
            f"| {variant} | {one.read:.3f} | {one.cited:.3f} | {one.all_read:.3f} "
            f"| {one.seconds:.2f} | {graph} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
