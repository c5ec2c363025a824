"""`graphreader ask`: answer a question, or the questions of a file."""

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from graphreader.cli.console import print_json, spinner
from graphreader.cli.diagnostics import all_paths_failed
from graphreader.cli.options import (
    JsonFlag,
    MaxCalls,
    MaxTokens,
    ReportOption,
    check_report,
    corpus_option,
    flag,
    import_driver,
    open_reader,
    write_report,
)
from graphreader.errors import UsageError

EXAMPLES = (
    'graphreader ask "Who taught the founder of the school?"',
    'graphreader ask "..." --corpus library --json | jq -r .answer',
    "graphreader ask --file questions.jsonl --out answers.jsonl --mode fast",
)


class Mode(StrEnum):
    """How far a question is explored."""

    PAPER = "paper"
    FAST = "fast"


def ask(
    question: Annotated[
        str | None,
        typer.Argument(help="What you want to know.", metavar="QUESTION", show_default=False),
    ] = None,
    corpus: Annotated[str, corpus_option("The corpus to ask.")] = "default",
    mode: Annotated[
        Mode | None,
        typer.Option(help="paper: 5 paths of 10 calls; fast: 2 paths of 5.", show_default=False),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            help="Ask the questions of this file, one a line; - for stdin.", metavar="FILE"
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            help="Write the answers to --file here, one a line; a later run continues. Without it "
            "they go to stdout.",
            metavar="FILE",
        ),
    ] = None,
    keep_run: Annotated[
        bool, flag("--keep-run", help="Store the exploration in the graph.")
    ] = False,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    report: ReportOption = None,
    reader: Annotated[
        str | None,
        typer.Option(
            help="Ask another reader of the same texts: full-text, rag-bm25-3, read-agent-s, ...",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Explore the graph on five paths and answer with citations."""
    options: dict[str, Any] = {"max_calls": max_calls, "max_tokens": max_tokens}
    if reader is not None and reader != "graphreader":
        if question is None or any((mode, file, out, keep_run, report)):
            raise UsageError(
                "--reader takes one QUESTION and only the options --corpus, --json, --max-calls "
                "and --max-tokens: leave out the rest."
            )
        _ask_other_reader(reader, question, corpus, json, options)
        return
    options = {"mode": mode.value if mode else None, **options}
    if file is not None:
        if question is not None or json:
            raise UsageError(
                "--file has its own questions and prints JSON: leave out QUESTION and --json."
            )
        if report is not None:
            raise UsageError(
                "--report is for one question: after --file, `graphreader runs show RUN --report "
                "FILE` writes the report of a run."
            )
        from graphreader.cli.ask_file import ask_file

        ask_file(file, out, corpus, keep_run, options)
    elif question is None:
        raise UsageError("Ask a question, or name a file of questions with --file.")
    elif out is not None:
        raise UsageError("--out is for the answers to --file: add --file, or leave --out out.")
    else:
        check_report(report)
        _ask_question(question, corpus, keep_run, report, json, options)


def _ask_question(
    question: str,
    corpus: str,
    keep_run: bool,
    report: str | None,
    json: bool,
    options: dict[str, Any],
) -> None:
    """Print the answer to one question; exit with 1 if every path failed."""
    with open_reader(corpus, **options) as reader:
        if json:
            reading = reader.ask(question, keep_run=keep_run)
            print_json(reading.as_dict())
        else:
            from graphreader.cli.watch import watch

            reading = watch(reader.stream(question, keep_run=keep_run))
            if keep_run and not any("not kept in the graph" in note for note in reading.notes):
                print("Stored in the graph: the saved query `run` of Neo4j Browser draws it.")
        write_report(reader, reading, report)
    if all_paths_failed(reading):
        raise typer.Exit(1)


def _ask_other_reader(
    name: str, question: str, corpus: str, json: bool, options: dict[str, Any]
) -> None:
    """Print another reader's answer from the texts of the corpus."""
    with spinner("Opening the readers"):
        import_driver()
        from graphreader import readers

        readers.check_for_corpus(name)
    with open_reader(corpus, **options) as reader, spinner("Reading"):
        reading = readers.ask(name, reader.context, question)
    if json:
        print_json(reading.as_dict())
        return
    from graphreader.cli.watch import print_answer

    print_answer(Console(highlight=False), reading)
