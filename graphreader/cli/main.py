"""The `graphreader` command: which subcommands there are, and what happens when one fails."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from graphreader.cli import (
    ask,
    browser,
    cache,
    corpora,
    doctor,
    estimate,
    evaluate,
    exchange,
    ingest,
    mcp,
    neo4j,
    normalize,
    reindex,
    results,
    runs,
)
from graphreader.cli.failing import Debug, exit_code_of, heed_signals, silence_stdout
from graphreader.cli.logs import LogLevel, set_up_logs
from graphreader.cli.printing import print_readably

EXAMPLES = """
[bold]Examples[/bold]

  graphreader ingest books/ notes.md
  graphreader ask "Who taught the founder of the school?"
  graphreader ask "..." --corpus books --json
  graphreader browser --open
  graphreader doctor

A model is used when OPENAI_API_KEY or GRAPHREADER_MODEL is set, in the environment or in .env.
"""

INGEST_EXAMPLES = """
[bold]Examples[/bold]

  graphreader ingest notes.md
  graphreader ingest books/ letters/ --corpus library
  graphreader ingest books/ --include "*.epub" --exclude drafts
  graphreader ingest - --id notes < notes.txt
  graphreader ingest books/ --corpus library --dry-run
  graphreader ingest --retry-failed --corpus library
"""

ESTIMATE_EXAMPLES = """
[bold]Examples[/bold]

  graphreader estimate books/
  GRAPHREADER_MODEL=openai:gpt-5.4-mini graphreader estimate books/
"""

ASK_EXAMPLES = """
[bold]Examples[/bold]

  graphreader ask "Who taught the founder of the school?"
  graphreader ask "..." --corpus library --json | jq -r .answer
  graphreader ask --file questions.jsonl --out answers.jsonl --mode fast
"""

EVALUATE_EXAMPLES = """
[bold]Examples[/bold]

  graphreader evaluate samples --out first-look
  graphreader evaluate questions.jsonl --readers graphreader,full-text --limit 50 --out results
  graphreader evaluate musique.jsonl --lengths native,64k --pool passages.jsonl --out results
  graphreader evaluate musique.jsonl --models openai:gpt-5.4,openai:gpt-5.4-mini --estimate-only
"""

DELETE_EXAMPLES = """
[bold]Examples[/bold]

  graphreader delete notes.md
  graphreader delete --all --corpus library --yes
"""

NORMALIZE_EXAMPLES = """
[bold]Examples[/bold]

  graphreader normalize --dry-run
  graphreader normalize --corpus library --report merges.json
  graphreader normalize --undo
"""

EXPORT_EXAMPLES = """
[bold]Examples[/bold]

  graphreader export library.jsonl --corpus library
  graphreader export - --corpus library | gzip > library.jsonl.gz
"""

IMPORT_EXAMPLES = """
[bold]Examples[/bold]

  graphreader import library.jsonl
  gunzip -c library.jsonl.gz | graphreader import - --corpus copy
"""

app = typer.Typer(
    help="Answers questions about texts far larger than a model's window.",
    epilog=EXAMPLES,
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.command("ingest", epilog=INGEST_EXAMPLES)(ingest.ingest)


app.command("estimate", epilog=ESTIMATE_EXAMPLES)(estimate.estimate)


app.command("ask", epilog=ASK_EXAMPLES)(ask.ask)


app.command("evaluate", epilog=EVALUATE_EXAMPLES)(evaluate.evaluate)


app.command("report")(results.report)


app.command("list")(corpora.list_)


app.command("stats")(corpora.stats)


app.command("delete", epilog=DELETE_EXAMPLES)(corpora.delete)


app.command("reindex")(reindex.reindex)


app.command("normalize", epilog=NORMALIZE_EXAMPLES)(normalize.normalize)


app.command("export", epilog=EXPORT_EXAMPLES)(exchange.export)


app.command("import", epilog=IMPORT_EXAMPLES)(exchange.import_)


app.command("browser")(browser.browser)


app.command("doctor")(doctor.doctor)


app.command("mcp")(mcp.mcp)


app.add_typer(neo4j.app, name="neo4j")


app.add_typer(cache.app, name="cache")


app.add_typer(runs.app, name="runs")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"graphreader {version('graphreader')}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where a failure comes from.")
    ] = False,
    log_level: Annotated[
        LogLevel | None,
        typer.Option(
            "--log-level",
            case_sensitive=False,
            show_choices=True,
            help="Log to stderr what happens, from this level on.",
        ),
    ] = None,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options that all commands share."""
    Debug.wanted = debug
    set_up_logs(log_level, debug=debug)


def main() -> None:
    """Run the command line.

    Exits with 0, 1 (it failed), 2 (wrong usage) or 128 plus a signal's number (130 for Ctrl-C).
    """
    print_readably()
    sys.exit(_flushed(_run()))


def _run() -> int | str | None:
    try:
        heed_signals()
        app(prog_name="graphreader")
    except BaseException as error:
        return exit_code_of(error)
    return 0


def _flushed(code: int | str | None) -> int | str | None:
    """The exit code, once all output is out; a disk that is full shows only now."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError as error:
        silence_stdout()
        return exit_code_of(error)
    return code
