"""The entry point of the `graphreader` command."""

import sys

from graphreader.cli.interrupt import Interrupted, handle_signals


def main() -> None:
    """Run the command line.

    Exits with 0, 1 (failure), 2 (wrong usage) or 128 plus a signal's number (130 for Ctrl-C).
    """
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
