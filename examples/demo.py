"""The main job from end to end, with the commands that a person types. `make demo` runs this.

`make serve` runs it with `serve` and its options: the text is read in, and the server begun.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

# Ctrl-C ends the demo with 130 from here on, also while it still imports.
signal.signal(signal.SIGINT, lambda *_: os._exit(130))

from graphreader.errors import GraphReaderError  # noqa: E402  # the handler comes first
from graphreader.settings import OFFLINE, Settings, load_environment  # noqa: E402

TEXT = Path(__file__).with_name("joan_of_arc.txt")
QUESTION = "Which saints were in Joan of Arc's visions, and which pope canonized her?"


def main() -> int:
    """Show it all; a failure is a sentence, as it is in the commands."""
    try:
        return show()
    except GraphReaderError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def show() -> int:
    """Read the text, ask the question, say where to look next."""
    load_environment()
    settings = Settings.read()
    corpus = "demo"
    if settings.chosen_model != OFFLINE:
        # What a model reads stays apart from what word overlap reads.
        corpus += "-" + re.sub(r"\W+", "-", settings.chosen_model)
    text = str(TEXT.relative_to(Path.cwd()) if TEXT.is_relative_to(Path.cwd()) else TEXT)
    commands = [
        ["ask", QUESTION, "--corpus", corpus, "--keep-run"],
        ["browser"],
    ]
    if serve := sys.argv[1:]:
        commands = [[*serve, "--corpus", corpus]]
    for arguments in (["ingest", text, "--corpus", corpus], *commands):
        code = run(arguments)
        if code:
            return code
    if serve:
        return 0
    print(
        "\nThe queries run and why in cypher/inspect draw there how the answer was found: "
        "docs/neo4j-browser.md\nsays how."
    )
    if not settings.neo4j_uri:
        print(
            "\nThe Neo4j server stays running (about 700 MB of memory), so that the next command "
            "is quick.\nStop it with: .venv/bin/graphreader neo4j stop"
        )
    return 0


def run(arguments: list[str]) -> int:
    """Show a command and run it. Ctrl-C reaches the command too; the demo waits for its end."""
    shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
    print(f"\n$ graphreader {shown}", flush=True)
    interrupted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    try:
        code = subprocess.run([sys.executable, "-m", "graphreader", *arguments], check=False)
    finally:
        signal.signal(signal.SIGINT, before)
    return 130 if interrupted else code.returncode


if __name__ == "__main__":
    sys.exit(main())
