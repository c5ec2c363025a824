"""`graphreader ask`: answer a question, or the questions of a file, many at once.

A line of a file of questions is `{"question": "...", "id": "..."}` or a plain string. A line of the
answers has the question's id, the question and all fields of the reading, or the `error` instead.
Each answer is stored at once, and a later run of the same command continues the file of answers.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, BinaryIO, Literal, Self

import typer
from rich.console import Console

from graphreader.cli.console import (
    QuestionProgress,
    cost_text,
    plural,
    print_error,
    print_json,
    spinner,
)
from graphreader.cli.main import Interrupted
from graphreader.cli.options import (
    STDIN,
    JsonFlag,
    MaxCalls,
    MaxTokens,
    ReportOption,
    check_report,
    check_stdin,
    corpus_option,
    flag,
    import_driver,
    open_reader,
    write_report,
)
from graphreader.errors import GraphReaderError, RunsError, UnknownCorpusError, UsageError
from graphreader.usage import Usage

if TYPE_CHECKING:
    from graphreader.graph_reader import GraphReader, Outcome

EXAMPLES = (
    'graphreader ask "Who taught the founder of the school?"',
    'graphreader ask "..." --corpus library --json | jq -r .answer',
    "graphreader ask --file questions.jsonl --out answers.jsonl --mode fast",
)

_CONTINUES = "The answers so far are kept: the same command continues."
_BOM = b"\xef\xbb\xbf"
_FORMAT = 'write {"question": "..."}, with an "id" of your own if you like, or just "..."'
_LINE_START = b'{"id": '


def ask(
    question: Annotated[
        str | None,
        typer.Argument(help="What you want to know.", metavar="QUESTION", show_default=False),
    ] = None,
    corpus: Annotated[str, corpus_option("The corpus to ask.")] = "default",
    mode: Annotated[
        Literal["paper", "fast"] | None,
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
    as_json: JsonFlag = False,
) -> None:
    """Explore the graph on five paths and answer with citations."""
    options: dict[str, Any] = {"max_calls": max_calls, "max_tokens": max_tokens}
    if reader is not None and reader != "graphreader":
        if question is None or any((mode, file, out, keep_run, report)):
            raise UsageError(
                "--reader takes one QUESTION and only the options --corpus, --json, --max-calls "
                "and --max-tokens: leave out the rest."
            )
        _ask_other_reader(reader, question, corpus, as_json, options)
        return
    options = {"mode": mode, **options}
    if file is not None:
        if question is not None or as_json:
            raise UsageError(
                "--file has its own questions and prints JSON: leave out QUESTION and --json."
            )
        if report is not None:
            raise UsageError(
                "--report is for one question: after --file, `graphreader runs show RUN --report "
                "FILE` writes the report of a run."
            )
        _ask_file(file, out, corpus, keep_run, options)
    elif question is None:
        raise UsageError("Ask a question, or name a file of questions with --file.")
    elif out is not None:
        raise UsageError("--out is for the answers to --file: add --file, or leave --out out.")
    else:
        check_report(report)
        _ask_question(question, corpus, keep_run, report, as_json, options)


def _ask_question(
    question: str,
    corpus: str,
    keep_run: bool,
    report: str | None,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    """Print the answer to one question; exit with 1 if every path failed."""
    with open_reader(corpus, **options) as reader:
        if as_json:
            reading = reader.ask(question, keep_run=keep_run)
            print_json(reading.as_dict())
        else:
            from graphreader.cli.watch import watch

            reading = watch(reader.stream(question, keep_run=keep_run))
            if keep_run and not any("not kept in the graph" in note for note in reading.notes):
                print("Stored in the graph: the saved query `run` of Neo4j Browser draws it.")
        write_report(reader, reading, report)
    if reading.failure:
        raise typer.Exit(1)


def _ask_other_reader(
    name: str, question: str, corpus: str, as_json: bool, options: dict[str, Any]
) -> None:
    """Print another reader's answer from the texts of the corpus."""
    with spinner("Opening the readers"):
        import_driver()
        from graphreader import readers

        readers.check_for_corpus(name)
    with open_reader(corpus, **options) as reader, spinner("Reading"):
        reading = readers.ask(name, reader.context, question)
    if as_json:
        print_json(reading.as_dict())
    else:
        from graphreader.cli.watch import print_answer

        print_answer(Console(highlight=False), reading)


# The questions of a file


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """One question of a file; its `id` is the number of its line where the line gives none."""

    id: str | int
    question: str

    def run_id(self, *scope: str) -> str:
        """The id of the run that answers it: the same for the same question in the same scope."""
        key = json.dumps([*scope, self.id, self.question])
        return sha256(key.encode()).hexdigest()[:12]


def _ask_file(
    file: str, out: str | None, corpus: str, keep_run: bool, options: Mapping[str, Any]
) -> None:
    """Answer the questions of a file; exit with 1 if any of them failed.

    All lines are checked before anything is asked. The answers go to the file `out`, which a later
    run continues, or to stdout.
    """
    questions = read_questions(file)
    if out is not None and out != STDIN:
        progress = _ask_into_file(out, questions, corpus, keep_run, options)
        print(progress.summary())
    else:
        # A live line would disturb answers on the same terminal.
        progress = AskProgress(len(questions), live=not sys.stdout.isatty())
        with open_reader(corpus, **options) as reader:
            ask_all(reader, questions, None, keep_run, _print_answer, progress)
        print_error(progress.summary())
    if progress.failed:
        raise typer.Exit(1)


def _ask_into_file(
    out: str,
    questions: list[FileQuestion],
    corpus: str,
    keep_run: bool,
    options: Mapping[str, Any],
) -> "AskProgress":
    """Answer the questions that the file has no answer to yet."""
    with AnswerFile(out, corpus) as answers:
        left = answers.unanswered(questions)
        progress = AskProgress(len(questions), before=len(questions) - len(left))
        runs = [one.run_id(corpus, options.get("mode") or "", str(answers.path)) for one in left]
        try:
            if left:
                with open_reader(corpus, **options) as reader:
                    if not answers.path.exists():
                        _delete_runs(reader, runs)
                    answers.open()
                    ask_all(reader, left, runs, keep_run, answers.append, progress)
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
    """Delete the runs of an earlier file, so that a new file gets new answers."""
    with suppress(RunsError):
        kept = {run.id for run in reader.runs(reader.corpus) if run.status != "running"}
        if old := kept.intersection(runs):
            reader.delete_runs(*old)


def ask_all(
    reader: "GraphReader",
    questions: Sequence[FileQuestion],
    runs: Sequence[str] | None,
    keep_run: bool,
    store: Callable[[Mapping[str, Any]], None],
    progress: "AskProgress",
) -> None:
    """Ask all questions, each with the id of its run, and store each outcome before it is shown.

    Raises an error that every further question would meet too.
    """
    from graphreader.llm.retry import FATAL_ERRORS, CircuitBreaker
    from graphreader.runs import empty_corpus_message

    if not reader.documents():
        raise UsageError(empty_corpus_message(reader.corpus))
    batch = reader.batch_as_completed(
        [one.question for one in questions], runs=runs, keep_run=keep_run
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
    """Counts and shows answered questions; `before` of them were answered by an earlier run."""

    def __init__(self, total: int, before: int = 0, **options: Any) -> None:
        self._total, self._before = total, before
        self.answered = self._not_in_texts = self.failed = 0
        self._usage = Usage()
        # Answers may be printed meanwhile on stdout: they are not for this console.
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
        """`12 of 40 answered, 1 failed`."""
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"{self._before + self.answered:,} of {self._total:,} answered{failed}"

    def summary(self) -> str:
        """What became of all questions, and what that cost."""
        parts = [f"{self._before + self.answered:,} of {plural(self._total, 'question')} answered"]
        parts += [f"{self._before:,} of them before"] if self._before else []
        parts += [f"{self._not_in_texts:,} not in the texts"] if self._not_in_texts else []
        parts += [f"{self.failed:,} failed"] if self.failed else []
        usage = self._usage
        cost = f" Cost: {cost_text(usage)}." if usage.tokens or usage.reused else ""
        return f"{', '.join(parts)}.{cost}"


def read_questions(path: str) -> list[FileQuestion]:
    """All questions of a file, `-` for stdin, in their order.

    Raises UsageError with the number of the first line that is not a question.
    """
    name = "standard input" if path == STDIN else path
    questions: list[FileQuestion] = []
    line_of: dict[str, int] = {}
    with _open_questions(path) as file:
        for number, data in enumerate(file, 1):
            line = data.removeprefix(_BOM if number == 1 else b"").strip()
            if not line:
                continue
            try:
                question = _parse_question(line, number)
            except ValueError as error:
                raise UsageError(f"{name}, line {number}: {error}.") from None
            first = line_of.setdefault(str(question.id), number)
            if first != number:
                raise UsageError(
                    f"{name}, line {number}: the id {question.id!r} is that of line {first}, too; "
                    "give each question its own."
                )
            questions.append(question)
    if not questions:
        raise UsageError(f"There is no question in {name}: {_FORMAT}, one a line.")
    return questions


@contextmanager
def _open_questions(path: str) -> Iterator[BinaryIO]:
    if path == STDIN:
        check_stdin()
        yield sys.stdin.buffer
        return
    try:
        file = open(os.path.expanduser(path), "rb")  # noqa: SIM115  # closed below
    except OSError as error:
        raise UsageError(
            f"{path} cannot be opened ({error.strerror}): name a file of questions."
        ) from error
    with file:
        yield file


def _parse_question(line: bytes, number: int) -> FileQuestion:
    """The question of a line. Raises ValueError with what is wrong."""
    from graphreader.documents import without_surrogates

    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8; save the file in that encoding") from None
    except (ValueError, RecursionError):
        raise ValueError(f"it is not JSON; {_FORMAT}") from None
    if isinstance(value, str):
        value = {"question": value}
    if not isinstance(value, dict) or "question" not in value:
        raise ValueError(f"it has no question; {_FORMAT}")
    question, id_ = value["question"], value.get("id", number)
    if not isinstance(question, str) or not question.strip():
        raise ValueError("its question is empty or not a string; ask something")
    if isinstance(id_, bool) or not isinstance(id_, str | int) or id_ == "":
        raise ValueError("its id is neither a string nor an integer; leave it out, or give one")
    id_ = without_surrogates(id_) if isinstance(id_, str) else id_
    return FileQuestion(id_, without_surrogates(question.strip()))


class AnswerFile:
    """A file of answers that no other process writes meanwhile and a later run continues."""

    def __init__(self, path: str, corpus: str) -> None:
        from filelock import FileLock

        # The target of a link, so that rewriting the file keeps the link.
        self.path = Path(os.path.realpath(os.path.expanduser(path)))
        self._corpus = corpus
        self._lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Lock the file for this process. Raises UsageError if another process has it."""
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{self.path} is not a file: name another --out.")
        try:
            self._lock.acquire(timeout=0)
        except TimeoutError:
            raise UsageError(
                f"Another process writes its answers into {self.path}: wait for its end, or name "
                "another --out."
            ) from None
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written ({error.strerror}): name another --out."
            ) from error
        return self

    def __exit__(self, *exception: object) -> None:
        """Close and unlock the file."""
        if self._file:
            self._file.close()
        self._lock.release()

    def unanswered(self, questions: list[FileQuestion]) -> list[FileQuestion]:
        """The questions that have no answer in the file.

        Removes errors and a last line that was cut off from the file. Raises UsageError, and leaves
        the file as it is, if it holds anything else than answers to these questions.
        """
        from graphreader.files import atomic_write

        if not self.path.exists():
            return questions
        asked = {str(question.id): question.question for question in questions}
        data = self.path.read_bytes()
        answers: dict[str, bytes] = {}
        for number, line in enumerate(data.splitlines(keepends=True), 1):
            id_ = self._answered_id(line, number, asked)
            if id_ is not None:
                answers.setdefault(id_, line.rstrip(b"\r\n") + b"\n")
        kept = b"".join(answers.values())
        if kept != data:
            with atomic_write(self.path) as file:
                file.write(kept)
        return [question for question in questions if str(question.id) not in answers]

    def open(self) -> None:
        """Open the file for answers; it exists from then on."""
        self._file = self.path.open("ab")

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one answer; it survives the end of this process when this returns."""
        assert self._file is not None
        text = json.dumps(line, ensure_ascii=False)
        self._file.write(text.encode("utf-8", "replace") + b"\n")
        self._file.flush()

    def _answered_id(self, line: bytes, number: int, asked: Mapping[str, str]) -> str | None:
        """The id of the question that a line answers, None for a line to remove."""
        where = f"{self.path}, line {number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if not line.endswith(b"\n") and line[: len(_LINE_START)] == _LINE_START[: len(line)]:
                return None  # an answer that was cut off while it was written
            value = None
        keys = value.keys() if isinstance(value, dict) else set()
        if not {"id", "question"} <= keys or not keys & {"answer", "error"}:
            raise UsageError(
                f"{where}: this is not an answer of `graphreader ask`; name another --out."
            )
        id_ = str(value["id"])
        if asked.get(id_, value["question"]) != value["question"]:
            raise UsageError(
                f"{where}: the question {id_} was another one then; name another --out, or give "
                "the questions ids of their own."
            )
        if "error" in value:
            return None
        if value.get("corpus") != self._corpus:
            raise UsageError(
                f"{where}: this is an answer from the corpus {value.get('corpus')!r}; name another "
                "--out."
            )
        return id_
