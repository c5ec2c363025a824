"""What `graphreader ask` shows in a terminal, as SVG."""

import io
import re
from pathlib import Path

from rich.console import Console

from graphreader.cli.watch import watch
from graphreader.graph_reader import GraphReader

COLUMNS = 110


def terminal_picture(reader: GraphReader, question: str, target: Path) -> None:
    """Ask in mode `paper`, whose paths are much to look at, and save what a person sees."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(
        f'$ graphreader ask "{question}" --corpus {reader.corpus} --mode paper', highlight=False
    )
    watch(reader.stream(question, mode="paper"), console)
    svg = console.export_svg(title="graphreader ask", unique_id="ask")
    # The picture loads no font from a server: every viewer has a monospaced one.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", "Fira Code, DejaVu Sans Mono, Menlo, monospace")
    target.write_text(re.sub(r"[ \t]+\n", "\n", svg), encoding="utf-8")
