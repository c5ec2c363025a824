"""`graphreader evaluate`: readers measured on questions whose answers are known."""

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.agreeing import agreed
from graphreader.cli.failing import Interrupted, complain
from graphreader.cli.opening import read_settings
from graphreader.cli.printing import JsonFlag, money, plural, print_json, working
from graphreader.errors import GraphReaderError, UsageError

if TYPE_CHECKING:
    from graphreader.evaluation.experiment import Evaluation, EvaluationRequest
    from graphreader.settings import Settings


_GOES_ON = "What is read so far is kept: the same command goes on."

Data = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DATA",
        help="Data files, folders of them, hf:OWNER/NAME/PART, or `samples`: samples/musique, "
        "samples/hotpotqa, samples/cmrc2018_zh.",
        show_default=False,
    ),
]

MoreData = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="DATA", help="More of it, or all: it may be given often."),
]

Readers = Annotated[
    str,
    typer.Option(help="Who is asked, with commas between.", metavar="NAMES"),
]

Out = Annotated[
    str | None,
    typer.Option(
        help="The folder for what is read, where the same command goes on.",
        metavar="DIR",
        show_default=False,
    ),
]

Limit = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="The first N questions of each dataset of a file."),
]

Lengths = Annotated[
    str,
    typer.Option(
        metavar="SIZES",
        help="native, or contexts made longer from a pool of passages: native,16k,64k.",
    ),
]

PoolFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help='The passages for longer contexts, a line each: {"title": "...", "text": "..."}; '
        "else corpus/NAME beside the data.",
    ),
]

Models = Annotated[
    str,
    typer.Option(metavar="NAMES", help="Several models, one after the other: provider:model."),
]

Repeats = Annotated[int, typer.Option(min=1, metavar="N", help="Ask everything so often.")]

Preset = Annotated[
    str,
    typer.Option(metavar="NAME", help="As many questions as a paper asks: graphreader-paper."),
]

Rate = Annotated[
    bool | None,
    typer.Option(
        "--rate/--no-rate",
        help="Have a model rate answers and evidence; with a model that is so.",
        show_default=False,
    ),
]

EqualReading = Annotated[
    bool,
    typer.Option(
        "--equal-reading", help="Compare with rankings that read as much as GraphReader did."
    ),
]

Against = Annotated[str, typer.Option(metavar="NAME", help="Another reader for --equal-reading.")]

Seed = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="Another draw: of contexts, nodes by chance, a model's replies."
    ),
]

Concurrency = Annotated[
    int | None,
    typer.Option(
        min=1, max=256, metavar="N", help="So many questions at once; without a model two."
    ),
]

MaxCost = Annotated[
    float | None, typer.Option(min=0, metavar="DOLLARS", help="End when so much is spent.")
]

KeepGraphs = Annotated[
    bool | None,
    typer.Option(
        "--keep-graphs/--drop-graphs",
        help="Whether GraphReader's graphs stay in Neo4j; if a model builds them they do.",
        show_default=False,
    ),
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask about the cost.")]

EstimateOnly = Annotated[
    bool, typer.Option("--estimate-only", help="Tell what it would cost, and do nothing.")
]


def evaluate(
    data: Data = None,
    more_data: MoreData = None,
    readers: Readers = "graphreader,rag-bm25-3,rag-embedding-3,full-text,read-agent-s",
    out: Out = None,
    limit: Limit = None,
    lengths: Lengths = "native",
    pool: PoolFile = None,
    models: Models = "",
    repeats: Repeats = 1,
    preset: Preset = "",
    rate: Rate = None,
    equal_reading: EqualReading = False,
    against: Against = "",
    seed: Seed = 0,
    concurrency: Concurrency = None,
    max_cost: MaxCost = None,
    keep_graphs: KeepGraphs = None,
    yes: Yes = False,
    estimate_only: EstimateOnly = False,
    json: JsonFlag = False,
) -> None:
    """Put questions with known answers to several readers, and measure them all alike.

    Each reading is kept as soon as it is there: the same command goes on after an interruption,
    and with more readers, questions or lengths it asks for what is missing.
    """
    sources = _sources(data, more_data)
    if out is None and not estimate_only:
        raise UsageError("Name a folder for what is read: --out DIR.")
    with working("Reading the data"):
        from graphreader.evaluation.experiment import Evaluation, EvaluationRequest
        from graphreader.evaluation.plan import QuestionSelection

        request = EvaluationRequest(
            sources=sources,
            readers=_names(readers),
            selection=QuestionSelection(_names(lengths), limit, preset, pool, seed),
            models=_names(models),
            repeats=repeats,
            rate=rate,
            against=against if equal_reading or against else None,
            max_dollars=max_cost,
            keep_graphs=keep_graphs,
            command=shlex.join(["graphreader", *sys.argv[1:]]),
        )
        settings = read_settings(concurrency=concurrency)
        evaluation = Evaluation(request, settings, None if estimate_only else out)
    with evaluation:
        for note in evaluation.notes:
            complain(note)
        if estimate_only:
            _tell_costs(evaluation, json)
        elif _is_agreed(evaluation, request, yes):
            _run(evaluation, settings, out or "", json)


def _sources(*data: list[str] | None) -> tuple[str, ...]:
    """All data that is named in either way."""
    if not any(data):
        raise UsageError(
            "Name the data: files, folders of them, or `samples`, which come with the program."
        )
    return tuple(source for named in data for source in named or ())


def _is_agreed(evaluation: "Evaluation", request: "EvaluationRequest", yes: bool) -> bool:
    """Whether it may go on; nothing is asked where nothing costs anything, or is left to do."""
    tally = evaluation.progress
    is_left = tally.done - tally.failed < tally.total or evaluation.unrated
    if not evaluation.uses_model or not is_left:
        return True  # what failed is asked again
    from graphreader.cli.evaluating import costs_told, whole_cost

    costs = evaluation.costs()
    costs_told(costs, to_stderr=True)
    if request.max_dollars is not None and whole_cost(costs).dollars is None:
        raise UsageError(
            "The price of a model is not known, so --max-cost cannot be kept: name it in a file "
            "(GRAPHREADER_PRICES), or leave --max-cost out."
        )
    return yes or agreed("Go on?")


def _tell_costs(evaluation: "Evaluation", json: bool) -> None:
    from dataclasses import asdict

    from graphreader.cli.evaluating import costs_told

    costs = evaluation.costs()
    if json:
        print_json({"estimate": [asdict(one) for one in costs]})
    elif evaluation.uses_model:
        costs_told(costs, to_stderr=False)
    else:
        asked = plural(sum(one.questions for one in costs), "reading")
        print(f"{asked}, offline: nothing is sent, nothing costs anything.")


def _run(evaluation: "Evaluation", settings: "Settings", out: str, json: bool) -> None:
    """Ask what is missing, show it meanwhile and at the end; exit with 1 if anything failed."""
    from graphreader.cli.evaluating import EvaluationDrawing

    tally = evaluation.progress
    before = tally.done - tally.failed
    if evaluation.needs_graph and not settings.neo4j_uri:
        from graphreader.cli.starting import start_embedded

        start_embedded(settings)
    try:
        with EvaluationDrawing(tally) as drawing:
            evaluation.on_reading = drawing.take
            evaluation.run()
    except Interrupted as error:
        error.add_note(_GOES_ON)
        raise
    except GraphReaderError:
        if tally.done - tally.failed > before:
            complain(f"{drawing.progress.line()} {_GOES_ON}")
        raise
    _tell_outcome(evaluation, out, json)
    if tally.failed:
        complain(
            f"{plural(tally.failed, 'reading')} failed, and why stands in {out}: the same command "
            "asks for them again."
        )
    if unrated := evaluation.unrated:
        complain(
            f"{plural(unrated, 'reading')} could not be rated, and why stands in {out}: the same "
            "command has them rated, and asks nothing else."
        )
    if tally.failed or unrated:
        raise typer.Exit(1)


def _tell_outcome(evaluation: "Evaluation", out: str, json: bool) -> None:
    """All rows, what was spent, and how to go on to the tables."""
    from graphreader.cli.evaluating import print_table

    tally, spent = evaluation.progress, evaluation.usage
    notes = [note for note in (*evaluation.notes, evaluation.notice) if note]
    if json:
        told = {"done": tally.done, "total": tally.total, "failed": tally.failed}
        rows = [row.as_dict() for row in tally.rows]
        print_json({**told, "out": out, "rows": rows, "notes": notes})
        return
    print_table(tally, notes)
    if evaluation.uses_model and spent.tokens:  # offline they are only counted
        price = f", {money(spent.dollars)}" if spent.dollars else ""
        print(f"Spent: {plural(spent.calls, 'call')}, {spent.tokens:,} tokens{price}.")
    print(f"For the papers' tables: graphreader report {shlex.quote(out)}")


def _names(listed: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(name for part in listed.split(",") if (name := part.strip()))
