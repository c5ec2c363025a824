"""`graphreader ask --file`: the questions of a file, many at once, each answer stored at once.

A question is a line, `{"question": "...", "id": "..."}` or a plain string. An answer is a line with
the question's id, the question and all fields of the reading, or the `error` instead. A later run
of the same command continues the file of answers.
"""

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Self

import typer
from filelock import FileLock, Timeout
from rich.console import RenderableType
from rich.spinner import Spinner
from rich.text import Text

from graphreader.cli.console import JobDisplay, cost_text, plural, print_error, print_json
from graphreader.cli.diagnostics import all_paths_failed
from graphreader.cli.interrupt import Interrupted
from graphreader.cli.options import STDIN, open_reader
from graphreader.errors import (
    DecisionError,
    GraphReaderError,
    RunsError,
    UnknownCorpusError,
    UsageError,
)
from graphreader.files import atomic_write
from graphreader.graph_reader import GraphReader
from graphreader.llm.retry import FATAL_ERRORS, CircuitBreaker
from graphreader.reading import Reading
from graphreader.runs import empty_corpus_message
from graphreader.usage import Usage

_CONTINUES = "The answers so far are kept: the same command continues."
_BOM = b"\xef\xbb\xbf"
_FORMAT = 'write {"question": "..."}, with an "id" of your own if you like, or just "..."'
_LINE_START = b'{"id": '

Outcome = Reading | GraphReaderError


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """One question of a file; its `id` is the number of its line where the line gives none."""

    id: str | int
    question: str

    def run_id(self, *scope: str) -> str:
        """The id of the run that answers it: the same for the same question in the same scope."""
        key = json.dumps([*scope, self.id, self.question])
        return sha256(key.encode()).hexdigest()[:12]


def ask_file(
    file: str, out: str | None, corpus: str, keep_run: bool, options: Mapping[str, Any]
) -> None:
    """Answer the questions of a file; exit with 1 if any of them failed.

    All lines are checked before anything is asked. The answers go to the file `out`, which a later
    run continues, or to stdout.
    """
    questions = read_questions(file)
    if out is None or out == STDIN:
        # A live line would disturb answers on the same terminal.
        display = AskDisplay(len(questions), enabled=not sys.stdout.isatty())
        with open_reader(corpus, **options) as reader:
            ask_all(reader, dict.fromkeys(questions), keep_run, _print_answer, display)
        print_error(display.summary())
    else:
        display = _ask_into_file(out, questions, corpus, keep_run, options)
        print(display.summary())
    if display.failed:
        raise typer.Exit(1)


def _ask_into_file(
    out: str,
    questions: list[FileQuestion],
    corpus: str,
    keep_run: bool,
    options: Mapping[str, Any],
) -> "AskDisplay":
    """Answer the questions that the file has no answer to yet."""
    with AnswerFile(out, corpus) as answers:
        left = answers.unanswered(questions)
        display = AskDisplay(len(questions), before=len(questions) - len(left))
        if left:
            scope = (corpus, str(options.get("mode") or ""), str(answers.path))
            runs: dict[FileQuestion, str | None] = {one: one.run_id(*scope) for one in left}
            try:
                with open_reader(corpus, **options) as reader:
                    if not answers.exists:
                        _delete_runs(reader, runs.values())
                    answers.open()
                    ask_all(reader, runs, keep_run, answers.append, display)
            except Interrupted as error:
                error.add_note(_CONTINUES)
                raise
            except GraphReaderError:
                if display.done > display.before:
                    print_error(f"{display.summary()} {_CONTINUES}")
                raise
    if display.failed:
        print_error("The same command asks the failed questions again.")
    return display


def _delete_runs(reader: GraphReader, runs: Iterable[str | None]) -> None:
    """Delete the runs of an earlier file, so that a new file gets new answers."""
    with suppress(RunsError):
        kept = {run.id for run in reader.runs(reader.corpus) if run.status != "running"}
        if old := kept.intersection(runs):
            reader.delete_runs(*old)


def ask_all(
    reader: GraphReader,
    runs: Mapping[FileQuestion, str | None],
    keep_run: bool,
    store: Callable[[Mapping[str, Any]], None],
    display: "AskDisplay",
) -> None:
    """Ask all questions, each with the id of its run, and store each outcome before it is shown.

    Raises an error that every further question would meet too.
    """
    if not reader.documents():
        raise UsageError(empty_corpus_message(reader.corpus))
    questions, ids = list(runs), [run for run in runs.values() if run]
    batch = reader.batch_as_completed(
        [one.question for one in questions], runs=ids or None, keep_run=keep_run
    )
    with display, closing(batch) as results:
        breaker = CircuitBreaker()
        for count, (place, result) in enumerate(results, 1):
            if isinstance(result, (UnknownCorpusError, *FATAL_ERRORS)):
                raise result
            question, outcome = questions[place], _failed_if_all_paths_failed(result)
            store(_answer_line(question, outcome))
            display.add(question.id, outcome)
            if isinstance(outcome, Reading):
                breaker.record_answer()
            elif (end := breaker.record_error(outcome)) and count < len(questions):
                raise end


def _failed_if_all_paths_failed(result: Outcome) -> Outcome:
    if isinstance(result, GraphReaderError) or not all_paths_failed(result):
        return result
    error = DecisionError(result.paths[0].error or result.answer)
    error.spent = result.usage
    return error


def _answer_line(question: FileQuestion, outcome: Outcome) -> Mapping[str, Any]:
    line = {"id": question.id, "question": question.question}
    if isinstance(outcome, Reading):
        return line | {name: x for name, x in outcome.as_dict().items() if name != "question"}
    return line | {"error": str(outcome)}


def _print_answer(line: Mapping[str, Any]) -> None:
    print_json(line)
    sys.stdout.flush()


class AskDisplay(JobDisplay):
    """Counts and shows answered questions; `before` of them were answered by an earlier run."""

    def __init__(self, total: int, before: int = 0, **options: Any) -> None:
        self._total, self.before = total, before
        self.answered = self.not_in_texts = self.failed = 0
        self.usage = Usage()
        self._spinner = Spinner("dots")
        # Answers may be printed meanwhile on stdout: they are not for this console.
        super().__init__("ask", "answers", redirect_stdout=False, **options)

    @property
    def total(self) -> int:
        """All questions of the file."""
        return self._total

    @property
    def done(self) -> int:
        """Questions that are answered or failed."""
        return self.before + self.answered + self.failed

    def add(self, id_: str | int, outcome: Reading | Exception) -> None:
        """Count and show one outcome."""
        if isinstance(outcome, Reading):
            self.answered += 1
            self.not_in_texts += not outcome.answered
            self.usage += outcome.usage
            self.advance()
        else:
            self.failed += 1
            self.usage += getattr(outcome, "spent", Usage())
            self.advance(f"{id_}: {outcome}")

    def counts(self) -> str:
        """`12 of 40 answered, 1 failed`."""
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"{self.before + self.answered:,} of {self.total:,} answered{failed}"

    def summary(self) -> str:
        """What became of all questions, and what that cost."""
        parts = [f"{self.before + self.answered:,} of {plural(self.total, 'question')} answered"]
        parts += [f"{self.before:,} of them before"] if self.before else []
        parts += [f"{self.not_in_texts:,} not in the texts"] if self.not_in_texts else []
        parts += [f"{self.failed:,} failed"] if self.failed else []
        cost = f" Cost: {cost_text(self.usage)}." if self.usage.tokens or self.usage.reused else ""
        return f"{', '.join(parts)}.{cost}"

    def __rich__(self) -> RenderableType:
        self._spinner.update(text=Text(self.line()))
        return self._spinner


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
    if path != STDIN:
        try:
            file = open(os.path.expanduser(path), "rb")  # noqa: SIM115  # closed below
        except OSError as error:
            raise UsageError(
                f"{path} cannot be opened ({error.strerror}): name a file of questions."
            ) from error
        with file:
            yield file
    elif sys.stdin.isatty():
        raise UsageError("Nothing is piped into standard input: name a file.")
    else:
        yield sys.stdin.buffer


def _parse_question(line: bytes, number: int) -> FileQuestion:
    """The question of a line. Raises ValueError with what is wrong."""
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
    id_ = _without_surrogates(id_) if isinstance(id_, str) else id_
    return FileQuestion(id_, _without_surrogates(question.strip()))


def _without_surrogates(text: str) -> str:
    """The text without lone surrogates, which JSON can hold and no file can."""
    return text.encode("utf-8", "replace").decode()


class AnswerFile:
    """A file of answers that no other process writes meanwhile and a later run continues."""

    def __init__(self, path: str, corpus: str) -> None:
        # The target of a link, so that rewriting the file keeps the link.
        self.path = Path(os.path.realpath(os.path.expanduser(path)))
        self._corpus = corpus
        self._lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Lock the file for this process. Raises UsageError if another process has it."""
        if self.exists and not self.path.is_file():
            raise UsageError(f"{self.path} is not a file: name another --out.")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(
                f"Another process writes its answers into {self.path}: wait for its end, or name "
                "another --out."
            ) from None
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written ({error.strerror}): name another --out."
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file:
            self._file.close()
        self._lock.release()

    @property
    def exists(self) -> bool:
        """Whether an earlier run has made the file."""
        return self.path.exists()

    def unanswered(self, questions: list[FileQuestion]) -> list[FileQuestion]:
        """The questions that have no answer in the file.

        Removes errors and a last line that was cut off from the file. Raises UsageError, and leaves
        the file as it is, if it holds anything else than answers to these questions.
        """
        if not self.exists:
            return questions
        by_id = {str(question.id): question for question in questions}
        answered: dict[str, int] = {}
        complete = True
        for number, line in self._lines():
            id_ = self._answered_id(line, number, by_id)
            if id_ is None or id_ in answered or not line.endswith(b"\n"):
                complete = False
            if id_ is not None:
                answered.setdefault(id_, number)
        if not complete:
            self._rewrite(set(answered.values()))
        return [question for id_, question in by_id.items() if id_ not in answered]

    def open(self) -> None:
        """Open the file for answers; it exists from then on."""
        self._file = self.path.open("ab")

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one answer; it survives the end of this process when this returns."""
        assert self._file is not None
        self._file.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self._file.flush()

    def _answered_id(
        self, line: bytes, number: int, questions: Mapping[str, FileQuestion]
    ) -> str | None:
        """The id of the question that a line answers, None for a line to remove."""
        where = f"{self.path}, line {number}"
        value = _parse_answer(line)
        if value is None:
            if _is_cut_off(line):
                return None
            raise UsageError(
                f"{where}: this is not an answer of `graphreader ask`; name another --out."
            )
        id_ = str(value["id"])
        question = questions.get(id_)
        if question and question.question != value["question"]:
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

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        with self.path.open("rb") as file:
            yield from enumerate(file, 1)

    def _rewrite(self, numbers: Collection[int]) -> None:
        """Keep only the lines of these numbers."""
        with atomic_write(self.path) as file:
            for number, line in self._lines():
                if number in numbers:
                    file.write(line.rstrip(b"\r\n") + b"\n")


def _parse_answer(line: bytes) -> dict[str, Any] | None:
    """The object of a line, None if it is not an answer."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not {"id", "question"} <= value.keys():
        return None
    return value if value.keys() & {"answer", "error"} else None


def _is_cut_off(line: bytes) -> bool:
    """Whether a line is only the beginning of an answer."""
    return not line.endswith(b"\n") and line[: len(_LINE_START)] == _LINE_START[: len(line)]
