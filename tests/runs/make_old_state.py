"""Writes the old state: an exported corpus, and runs that are finished or broken off.

    NEO4J_URI=bolt://... NEO4J_PASSWORD=... python -m tests.runs.make_old_state

The files in `tests/runs/old_state` were written by version 0.1.0 before runs and records were
rearranged, and are never written anew: later versions must read these very files. For a further
state, as of a later release, write another folder and let the test read both.
"""

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from graphreader.agent.events import FunctionChosen
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs import fixed_corpora as fixed
from tests.runs.test_resume import broken_off, plain
from tests.snapshots import steady

FOLDER = Path(__file__).parent / "old_state"
RUNS: dict[str, tuple[Any, int]] = {
    "paper-finished": ("paper", 0),
    "paper-broken": ("paper", 5),
    "adaptive-broken": ("adaptive", 3),
}
"""The mode of each run, and the chosen function after which it broke off (0: it is finished)."""


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        settings = fixed.settings(Settings.read(), home)
        with fixed.reserved(settings, fixed.CORPUS):
            write(settings)
        with closing(sqlite3.connect(home / "runs.sqlite")) as database:
            database.execute("UPDATE runs SET holder = '1 0 0'")
            database.commit()
            (FOLDER / "runs.sqlite").unlink(missing_ok=True)
            database.execute("VACUUM INTO ?", (os.fspath(FOLDER / "runs.sqlite"),))


def write(settings: Settings) -> None:
    """Write the exported corpus, the runs, and what unbroken runs of their modes give."""
    expected = {}
    with GraphReader(fixed.CORPUS, settings=settings) as reader:
        fixed.ingest_texts(reader)
        reader.export(FOLDER / "corpus.jsonl")
    for run, (mode, number) in RUNS.items():
        given, decider = settings.model_copy(update={"mode": mode}), fixed.decider()
        with GraphReader(fixed.CORPUS, settings=given, decider=decider) as reader:
            if number:
                broken_off(reader, FunctionChosen, number, fixed.QUESTION, run)
                paid = len(decider.asked)
                unkept = given.model_copy(update={"kept_runs": 0})
                with GraphReader(fixed.CORPUS, settings=unkept, decider=decider) as other:
                    whole = other.ask(fixed.QUESTION)
            else:
                whole = reader.ask(fixed.QUESTION, run=run)
                paid = len(decider.asked)
        expected[run] = {"paid": paid, "reading": plain_json(whole)}
    text = json.dumps(expected, ensure_ascii=False, indent=1, sort_keys=True)
    (FOLDER / "expected.json").write_text(text + "\n", encoding="utf-8")


def plain_json(reading: Reading) -> Any:
    """A reading as JSON without the id of its run and the time that it took."""
    return json.loads(json.dumps(steady(plain(reading).as_dict(), {}), sort_keys=True))


if __name__ == "__main__":
    main()
