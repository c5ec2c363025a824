"""How a person names the texts that a command is to read."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from graphreader.errors import UsageError

STDIN = "-"


def _patterns(files: str) -> Any:
    return typer.Option(
        metavar="PATTERN",
        default_factory=list,
        show_default=False,
        help=f"Of folders, {files} (repeatable).",
    )


Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        default_factory=list,
        show_default=False,
        help="Files, folders, or - for stdin.",
    ),
]

Include = Annotated[list[str], _patterns("only these files")]
Exclude = Annotated[list[str], _patterns("not these files")]

Name = Annotated[
    str | None, typer.Option("--id", metavar="NAME", help="The name of what comes on stdin.")
]


def expanded(paths: Sequence[str], name: str | None) -> list[str]:
    """The paths with `~` as the home folder; stdin, and nothing else, is given a name.

    Raises UsageError where there is nothing to read, or a name too few or too many, and where
    stdin is a keyboard.
    """
    if not paths:
        raise UsageError("Name what to read: files, folders, or - for what comes on stdin.")
    if STDIN in paths and not (name and name.strip()):
        raise UsageError("What comes on stdin needs a name: add --id NAME.")
    if name is not None and STDIN not in paths:
        raise UsageError("--id names what comes on stdin: add - as a PATH, or leave it out.")
    if STDIN in paths and sys.stdin and sys.stdin.isatty():  # Ctrl-C would not end the waiting
        raise UsageError("Nothing is piped in: add a file to the command, as in `< notes.txt`.")
    # Not Path.expanduser, which takes the file `~backup.txt` for the home of an unknown user.
    return [os.path.expanduser(path) for path in paths]
