"""What a person sees when a command fails: a sentence on stderr, a traceback only with --debug."""

import os
import sys
import traceback

from graphreader.errors import GraphReaderError

INTERRUPTED = 130


class Debug:
    """Whether `--debug` was given."""

    wanted = False


def exit_code_of(error: BaseException) -> int | str | None:
    """Tell what went wrong and return the exit code that says so."""
    if isinstance(error, SystemExit):
        return error.code
    if Debug.wanted:
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, KeyboardInterrupt):
        complain("Stopped. What was read so far is kept; the same command goes on from there.")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has gone; nobody is left to be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if isinstance(error, GraphReaderError):
        complain(str(error))
        return error.exit_code
    if isinstance(error, OSError):
        complain(f"The system refuses: {error}. Check the disk and the permissions.")
        return 1
    complain(f"Something unforeseen happened: {error!r}. Run again with --debug to see where.")
    return 1


def complain(sentence: str) -> None:
    """Say it on stderr."""
    print(sentence, file=sys.stderr)
