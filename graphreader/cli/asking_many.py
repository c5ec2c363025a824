"""`graphreader ask --file`: the questions of a file, many at once, each answer kept at once."""

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import typer

from graphreader import runs as runs_module
from graphreader.cli.answers import AnswerFile
from graphreader.cli.asking_progress import AskingDrawing, AskingTally
from graphreader.cli.failing import Interrupted, complain, every_path_failed
from graphreader.cli.opening import open_reader
from graphreader.cli.printing import print_json
from graphreader.cli.questions import Asked, read_questions
from graphreader.cli.texts import STDIN
from graphreader.errors import (
    DecisionError,
    GraphReaderError,
    RunsError,
    UnknownCorpusError,
    UsageError,
)
from graphreader.llm.retry import FATAL_ERRORS, CircuitBreaker
from graphreader.reading import Reading

if TYPE_CHECKING:
    from graphreader.graph_reader import GraphReader


Keep = Callable[[Mapping[str, Any]], None]
_GOES_ON = "What is answered so far is kept: the same command goes on."


def ask_file(file: str, out: str | None, corpus: str, keep_run: bool, **given: Any) -> None:
    """Answer the questions of a file; exit with 1 if any of them failed.

    All lines are looked at before anything is asked. The answers come into the file `out` as they
    are found, where a later run goes on; without one they are printed.
    """
    questions = read_questions(file)
    if out is None or out == STDIN:
        tally = AskingTally(len(questions))
        runs: dict[Asked, str | None] = dict.fromkeys(questions)
        drawing = AskingDrawing(tally, lives=not sys.stdout.isatty())
        with open_reader(corpus, **given) as reader:
            _ask(reader, runs, keep_run, _print, drawing)
        complain(tally.summary())
    else:
        tally = _ask_into(out, questions, corpus, keep_run, given)
        print(tally.summary())
    if tally.failed:
        raise typer.Exit(1)


def _ask_into(
    out: str, questions: list[Asked], corpus: str, keep_run: bool, given: Mapping[str, Any]
) -> AskingTally:
    """Answer what is not answered in the file yet, and tell how to go on."""
    with AnswerFile(out, corpus) as answers:
        left = answers.take_up(questions)
        tally = AskingTally(len(questions), before=len(questions) - len(left))
        if left:
            scope = (corpus, str(given.get("mode") or ""), str(answers.path))
            runs: dict[Asked, str | None] = {asked: asked.run(*scope) for asked in left}
            try:
                with open_reader(corpus, **given) as reader:
                    if answers.is_new:
                        _forget(reader, runs.values())
                    answers.begin()
                    _ask(reader, runs, keep_run, answers.append, AskingDrawing(tally))
            except Interrupted as error:
                error.add_note(_GOES_ON)
                raise
            except GraphReaderError:
                if tally.done > tally.before:
                    complain(f"{tally.summary()} {_GOES_ON}")
                raise
    if tally.failed:
        complain("The same command asks again for what failed.")
    return tally


def _forget(reader: "GraphReader", runs: Iterable[str | None]) -> None:
    """Whoever names a new file wants new answers, not those of runs that filled an earlier one."""
    with suppress(RunsError):
        kept = {run.id for run in reader.runs(reader.corpus) if run.status != "running"}
        if old := kept.intersection(runs):
            reader.delete_runs(*old)


def _ask(
    reader: "GraphReader",
    runs: Mapping[Asked, str | None],
    keep_run: bool,
    keep: Keep,
    drawing: AskingDrawing,
) -> None:
    """Ask everything, and keep each outcome before it is shown.

    Raises what every further question would meet as well.
    """
    if not reader.documents():
        raise UsageError(runs_module.empty_corpus_message(reader.corpus))
    questions, ids = list(runs), [run for run in runs.values() if run]
    with (
        drawing,
        closing(
            reader.batch_as_completed(
                [asked.question for asked in questions], runs=ids or None, keep_run=keep_run
            )
        ) as outcomes,
    ):
        patience = CircuitBreaker()
        for count, (place, found) in enumerate(outcomes, 1):
            if isinstance(found, (UnknownCorpusError, *FATAL_ERRORS)):
                raise found
            asked, outcome = questions[place], _outcome(found)
            keep({"id": asked.id, "question": asked.question, **_told(outcome)})
            drawing.take(asked.id, outcome)
            if isinstance(outcome, Reading):
                patience.record_answer()
            elif (end := patience.record_error(outcome)) and count < len(questions):
                raise end


def _outcome(found: Reading | GraphReaderError) -> Reading | GraphReaderError:
    """What was found; a run whose every path failed is a failure, whatever it says."""
    if isinstance(found, GraphReaderError) or not every_path_failed(found):
        return found
    error = DecisionError(found.paths[0].error or found.answer)
    error.spent = found.usage
    return error


def _told(outcome: Reading | GraphReaderError) -> Mapping[str, Any]:
    if isinstance(outcome, Reading):
        return {name: value for name, value in outcome.as_dict().items() if name != "question"}
    return {"error": str(outcome)}


def _print(line: Mapping[str, Any]) -> None:
    print_json(line)
    sys.stdout.flush()
