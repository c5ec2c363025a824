"""`graphreader ask`: answer a question, or those of a file, to be watched meanwhile."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from graphreader.cli.failing import every_path_failed
from graphreader.cli.opening import MaxCalls, MaxTokens, open_reader
from graphreader.cli.printing import JsonFlag, print_json
from graphreader.cli.reporting import ReportOption, check_report, make_report
from graphreader.errors import UsageError


class Mode(StrEnum):
    """How far to look."""

    PAPER = "paper"
    FAST = "fast"


HowFar = Annotated[
    Mode | None,
    typer.Option(help="paper: 5 paths of 10 calls; fast: 2 paths of 5.", show_default=False),
]

QuestionFile = Annotated[
    str | None,
    typer.Option(help="Ask the questions of this file, one a line; - for stdin.", metavar="FILE"),
]

AnswerFile = Annotated[
    str | None,
    typer.Option(
        help="Where their answers go, one a line, and a later run goes on; else stdout.",
        metavar="FILE",
    ),
]

AnotherReader = Annotated[
    str | None,
    typer.Option(
        help="Ask another reader of the same texts: full-text, rag-bm25-3, read-agent-s, ...",
        metavar="NAME",
        show_default=False,
    ),
]


def ask(
    question: Annotated[
        str | None,
        typer.Argument(help="What you want to know.", metavar="QUESTION", show_default=False),
    ] = None,
    corpus: Annotated[str, typer.Option(help="The corpus to ask.", metavar="NAME")] = "default",
    mode: HowFar = None,
    file: QuestionFile = None,
    out: AnswerFile = None,
    keep_run: Annotated[
        bool, typer.Option("--keep-run", help="Keep the way to the answer in the graph.")
    ] = False,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    report: ReportOption = None,
    reader: AnotherReader = None,
    json: JsonFlag = False,
) -> None:
    """Explore the graph on five paths and answer with citations."""
    if reader is not None and reader != "graphreader":
        others = any((mode, file, out, keep_run, report))
        _ask_another(reader, None if others else question, corpus, json, max_calls, max_tokens)
        return
    given: dict[str, Any] = {
        "mode": mode.value if mode else None,
        "max_calls": max_calls,
        "max_tokens": max_tokens,
    }
    if file is not None:
        if question is not None or json:
            raise UsageError("--file has its own questions and its own JSON: leave out the others.")
        if report is not None:
            raise UsageError(
                "--report is of one question: `graphreader runs show RUN --report FILE` writes "
                "those of --file afterwards."
            )
        from graphreader.cli.asking_many import ask_file

        ask_file(file, out, corpus, keep_run, **given)
    elif question is None:
        raise UsageError("Ask a question, or name a file of questions with --file.")
    elif out is not None:
        raise UsageError("--out takes the answers to --file: add one, or leave it out.")
    else:
        check_report(report)
        _ask_one(question, corpus, keep_run, report, json, given)


def _ask_another(
    reader: str,
    question: str | None,
    corpus: str,
    json: bool,
    max_calls: int | None,
    max_tokens: int | None,
) -> None:
    if question is None:
        raise UsageError(
            "--reader takes one QUESTION, and of the other options only --corpus, --json and the "
            "budgets: leave out the rest."
        )
    from graphreader.cli.asking_another import ask_another

    ask_another(reader, question, corpus, json, max_calls=max_calls, max_tokens=max_tokens)


def _ask_one(
    question: str,
    corpus: str,
    keep_run: bool,
    report: str | None,
    json: bool,
    given: dict[str, Any],
) -> None:
    """Show how one question is answered; exit with 1 where every path failed."""
    with open_reader(corpus, **given) as reader:
        if json:
            reading = reader.ask(question, keep_run=keep_run)
            print_json(reading.as_dict())
        else:
            from graphreader.cli.watching import watch

            reading = watch(reader.stream(question, keep_run=keep_run))
            if keep_run and not any("not kept in the graph" in note for note in reading.notes):
                print("Kept in the graph: in Neo4j Browser the saved query `run` draws its way.")
        make_report(reader, reading, report)
    if every_path_failed(reading):
        raise typer.Exit(1)
