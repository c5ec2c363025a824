"""`graphreader runs`: the runs that are kept; list, show, resume and delete them."""

import shlex
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.agreeing import agreed
from graphreader.cli.failing import complain, every_path_failed
from graphreader.cli.opening import MaxCalls, MaxTokens, open_reader
from graphreader.cli.printing import JsonFlag, plural, print_json, table_console
from graphreader.cli.reporting import ReportOption, check_report, make_report
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from graphreader.agent.run_store import RunSummary


LIST_EXAMPLES = """
[bold]Examples[/bold]

  graphreader runs list --corpus library
  graphreader runs list --json | jq -r '.runs[] | select(.status == "failed") | .id'
"""

SHOW_EXAMPLES = """
[bold]Examples[/bold]

  graphreader runs show 4f2a
  graphreader runs show 4f2a --json | jq .reading.claims
  graphreader runs show 4f2a --report report.html
"""

RESUME_EXAMPLES = """
[bold]Examples[/bold]

  graphreader runs resume 4f2a
  graphreader runs resume 4f2a --from 3
"""

DELETE_EXAMPLES = """
[bold]Examples[/bold]

  graphreader runs delete 4f2a 9c01
  graphreader runs delete --before 2026-01-01 --yes
"""

app = typer.Typer(
    help="Look at the runs that are kept, resume them, delete them.",
    rich_markup_mode="rich",
    no_args_is_help=True,
)

RunArgument = Annotated[
    str, typer.Argument(help="Id of a run, or a unique beginning of it.", metavar="RUN")
]


@app.command("list", epilog=LIST_EXAMPLES)
def list_(
    corpus: Annotated[str | None, typer.Option(help="Only this corpus.", metavar="NAME")] = None,
    json: JsonFlag = False,
) -> None:
    """List the runs that are kept, newest first."""
    with open_reader("default", graph=False) as reader:
        runs = reader.runs(corpus)
    if json:
        _print_list_json(runs)
    elif not runs:
        print("No runs are kept" + (f" of the corpus {corpus}" if corpus else "") + _why_none())
    else:
        from graphreader.cli.runs_printed import print_runs

        print_runs(table_console(), runs)


def _why_none() -> str:
    """What to do about it."""
    from graphreader.cli.opening import read_settings

    if read_settings().kept_runs == 0:
        return ", because GRAPHREADER_KEPT_RUNS is 0: what was kept before is shown with another."
    return ' yet: `graphreader ask "..."` makes one.'


@app.command(epilog=SHOW_EXAMPLES)
def show(run: RunArgument, report: ReportOption = None, json: JsonFlag = False) -> None:
    """Show a run step by step: plan, functions and reasons, notebooks, answer."""
    check_report(report)
    with open_reader("default", graph=report is not None) as reader:
        kept = reader.run(run)
        if json:
            print_json(kept.as_dict())
        else:
            from graphreader.cli.runs_printed import print_run

            print_run(table_console(), kept)
        if kept.reading:
            make_report(reader, kept.reading, report)
        elif report is not None:
            raise UsageError(
                f"The run {kept.summary.id} has no answer to report yet: go on with it by "
                f"`graphreader runs resume {shlex.quote(kept.summary.id)}`."
            )


@app.command(epilog=RESUME_EXAMPLES)
def resume(
    run: RunArgument,
    step: Annotated[
        int | None,
        typer.Option(
            "--from",
            min=1,
            metavar="N",
            help="Begin a new run before step N of it: 1 plan, 2 initial nodes, 3 paths, 4 answer.",
        ),
    ] = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    json: JsonFlag = False,
) -> None:
    """Go on with a run that broke off; nothing that it decided is asked again."""
    with open_reader("default", max_calls=max_calls, max_tokens=max_tokens) as reader:
        if json:
            reading = reader.resume(run, step=step)
            print_json(reading.as_dict())
        else:
            from graphreader.cli.watching import watch

            reading = watch(reader.stream_resume(run, step=step))
    if every_path_failed(reading):
        raise typer.Exit(1)


@app.command(epilog=DELETE_EXAMPLES)
def delete(
    runs: Annotated[
        list[str] | None, typer.Argument(help="Ids of runs.", metavar="[RUN ...]")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All runs.")] = False,
    before: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"], help="Those that rest since this day.", metavar="YYYY-MM-DD"
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask back.")] = False,
    json: JsonFlag = False,
) -> None:
    """Take runs out, with their steps and decisions. Those under way stay."""
    if bool(runs) + everything + (before is not None) != 1:
        raise UsageError("Name runs, or say --all, or --before a day.")
    which = (
        "all kept runs"
        if everything
        else f"the runs that rest since {before:%Y-%m-%d}"
        if before
        else ""
    )
    if which and not yes and not agreed(f"Delete {which}?"):
        complain("Nothing was deleted.")
        raise typer.Exit(1)
    with open_reader("default", graph=False) as reader:
        gone = reader.delete_runs(
            *(runs or ()), everything=everything, before=before.timestamp() if before else None
        )
    if json:
        print_json({"deleted": gone})
    else:
        print(f"{plural(gone, 'run')} deleted.")


def _print_list_json(runs: "Iterable[RunSummary]") -> None:
    from dataclasses import asdict

    print_json({"runs": [asdict(run) for run in runs]})
