"""`graphreader runs list|show|resume|delete`: commands on kept runs."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from graphreader.cli import options
from graphreader.cli.console import (
    confirm_or_exit,
    local_time,
    plural,
    print_json,
    print_result,
    print_table,
    styled_status,
    wide_console,
)
from graphreader.cli.startup import (
    check_report,
    open_reader,
    read_runs,
    read_settings,
    write_report,
)
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from graphreader.agent.run_store import RunSummary


_QUESTION_WIDTH = 100


def list_runs(corpus: options.OnlyCorpus = None, json: options.Json = False) -> None:
    """List the kept runs, newest first.

    Examples:
        graphreader runs list --corpus library
        graphreader runs list --json | jq -r '.runs[] | select(.status == "failed") | .run'
    """
    import asyncio

    runs = asyncio.run(read_runs(read_settings(), corpus))
    if json:
        print_json({"runs": [asdict(run) for run in runs]})
    elif runs:
        _print_runs(runs)
    else:
        print(
            f'No runs {f"of {corpus!r} " if corpus else ""}are kept: `graphreader ask "..."` makes '
            "one, unless GRAPHREADER_KEPT_RUNS is 0."
        )


def _print_runs(runs: "Sequence[RunSummary]") -> None:
    rows = []
    for run in runs:
        cells = (run.run, local_time(run.began), styled_status(run.status))
        rows.append((*cells, run.corpus, run.question[:_QUESTION_WIDTH]))
    print_table(rows, "Run", "Began", "Status", "Corpus", "Question")


def show_run(run: options.Run, report: options.Report = None, json: options.Json = False) -> None:
    """Show a run step by step: plan, functions and reasons, notebooks, answer.

    Examples:
        graphreader runs show 4f2a --json | jq .reading.claims
        graphreader runs show 4f2a --report report.html
    """
    check_report(report)
    with open_reader("default", graph=report is not None) as reader:
        kept = reader.run(run)
        if json:
            print_json(kept.as_dict())
        else:
            from graphreader.cli.watch import print_run

            print_run(wide_console(), kept)
        if kept.reading:
            write_report(reader, kept.reading, report)
        elif report is not None:
            raise UsageError("The run has no answer to report yet: resume it first.")


def resume_run(
    run: options.Run,
    step: options.Step = None,
    max_calls: options.MaxCalls = None,
    max_tokens: options.MaxTokens = None,
    json: options.Json = False,
    _quiet: options.Quiet = False,
) -> None:
    """Continue an interrupted run without paying again for its decisions.

    Examples:
        graphreader runs resume 4f2a
        graphreader runs resume 4f2a --from 3
    """
    with open_reader("default", max_calls=max_calls, max_tokens=max_tokens) as reader:
        from graphreader.cli.watch import watch

        reading = watch(reader.stream_resume(run, step=step), as_json=json)
    if reading.failure:
        raise typer.Exit(1)


def delete_runs(
    runs: options.Runs = None,
    everything: options.AllRuns = False,
    yes: options.Yes = False,
    json: options.Json = False,
) -> None:
    """Delete runs with their steps and decisions; active runs stay.

    Examples:
        graphreader runs delete 4f2a 9c01
        graphreader runs delete --all --yes
    """
    if bool(runs) == everything:
        raise UsageError("Name runs, or use --all.")
    if everything:
        confirm_or_exit("Delete all kept runs?", yes, "Nothing was deleted.")
    with open_reader("default", graph=False) as reader:
        deleted = reader.delete_runs(*(runs or ()), everything=everything)
    print_result({"deleted": deleted}, f"{plural(deleted, 'run')} deleted.", json=json)
