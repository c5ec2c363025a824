"""`graphreader ask`: answers to one question, or to each question of a file."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from graphreader.cli import options
from graphreader.cli.console import (
    cost_sentence,
    plural,
    print_error,
    print_json,
    print_words,
    stdout_console,
)
from graphreader.cli.progress import QuestionProgress, spinner
from graphreader.cli.signals import Interrupted
from graphreader.cli.startup import (
    STDIN,
    check_report,
    check_stdin,
    import_driver,
    open_reader,
    write_report,
)
from graphreader.errors import GraphReaderError, RunsError, UnknownCorpusError, UsageError
from graphreader.usage import Usage

if TYPE_CHECKING:
    from graphreader.agent.events import Event, SweepRefused
    from graphreader.graph_reader import GraphReader
    from graphreader.reading import Reading
    from graphreader.runs import Outcome
    from graphreader.scope import Scope


_CONTINUES = "The answers so far are kept: the same command continues."
_BOM = b"\xef\xbb\xbf"
_MOST_BYTES = 16 * 2**20  # the largest file of questions
_FORMAT = 'write {"question": "..."}, with an "id" of your own if you like, or just "..."'


def ask(
    question: options.Question = None,
    corpus: options.AskedCorpus = None,
    mode: options.Mode = None,
    file: options.QuestionFile = None,
    out: options.OutFile = None,
    follow: options.Follow = None,
    within: options.In = None,
    keep_run: options.KeepRun = False,
    max_calls: options.MaxCalls = None,
    max_tokens: options.MaxTokens = None,
    sweep: options.Sweep = None,
    sweep_tokens: options.SweepTokens = None,
    report: options.Report = None,
    reader: options.OtherReader = None,
    as_json: options.Json = False,
    _quiet: options.Quiet = False,
) -> None:
    """Search and explore the graph, and answer with citations.

    Examples:
        graphreader ask "Who taught the founder of the school?"
        graphreader ask "..." --corpus library --json | jq -r .answer
        graphreader ask --follow 4f2a "And where was she born?"
        graphreader ask --sweep "Which ships does the log name?"
        graphreader ask --in reports/ --in tag:final --in 2023-01..2023-06 "..."
        graphreader ask --file questions.jsonl --out answers.jsonl --mode paper
    """
    from graphreader.scope import Scope

    settings: dict[str, Any] = {"mode": mode, "max_calls": max_calls, "max_tokens": max_tokens}
    if sweep is not None:
        settings["sweep"] = "always" if sweep else "never"
    if sweep_tokens is not None:
        settings["sweep_tokens"] = sweep_tokens
    scope = Scope.of(within) if within else None
    if reader is not None and reader != "graphreader":
        if question is None or any((mode, file, out, follow, keep_run, report)):
            raise UsageError(
                "--reader takes one QUESTION and only the options --corpus, --in, --json, "
                "--max-calls and --max-tokens: leave out the rest."
            )
        _ask_other_reader(reader, question, corpus or "default", scope, as_json, settings)
    elif file is not None:
        if question is not None or as_json or report is not None or follow is not None:
            raise UsageError(
                "--file has its own questions and prints JSON: leave out QUESTION, --json, "
                "--follow and --report."
            )
        _ask_file(file, out, corpus or "default", scope, keep_run, settings)
    elif question is None:
        raise UsageError("Ask a question, or name a file of questions with --file.")
    elif out is not None:
        raise UsageError("--out is for the answers to --file: add --file, or leave --out out.")
    else:
        check_report(report)
        _ask_question(question, corpus, follow, scope, keep_run, report, as_json, settings)


def _ask_question(
    question: str,
    corpus: str | None,
    follow: str | None,
    scope: "Scope | None",
    keep_run: bool,
    report: str | None,
    as_json: bool,
    settings: dict[str, Any],
) -> None:
    with open_reader(corpus or "default", **settings) as reader:
        if follow is not None and corpus is None:
            reader = reader.at(reader.run(follow).summary.corpus)
        from graphreader.cli.watch import watch

        refused: list[SweepRefused] = []

        def answer(sweep_tokens: int | None = None) -> "Reading":
            events = reader.stream(
                question,
                keep_run=keep_run,
                follow=follow,
                scope=scope,
                sweep_tokens=sweep_tokens,
            )
            return watch(_keeping(events, refused), as_json=as_json)

        reading = answer()
        if refused and not as_json and _may_sweep(refused[0]):
            reading = answer(refused[0].tokens)
        if keep_run and not as_json and not any("not kept in" in note for note in reading.notes):
            print("Stored in the graph: the saved query `run` of Neo4j Browser draws it.")
        write_report(reader, reading, report)
    if reading.failure:
        raise typer.Exit(1)


def _keeping(events: "Iterator[Event]", refused: "list[SweepRefused]") -> "Iterator[Event]":
    """Pass events on, and keep each event of a sweep that was not begun."""
    from graphreader.agent.events import SweepRefused

    for event in events:
        if isinstance(event, SweepRefused):
            refused.append(event)
        yield event


def _may_sweep(refused: "SweepRefused") -> bool:
    """Ask a person at a terminal whether a large sweep may be made; nobody else is asked."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return typer.confirm(
        f"Read {refused.passages:,} passages with {refused.tokens:,} tokens for this question, "
        f"by about {refused.calls:,} calls?"
    )


def _ask_other_reader(
    name: str,
    question: str,
    corpus: str,
    scope: "Scope | None",
    as_json: bool,
    settings: dict[str, Any],
) -> None:
    with spinner("Opening the readers"):
        import_driver()
        from graphreader.baselines import registry

        registry.check_for_corpus(name)
    with open_reader(corpus, **settings) as reader, spinner("Reading"):
        limits = (scope,) if scope else ()
        reading = registry.ask(name, reader.resources, reader.corpus, question, *limits)
    if as_json:
        print_json(reading.as_dict())
    else:
        from graphreader.cli.watch import print_answer

        print_answer(stdout_console(), reading)


# The questions of a file


class FileQuestion(NamedTuple):
    """One question of a file, with its `id`, by default the number of its line."""

    id: str | int
    question: str


def _ask_file(
    file: str,
    out: str | None,
    corpus: str,
    scope: "Scope | None",
    keep_run: bool,
    settings: Mapping[str, Any],
) -> None:
    """Write answers to the questions of a file to `out` or stdout; exit with 1 if any failed."""
    questions = read_questions(file)
    if out is not None and out != STDIN:
        path = Path(out).expanduser().absolute()
        progress = _ask_into_file(path, corpus, questions, scope, keep_run, settings)
        print_words(progress.summary())
    else:
        # On a terminal a live line would disturb the answers.
        progress = AskProgress(len(questions), live=not sys.stdout.isatty())
        with open_reader(corpus, **settings) as reader:
            ask_all(reader, questions, None, keep_run, _print_answer, progress, scope)
        print_error(progress.summary())
    if progress.failed:
        raise typer.Exit(1)


def _ask_into_file(
    path: Path,
    corpus: str,
    questions: list[FileQuestion],
    scope: "Scope | None",
    keep_run: bool,
    settings: Mapping[str, Any],
) -> "AskProgress":
    from graphreader.files import json_line

    terms = list(scope.terms) if scope else []
    left = _unanswered(path, corpus, questions, terms)
    progress = AskProgress(len(questions), before=len(questions) - len(left))
    # A repeated command resumes its runs: their ids come from corpus, mode, file, scope, question.
    keys = [[corpus, settings["mode"] or "", str(path), *terms, *one] for one in left]
    runs = [sha256(json.dumps(key).encode()).hexdigest()[:12] for key in keys]
    try:
        if left:
            with open_reader(corpus, **settings) as reader:
                if not path.exists():
                    _delete_runs(reader, runs)
                with path.open("ab") as file:

                    def store(line: Mapping[str, Any]) -> None:
                        file.write(json_line(line))
                        file.flush()

                    ask_all(reader, left, runs, keep_run, store, progress, scope)
    except Interrupted as error:
        error.add_note(_CONTINUES)
        raise
    except GraphReaderError:
        if progress.answered or progress.failed:
            print_error(f"{progress.summary()} {_CONTINUES}")
        raise
    if progress.failed:
        print_error("The same command asks the failed questions again.")
    return progress


def _delete_runs(reader: "GraphReader", runs: Sequence[str]) -> None:
    """Delete the runs of a file of answers that is gone, so that a new file gets new answers."""
    with suppress(RunsError):
        kept = {run.run for run in reader.runs(reader.corpus) if run.status != "running"}
        if old := kept.intersection(runs):
            reader.delete_runs(*old)


def ask_all(
    reader: "GraphReader",
    questions: Sequence[FileQuestion],
    runs: Sequence[str] | None,
    keep_run: bool,
    store: Callable[[Mapping[str, Any]], None],
    progress: "AskProgress",
    scope: "Scope | None" = None,
) -> None:
    """Ask all questions, and store each outcome before it is shown.

    Raises an error that every further question would meet.
    """
    from graphreader.llm.retry import FATAL_ERRORS, CircuitBreaker
    from graphreader.preflight import empty_corpus_message

    if not reader.documents():
        raise UsageError(empty_corpus_message(reader.corpus))
    batch = reader.batch_as_completed(
        [one.question for one in questions], runs=runs, keep_run=keep_run, scope=scope
    )
    with progress, closing(batch) as results:
        breaker = CircuitBreaker()
        for count, (place, outcome) in enumerate(results, 1):
            if isinstance(outcome, (UnknownCorpusError, *FATAL_ERRORS)):
                raise outcome
            if not isinstance(outcome, GraphReaderError):
                outcome = outcome.failure or outcome
            store(_answer_line(questions[place], outcome))
            progress.add(questions[place].id, outcome)
            if not isinstance(outcome, GraphReaderError):
                breaker.record_answer()
            elif (end := breaker.record_error(outcome)) and count < len(questions):
                raise end


def _answer_line(question: FileQuestion, outcome: "Outcome") -> Mapping[str, Any]:
    line = {"id": question.id, "question": question.question}
    if isinstance(outcome, GraphReaderError):
        return line | {"error": str(outcome)}
    return line | {name: x for name, x in outcome.as_dict().items() if name != "question"}


def _print_answer(line: Mapping[str, Any]) -> None:
    print_json(line)
    sys.stdout.flush()


class AskProgress(QuestionProgress):
    """The progress of a file of questions; `before` of them were answered by an earlier run."""

    def __init__(self, total: int, before: int = 0, **options: Any) -> None:
        self._total, self._before = total, before
        self.answered = self._not_in_texts = self.failed = 0
        self._usage = Usage()
        # Answers may be printed on stdout meanwhile: this console must not take them.
        super().__init__(
            "ask", "Questions", "answers", total, before, redirect_stdout=False, **options
        )

    def add(self, id_: str | int, outcome: "Outcome") -> None:
        """Count and show one outcome."""
        if isinstance(outcome, GraphReaderError):
            self.failed += 1
            self._usage += getattr(outcome, "spent", Usage())
            self.count(f"{id_}: {outcome}")
        else:
            self.answered += 1
            self._not_in_texts += not outcome.answered
            self._usage += outcome.usage
            self.count()

    def counts(self) -> str:
        """The counts as text: `12 of 40 answered, 1 failed`."""
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"{self._before + self.answered:,} of {self._total:,} answered{failed}"

    def summary(self) -> str:
        """One sentence with the numbers of questions by outcome, and one with their cost."""
        parts = [f"{self._before + self.answered:,} of {plural(self._total, 'question')} answered"]
        parts += [f"{self._before:,} of them before"] if self._before else []
        parts += [f"{self._not_in_texts:,} not in the texts"] if self._not_in_texts else []
        parts += [f"{self.failed:,} failed"] if self.failed else []
        return f"{', '.join(parts)}.{cost_sentence(self._usage)}"


def read_questions(path: str) -> list[FileQuestion]:
    """The questions of a file, `-` for stdin. Raises UsageError, which names a wrong line."""
    questions: dict[str, FileQuestion] = {}
    data = _read_bytes(path)
    if len(data) > _MOST_BYTES:
        raise UsageError(
            f"{path} has more than {_MOST_BYTES / 2**20:,.0f} MiB of questions: cut it into "
            "smaller files."
        )
    for number, line in enumerate(data.removeprefix(_BOM).splitlines(), 1):
        if not line.strip():
            continue
        question = _parse_question(line, number)
        if question is None:
            raise UsageError(f"{path}, line {number}: this is not a question: {_FORMAT}.")
        if str(question.id) in questions:
            raise UsageError(
                f"{path}, line {number}: another question has the id {question.id!r}, too; give "
                "each its own."
            )
        questions[str(question.id)] = question
    if not questions:
        raise UsageError(f"There is no question in {path}: {_FORMAT}, one a line.")
    return list(questions.values())


def _read_bytes(path: str) -> bytes:
    if path == STDIN:
        check_stdin()
        return sys.stdin.buffer.read(_MOST_BYTES + 1)
    try:
        with open(os.path.expanduser(path), "rb") as file:
            return file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be opened ({error.strerror}): name a file of questions."
        ) from error


def _parse_question(line: bytes, number: int) -> FileQuestion | None:
    """The question of a line, None if the line has none."""
    from graphreader.documents import without_surrogates

    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested too deeply
        return None
    if isinstance(value, str):
        value = {"question": value}
    if not isinstance(value, dict):
        return None
    question, id_ = value.get("question"), value.get("id", number)
    if not isinstance(question, str) or not question.strip() or not isinstance(id_, str | int):
        return None
    id_ = without_surrogates(id_) if isinstance(id_, str) else id_
    return FileQuestion(id_, without_surrogates(question.strip()))


def _unanswered(
    path: Path, corpus: str, questions: list[FileQuestion], scope: list[str]
) -> list[FileQuestion]:
    """The questions without an answer in a file; removes errors and a cut-off line from it.

    Raises UsageError for a file with other lines than answers from the corpus to these questions in
    this scope, and leaves it untouched.
    """
    from graphreader.files import atomic_write, complete_lines

    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(f"No answers can be written to {path}: name another --out.")
    if not path.exists():
        return questions
    texts = {str(one.id): one.question for one in questions}

    def is_answer(line: Mapping[str, Any]) -> bool:
        """Whether a line is an answer from this corpus to one of the questions, or its error."""
        if texts.get(str(line["id"]), line["question"]) != line["question"]:
            return False
        place = line.get("corpus"), line.get("scope", [])
        return "error" in line or ("answer" in line and place == (corpus, scope))

    lines = complete_lines(
        path,
        frozenset(("id", "question")),
        accepts=is_answer,
        refusal=f"this is not an answer from the corpus {corpus!r}"
        + (f" within {', '.join(scope)}" if scope else "")
        + " to one of these questions; name another --out.",
        beginning=b'{"id": ',
    )
    answers: dict[str, bytes] = {}
    for line, data in lines:
        if "error" not in line:
            answers.setdefault(str(line["id"]), data.rstrip() + b"\n")
    kept = b"".join(answers.values())
    if kept != path.read_bytes():
        with atomic_write(path) as file:
            file.write(kept)
    return [question for question in questions if str(question.id) not in answers]
