"""Asking the person at the terminal before something is gone for good."""

import sys


def agreed(question: str) -> bool:
    """Whether the answer is yes; where nobody sits there, the command is enough."""
    if not (sys.stdin and sys.stdin.isatty()):
        return True
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
