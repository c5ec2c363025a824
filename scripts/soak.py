"""Faults at random moments for half an hour, then random edits, and what they left: `make soak`."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from graphreader.settings import Settings
from tests.runs import edits
from tests.runs.faults import OPERATIONS, Server, Tally, Trials
from tests.runs.forks import Forks


def main() -> int:
    """Trials of all kinds, in turn, until the time is over; 1 if any was not clean."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--sequences", type=int, default=1000, help="of random edits")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder, Forks() as forks:
        server = Server(Path(folder, "neo4j"))
        try:
            with Trials(forks, server.settings, Path(folder), options.seed) as trials:
                while time.monotonic() < end:
                    for name in OPERATIONS:
                        for _ in range(4):
                            trials.kill(name)
                    name = trials.dice.choice(list(OPERATIONS))
                    trials.freeze(name, server)
                    trials.restart(name, server)
                    trials.together(trials.dice.choice(("reading in", "importing", "normalizing")))
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


def _print(tallies: Mapping[str, Tally], *, with_examples: bool = False) -> None:
    titles = "trials", "disturbed", "wrong graphs", "failures", "many words", "others touched"
    print(f"\n| what | {' | '.join(titles)} |\n| --- |{' ---: |' * len(titles)}")
    total: Counter[str] = Counter()
    for kind, one in sorted(tallies.items()):
        numbers = {
            "trials": one.trials,
            "disturbed": one.disturbed,
            "wrong graphs": one.wrong_graphs,
            "failures": one.failures,
            "many words": one.words,
            "others touched": one.others,
        }
        total.update(numbers)
        print(f"| {kind} | {' | '.join(map(str, numbers.values()))} |")
        for example in one.examples[:3] if with_examples else ():
            print(f"  {example}", file=sys.stderr)
    print(f"| all | {' | '.join(str(total[title]) for title in titles)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
