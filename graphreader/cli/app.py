"""The command line's application: its commands, its common options, how it runs."""

import re
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from graphreader.cli import ask, corpora, evaluate, ingest, runs, services
from graphreader.cli.console import configure_output
from graphreader.cli.diagnostics import (
    Debug,
    LogLevel,
    report_error,
    set_up_logging,
    silence_stdout,
)
from graphreader.cli.options import flag

EXAMPLES = (
    "graphreader ingest books/ notes.md",
    'graphreader ask "Who taught the founder of the school?"',
    'graphreader ask "..." --corpus books --json',
    "graphreader browser --open",
    "graphreader doctor",
)
"""What a person may type first."""

_MODEL_NOTE = (
    "A model is used when OPENAI_API_KEY or GRAPHREADER_MODEL is set, in the environment or in "
    ".env."
)
_BOUNDS = {
    "Input should be greater than or equal to ": "it must be at least ",
    "Input should be less than or equal to ": "it must be at most ",
    "Input should be a valid integer, unable to parse string as an integer": (
        "it must be an integer"
    ),
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
}


def _in_plain_words(message: str) -> str:
    """What typer says of a wrong value, without the words of the library that checks it."""
    message = message.removeprefix("Value error, ")
    for phrase, plain in _BOUNDS.items():
        message = message.replace(phrase, plain)
    return re.sub(
        r"does not match the formats? '%Y-%m-%d'", "is not a day like 2026-01-31", message
    )


class _PlainMixin:
    """Help without the type of flags, and messages about wrong values in plain words."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option:
            option.metavar = ""  # it would be `<bool>`
        return option

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc,no-any-return]
        except typer.BadParameter as error:
            error.message = _in_plain_words(error.message)
            raise


class _Command(_PlainMixin, TyperCommand):
    """A command."""


class _Group(_PlainMixin, TyperGroup):
    """A group of commands."""


def _group(help: str, **options: Any) -> typer.Typer:
    return typer.Typer(
        cls=_Group, help=help, rich_markup_mode="rich", no_args_is_help=True, **options
    )


def _epilog(examples: tuple[str, ...], note: str = "") -> str | None:
    if not examples:
        return None
    lines = "\n".join(f"  {example.replace('[', chr(92) + '[')}" for example in examples)
    return f"\n[bold]Examples[/bold]\n\n{lines}\n\n{note}\n"


app = _group(
    "Answers questions about texts far larger than a model's window.",
    epilog=_epilog(EXAMPLES, _MODEL_NOTE),
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_neo4j = _group("Start, stop and inspect the embedded Neo4j server.")
_cache = _group("Count or clear the cached replies of models, for which nobody pays twice.")
_runs = _group("List, show, continue and delete the runs that are kept.")

_COMMANDS: tuple[tuple[typer.Typer, str, Callable[..., None], tuple[str, ...]], ...] = (
    (app, "ingest", ingest.ingest, ingest.INGEST_EXAMPLES),
    (app, "estimate", ingest.estimate, ingest.ESTIMATE_EXAMPLES),
    (app, "ask", ask.ask, ask.EXAMPLES),
    (app, "evaluate", evaluate.evaluate, evaluate.EXAMPLES),
    (app, "report", evaluate.report, ()),
    (app, "list", corpora.list_documents, ()),
    (app, "stats", corpora.stats, ()),
    (app, "delete", corpora.delete, corpora.DELETE_EXAMPLES),
    (app, "reindex", corpora.reindex, ()),
    (app, "normalize", corpora.normalize, corpora.NORMALIZE_EXAMPLES),
    (app, "export", corpora.export_corpus, corpora.EXPORT_EXAMPLES),
    (app, "import", corpora.import_corpus, corpora.IMPORT_EXAMPLES),
    (app, "browser", services.browser, ()),
    (app, "doctor", services.doctor, ()),
    (app, "mcp", services.mcp, ()),
    (_neo4j, "start", services.start_neo4j, ()),
    (_neo4j, "stop", services.stop_neo4j, ()),
    (_neo4j, "status", services.neo4j_status, ()),
    (_cache, "stats", services.cache_stats, ()),
    (_cache, "clear", services.clear_cache, ()),
    (_runs, "list", runs.list_runs, runs.LIST_EXAMPLES),
    (_runs, "show", runs.show_run, runs.SHOW_EXAMPLES),
    (_runs, "resume", runs.resume_run, runs.RESUME_EXAMPLES),
    (_runs, "delete", runs.delete_runs, runs.DELETE_EXAMPLES),
)

for _parent, _name, _function, _examples in _COMMANDS:
    _parent.command(_name, cls=_Command, epilog=_epilog(_examples))(_function)
for _name, _child in (("neo4j", _neo4j), ("cache", _cache), ("runs", _runs)):
    app.add_typer(_child, name=_name)


def _show_version(requested: bool) -> None:
    if requested:
        print(f"graphreader {version('graphreader')}")
        raise typer.Exit


@app.callback()
def set_common_options(
    debug: Annotated[bool, flag("--debug", help="Show the traceback of a failure.")] = False,
    log_level: Annotated[
        LogLevel | None,
        typer.Option(
            "--log-level",
            case_sensitive=False,
            show_choices=True,
            help="Log to stderr, from this level on.",
        ),
    ] = None,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            metavar="",
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Apply the options that all commands share."""
    Debug.enabled = debug
    set_up_logging(log_level, debug=debug)


def run() -> int | str | None:
    """Run the command of `sys.argv` and return its exit code."""
    try:
        configure_output()
        app(prog_name="graphreader")
        code: int | str | None = 0
    except BaseException as error:
        code = report_error(error)
    try:
        if sys.stdout:
            sys.stdout.flush()  # a full disk shows only now
    except OSError as error:
        silence_stdout()
        return report_error(error)
    return code
