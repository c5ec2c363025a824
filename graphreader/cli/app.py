"""The application of the command line: its commands, common options and error messages."""

import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from graphreader.cli import (
    ask,
    corpora,
    estimate,
    evaluate,
    ingest,
    options,
    preview,
    runs,
    serve,
    services,
)
from graphreader.cli.console import (
    Quiet,
    configure_output,
    cost_text,
    print_error,
)
from graphreader.cli.log import set_up_logging
from graphreader.cli.signals import Interrupted
from graphreader.errors import DecisionError, GraphReaderError

_EPILOG = """
[bold]Examples[/bold]

  graphreader ingest books/ notes.md
  graphreader ask "Who taught the founder of the school?"
  graphreader ask "..." --corpus books --json
  graphreader browser --open
  graphreader doctor

A model is used when OPENAI_API_KEY or GRAPHREADER_MODEL is set, in the environment or in .env.
"""


def _group(help: str, **options: Any) -> typer.Typer:
    return typer.Typer(help=help, rich_markup_mode="rich", no_args_is_help=True, **options)


app = _group(
    "Answers questions about texts far larger than a model's window.",
    epilog=_EPILOG,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_neo4j = _group("Start, stop and inspect the embedded Neo4j server.")
_cache = _group("Count or clear the cached replies of models, which save paying twice.")
_runs = _group("List, show, continue and delete kept runs.")
_token = _group("Make, list and revoke the access tokens of `graphreader serve`.")

_COMMANDS: tuple[tuple[typer.Typer, str, Callable[..., None]], ...] = (
    (app, "ingest", ingest.ingest),
    (app, "preview", preview.preview),
    (app, "estimate", estimate.estimate),
    (app, "ask", ask.ask),
    (app, "evaluate", evaluate.evaluate),
    (app, "report", evaluate.report),
    (app, "list", corpora.list_documents),
    (app, "stats", corpora.stats),
    (app, "outline", corpora.outline),
    (app, "tag", corpora.tag),
    (app, "delete", corpora.delete),
    (app, "reindex", corpora.reindex),
    (app, "normalize", corpora.normalize),
    (app, "export", corpora.export_corpus),
    (app, "import", corpora.import_corpus),
    (app, "browser", services.browser),
    (app, "doctor", services.doctor),
    (app, "mcp", services.mcp),
    (app, "serve", serve.serve),
    (_neo4j, "start", services.start_neo4j),
    (_neo4j, "stop", services.stop_neo4j),
    (_neo4j, "status", services.neo4j_status),
    (_cache, "stats", services.cache_stats),
    (_cache, "clear", services.clear_cache),
    (_runs, "list", runs.list_runs),
    (_runs, "show", runs.show_run),
    (_runs, "resume", runs.resume_run),
    (_runs, "delete", runs.delete_runs),
    (_token, "create", serve.create_token),
    (_token, "list", serve.list_tokens),
    (_token, "revoke", serve.revoke_token),
)


def _add(group: typer.Typer, name: str, function: Callable[..., None]) -> None:
    """Add a command whose docstring is its help, and at the end has its examples.

    Each paragraph of the help is one line, which the terminal breaks.
    """
    text, _, examples = (inspect.getdoc(function) or "").partition("\n\nExamples:\n")
    examples = examples.replace("[", r"\[")
    epilog = f"\n[bold]Examples[/bold]\n\n{examples}" if examples else None
    help = re.sub(r"(?<!\n)\n(?!\n)", " ", text)
    group.command(name, help=help, epilog=epilog)(function)


for _row in _COMMANDS:
    _add(*_row)
for _name, _child in (("neo4j", _neo4j), ("cache", _cache), ("runs", _runs), ("token", _token)):
    app.add_typer(_child, name=_name)


def _show_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print(f"graphreader {version('graphreader-agent')}")
        raise typer.Exit


@app.callback()
def set_common_options(
    debug: options.DebugFlag = False,
    log_level: options.Log = None,
    _version: Annotated[
        bool,
        options.flag(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Apply the options that all commands share."""
    Debug.enabled, Quiet.enabled = debug, False
    set_up_logging(log_level, debug=debug)


def run() -> int | str | None:
    """Run the command of `sys.argv` and return its exit code."""
    code: int | str | None = 0
    try:
        configure_output()
        app(ingest.with_ray_address(sys.argv[1:]), prog_name="graphreader")
    except BaseException as error:
        code = report_error(error)
    try:
        if sys.stdout:
            sys.stdout.flush()  # a full disk shows only now
    except OSError as error:
        _silence_stdout()
        return report_error(error)
    return code


# Failures


class Debug:
    """Whether `--debug` is set."""

    enabled: ClassVar[bool] = False


def report_error(error: BaseException) -> int | str | None:
    """Print one sentence about an error on stderr and return the exit code.

    Only the type of an unexpected exception is printed: its message may hold texts or secrets.
    """
    if isinstance(error, SystemExit):
        return error.code
    if Debug.enabled:
        from graphreader.settings import redact

        print(redact("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    if Interrupted.received and not isinstance(error, Interrupted):
        error = Interrupted(Interrupted.received)
    if isinstance(error, BrokenPipeError):
        _silence_stdout()  # the reader of our output has closed it
        return 1
    print_error(_sentence(error))
    if isinstance(error, DecisionError) and error.spent.calls and error.spent.tokens:
        print_error(f"Spent: {cost_text(error.spent)}.")
    return error.exit_code if isinstance(error, Interrupted | GraphReaderError) else 1


def _sentence(error: BaseException) -> str:
    if isinstance(error, Interrupted):
        return " ".join(["Stopped.", *getattr(error, "__notes__", [])])
    if isinstance(error, GraphReaderError):
        return str(error)
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        where = f" ({error.filename})" if error.filename else ""
        return f"The operating system reports: {reason}{where}. Check the disk and the permissions."
    return (
        f"An unexpected error occurred ({type(error).__name__}{_place(error)}): run again with "
        "`graphreader --debug ...` to see where it came from."
    )


def _place(error: BaseException) -> str:
    """The innermost line of this package in the traceback; the error may not occur again."""
    package = Path(__file__).parents[1]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(package):
            return f" in {Path(frame.filename).relative_to(package)}, line {frame.lineno}"
    return ""


def _silence_stdout() -> None:
    """Discard buffered output, which the interpreter would complain about at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
