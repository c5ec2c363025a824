"""Makes the pictures of README and docs out of the real program: `make pictures`.

It reads the example text into the corpus `demo` of the configured Neo4j (the embedded one, where
none is configured) without a model, asks the demo's question, and looks at the graph in Neo4j
Browser with a Chromium that must be installed (CHROMIUM names it, else `chromium` on the path).
"""

import os
import shutil
import sys
from pathlib import Path

from examples.demo import QUESTION, TEXT
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings, load_environment
from graphreader.store.embedded import server as embedded
from scripts.agent_drawing import drawings_in, write_drawing
from scripts.browser_picture import graph_pictures
from scripts.page_picture import page_picture
from scripts.terminal_picture import terminal_picture

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"

INSPECT = ROOT / "cypher" / "inspect"

GRAPHS = {
    INSPECT / "surroundings.cypher": PICTURES / "graph.png",
    INSPECT / "chain.cypher": PICTURES / "chain.png",
    INSPECT / "run.cypher": PICTURES / "run.png",
    INSPECT / "why.cypher": PICTURES / "why.png",
}
"""Each saved query that draws something worth a picture, and where that is."""


def main() -> None:
    """Make them all."""
    load_environment()
    settings = Settings.read(model="offline", embeddings="offline")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if settings.neo4j_uri:
        sys.exit("The pictures are made with the embedded Neo4j: unset NEO4J_URI.")
    if not chromium:
        sys.exit("No Chromium was found: install it, or name it in CHROMIUM.")
    PICTURES.mkdir(exist_ok=True)
    with GraphReader("demo", settings=settings) as reader:
        reader.ingest(TEXT)
        terminal_picture(reader, QUESTION, PICTURES / "ask.svg")
        reader.ask(QUESTION, mode="paper", keep_run=True)
    page_picture(settings, "demo", QUESTION, PICTURES / "page.png", chromium)
    graph_pictures(embedded.ensure_running(settings), GRAPHS, chromium)
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        if drawings_in(document):
            write_drawing(document)
    for picture in sorted(PICTURES.iterdir()):
        print(f"{picture.relative_to(ROOT)}  {picture.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
