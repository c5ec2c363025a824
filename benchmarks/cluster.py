"""How much faster two nodes of a Ray cluster read in than one, both on this machine.

    python -m benchmarks.cluster

Each node has one processor. What limits them is the parsing of PDFs, then a model of which each
node has two replies of 300 ms at once. Measured from the first look at the files to the end, by
turns, without the start of the cluster. One process without Ray reads the same for comparison.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ray.cluster_utils import Cluster

from benchmarks import texts
from benchmarks.model_overhead import answering, corpus, neo4j
from graphreader.ingestion.report import IngestEvent, SourceCount
from graphreader.settings import Settings

ROUNDS = 1
A_NODE = 2  # requests at once
CHUNKS = 480
FILES, PAGES, WORDS = 40, 120, 160


def pdf(dice: random.Random, pages: int, words: int) -> bytes:
    """Pages whose words are placed one by one, as typesetting programs do."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"",
        b"<</Type/Font/Subtype/Type1/BaseFont/Times>>",
    ]
    for _ in range(pages):
        lines = [
            f"1 0 0 1 {50 + 60 * (n % 8)} {750 - 14 * (n // 8)} Tm (w{dice.randrange(999)} ) Tj"
            for n in range(words)
        ]
        stream = f"BT /F 10 Tf {' '.join(lines)} ET".encode()
        objects.append(b"<</Length %d>>stream\n%b\nendstream" % (len(stream), stream))
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R"
            b"/Resources<</Font<</F 3 0 R>>>>>>" % len(objects)
        )
    kids = b" ".join(b"%d 0 R" % number for number in range(5, len(objects) + 1, 2))
    objects[1] = b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, pages)
    data, places = b"%PDF-1.4\n", list[int]()
    for number, one in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj%b endobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    end = b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF" % (size, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n%b%b" % (size, table, end)


@contextmanager
def cluster(nodes: int) -> Iterator[str]:
    """The address of a cluster of so many nodes."""
    made: Any = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    try:
        for _ in range(nodes):
            made.add_node(num_cpus=1)
        yield made.address
    finally:
        made.shutdown()


def seconds(settings: Settings, folder: Path, ray: str | None) -> float:
    """How long it takes to read a folder into a corpus of its own."""
    began = 0.0

    def on_event(event: IngestEvent) -> None:
        nonlocal began
        if isinstance(event, SourceCount):
            began = time.perf_counter()

    with corpus(settings) as reader:
        report = reader.ingest(folder, ray=ray, normalize=False, progress=on_event)
        taken = time.perf_counter() - began
    if not report.complete:
        raise RuntimeError(f"Not everything was read: {report}")
    return taken


def compare(what: str, settings_of: Callable[[int], Settings], folders: Sequence[Path]) -> None:
    """Print a row: one process, one node, two nodes."""
    taken = {"one process": 0.0, "one node": 0.0, "two nodes": 0.0}
    for folder in folders:
        taken["one process"] += seconds(settings_of(1), folder, None)
        for name, nodes in (("one node", 1), ("two nodes", 2)):
            with cluster(nodes) as address:
                taken[name] += seconds(settings_of(nodes), folder, address)
    cells = " | ".join(f"{one / len(folders):.1f} s" for one in taken.values())
    print(f"| {what} | {cells} | {taken['one node'] / taken['two nodes']:.2f} |", flush=True)


def main() -> None:
    """Measure and print."""
    with TemporaryDirectory() as name, answering() as server:
        folder = Path(name)
        with neo4j(server, folder / "home") as with_cache:
            settings = with_cache.model_copy(update={"keep_replies": "off"})
            offline = settings.model_copy(update={"model": "offline", "embeddings": "offline"})
            warm = texts.write(folder / "warm", CHUNKS // 4, 4, 10**6)
            seconds(settings, warm, None)
            print("| limited by | one process | one node | two nodes | two nodes to one |")
            print("| --- | --- | --- | --- | --- |")
            pdfs = []
            for number in range(ROUNDS):
                pdfs.append(folder / f"pdf {number}")
                pdfs[-1].mkdir()
                for file in range(FILES):
                    data = pdf(random.Random(number * FILES + file), PAGES, WORDS)
                    (pdfs[-1] / f"{file}.pdf").write_bytes(data)
            compare("parsing of PDFs", lambda _: offline, pdfs)
            chunks = [
                texts.write(folder / f"texts {number}", CHUNKS, 4, number * CHUNKS)
                for number in range(ROUNDS)
            ]
            compare(
                "a model of 300 ms, 2 at once a node",
                lambda nodes: settings.model_copy(update={"concurrency": A_NODE * nodes}),
                chunks,
            )


if __name__ == "__main__":
    main()
