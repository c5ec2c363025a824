"""Faults at random moments for half an hour, then random edits, and what they left: `make soak`."""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import cycle, islice
from pathlib import Path

from graphreader.settings import Settings
from tests.runs import edits
from tests.runs.faults import FAULTS, OPERATIONS, Server, Tally, Trials, disk
from tests.runs.forks import Forks

NUMBERS = {
    "trials": "trials",
    "disturbed": "disturbed",
    "failed": "failed in a sentence",
    "wrong_results": "wrong graph or answer",
    "failed_again": "failed again",
    "paid_twice": "paid twice",
    "no_sentence": "no sentence",
    "others_touched": "others touched",
    "stuck": "stuck",
}
KILLS = 4  # before each other fault
TOGETHER = ("reading in", "asking", "importing", "normalizing")


def main() -> int:
    """Trials of all kinds, in turn, until the time is over; 1 if any was not clean."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--sequences", type=int, default=1000, help="of random edits")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder, _neo4j_disk(Path(folder, "neo4j")):
        server = Server(Path(folder, "neo4j"))
        try:
            with (
                Forks() as forks,
                Trials(forks, server.settings, Path(folder), options.seed, server) as trials,
            ):
                for name, kind in _kinds(trials):
                    if time.monotonic() > end:
                        break
                    trials.run(name, kind)
                    if kind != "killed":
                        _print(trials.tallies)
            faults = _edit(server.settings, Path(folder, "edits"), options.seed, options.sequences)
        finally:
            server.stop()
    _print(trials.tallies, with_examples=True)
    print(f"seed {options.seed}")
    return 0 if not faults and all(one.is_clean for one in trials.tallies.values()) else 1


def _edit(neo4j: Settings, folder: Path, seed: int, most: int) -> int:
    """The number of faults in so many random sequences of edits, in batches that a fault ends."""
    sequences = steps = faults = 0
    while sequences < most:
        number = min(25, most - sequences)
        tried, more, fault = edits.run(neo4j, folder, sequences=number, number=seed + sequences)
        sequences, steps, faults = sequences + tried, steps + more, faults + bool(fault)
        print(f"random edits: {sequences} sequences, {steps} steps, {faults} faults", flush=True)
        if fault:
            print(fault, file=sys.stderr, flush=True)
    return faults


def _kinds(trials: Trials) -> Iterator[tuple[str, str]]:
    """Operations and faults without end: some kills, then one of the other faults, in turn."""
    kinds = [one for one, fault in FAULTS.items() if os.geteuid() == 0 or not fault.root]
    names = cycle(OPERATIONS)
    while True:
        for kind in kinds[1:]:
            for name in islice(names, KILLS):
                yield name, kinds[0]
            together = FAULTS[kind].number > 1
            yield trials.dice.choice(TOGETHER if together else list(OPERATIONS)), kind


def _neo4j_disk(folder: Path) -> AbstractContextManager[None]:
    """A disk that may be filled; where nobody is root, only a folder."""
    return disk(folder, "size=400m") if os.geteuid() == 0 else nullcontext()


def _print(tallies: Mapping[str, Tally], *, with_examples: bool = False) -> None:
    print(f"\n| what | {' | '.join(NUMBERS.values())} |\n| --- |{' ---: |' * len(NUMBERS)}")
    total: Counter[str] = Counter()
    for kind, one in sorted(tallies.items()):
        numbers = {name: getattr(one, name) for name in NUMBERS}
        total.update(numbers)
        print(f"| {kind} | {' | '.join(map(str, numbers.values()))} |")
        for example in one.examples[:3] if with_examples else ():
            print(f"  {example}", file=sys.stderr)
    print(f"| all | {' | '.join(str(total[name]) for name in NUMBERS)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
