"""The entry point of the `graphreader` command.

This module imports nothing slow, so that signals are handled from the beginning.
"""

import gc
import sys

from graphreader.cli.signals import Interrupted, handle_signals

COLLECTIONS = 50_000, 20, 20
"""Thresholds of the garbage collector, which took a sixth of the time of imports and ingests."""


def main() -> None:
    """Run the command line; exit with 0, 1 (failure), 2 (usage) or 128 plus a signal's number."""
    gc.set_threshold(*COLLECTIONS)
    try:
        handle_signals()
        from graphreader.cli.app import run

        code = run()
    except BaseException:
        if not Interrupted.received:
            raise
        print("Stopped.", file=sys.stderr)
        code = 128 + Interrupted.received
    sys.exit(code)
