"""What is measured of one reading, and the mean of it over many."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from graphreader.evaluation.metrics import evidence
from graphreader.evaluation.metrics.intervals import Interval, mean_interval
from graphreader.evaluation.tables.lines import EqualReading, Line

Measure = Callable[[Line], float | None]
_OfQuestion = TypeVar("_OfQuestion", Line, EqualReading)


def lr1(line: Line) -> float | None:
    """LR-1: the raters call the answer an exact match."""
    return None if line.rating is None else float(line.rating == "exact")


def lr2(line: Line) -> float | None:
    """LR-2: they call it an exact or a partial match."""
    return None if line.rating is None else float(line.rating != "no")


def exact(line: Line) -> float | None:
    """EM."""
    return line.em


def f1(line: Line) -> float | None:
    """F1."""
    return line.f1


def f1_star(line: Line) -> float | None:
    """LV-Eval's F1*."""
    return line.f1_star


def choice(line: Line) -> float | None:
    """The right option was chosen."""
    return None if line.choice is None else float(line.choice)


def rouge(kind: str) -> Measure:
    """ROUGE-1, -2 or -L of an answer in free words."""
    return lambda line: (line.rouge or {}).get(kind)


def answered(line: Line) -> float | None:
    """The reader gave an answer."""
    return float(line.answered)


def document_recall(line: Line) -> float | None:
    """The share of the gold documents that were read."""
    return evidence.document_recall(line.documents_read, line.gold_documents)


def chunk_recall(line: Line) -> float | None:
    """The share of the supporting sentences that stand in chunks that were read."""
    return line.chunk_recall


def fcr(line: Line) -> float | None:
    """All gold documents were read."""
    return evidence.fcr(line.documents_read, line.gold_documents)


def jsr(right: Measure) -> Measure:
    """All gold documents were read, and the answer is right, which `right` tells.

    A reading that failed is not right; one of which that is not known is not measured.
    """

    def measured(line: Line) -> float | None:
        told = 0.0 if line.error else right(line)
        if told is None:
            return None
        return evidence.jsr(line.documents_read, line.gold_documents, told == 1)

    return measured


def citation_precision(line: Line) -> float | None:
    """The share of the cited documents that are gold."""
    return evidence.citation_precision(line.documents_cited, line.gold_documents)


def what_is_right(lines: Sequence[Line]) -> tuple[str, Measure]:
    """By what the answers to these are right: LR-1 where raters were asked, else what is exact.

    That is the right option where there are options, and an exact match elsewhere.
    """
    if any(line.rating is not None for line in lines):
        return "LR-1 (the raters call it exact)", lr1
    kinds = {line.choice is not None for line in lines if not line.error}
    names = {True: "the right option", False: "an exact match (EM)"}
    told = " or ".join(names[kind] for kind in sorted(kinds, reverse=True)) or names[False]
    return f"{told}, for no rater was asked", lambda line: _either(line, exact)


def option_or_f1(line: Line) -> float | None:
    """Accuracy where there are options, F1 elsewhere."""
    return _either(line, f1)


def _either(line: Line, in_words: Measure) -> float | None:
    chosen = choice(line)
    return in_words(line) if chosen is None else chosen


def with_options(lines: Sequence[Line]) -> frozenset[str]:
    """The questions that have options, by their ids; a failed reading does not tell that itself."""
    if all(line.choice is None for line in lines):
        return frozenset()
    without = {line.id for line in lines if line.choice is None and not line.error}
    return frozenset(line.id for line in lines if line.id not in without)


def measured_by(name: str, lines: Sequence[Line], options: Collection[str]) -> list[Line]:
    """The lines that a score is for: accuracy for `options`, a rating for all, else the rest."""
    if name.startswith("LR-"):
        return list(lines)
    return [line for line in lines if (line.id in options) == (name == "Accuracy")]


def tokens_read(line: Line) -> float | None:
    """Tokens of the documents' text that were shown."""
    return None if line.error else float(line.tokens_read)


def share_read(line: Line) -> float | None:
    """The same as a share of the record."""
    if line.error or not line.record_tokens:
        return None
    return line.tokens_read / line.record_tokens


def seconds(line: Line) -> float | None:
    """How long the reading took."""
    return None if line.error else line.seconds


def mean(lines: Iterable[Line], measure: Measure) -> Interval | None:
    """The mean over questions with its 95 % interval; None where nothing is measured.

    Repeated readings of a question are averaged first, for they are no further questions.
    """
    return mean_interval(by_question(lines, measure).values())


def score(lines: Sequence[Line], measure: Measure) -> Interval | None:
    """The same of a score: a reading that failed counts as 0 where others have one."""
    if all(measure(line) is None for line in lines):
        return None
    return mean_interval(scored(lines, measure).values())


def scored(lines: Iterable[Line], measure: Measure) -> dict[str, float]:
    """A score by question: a reading that failed counts as 0, where an answer is known."""

    def measured(line: Line) -> float | None:
        return 0.0 if line.error and line.em is not None else measure(line)

    return by_question(lines, measured)


def by_question(
    lines: Iterable[_OfQuestion], measure: Callable[[_OfQuestion], float | None]
) -> dict[str, float]:
    """The mean of each question that is measured, by its id."""
    found: dict[str, list[float]] = {}
    for line in lines:
        value = measure(line)
        if value is not None:
            found.setdefault(line.id, []).append(value)
    return {id_: sum(values) / len(values) for id_, values in found.items()}


def average(values: Iterable[float | None]) -> float | None:
    """The plain mean of what is known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def number(told: Mapping[str, Any] | None, key: str) -> float | None:
    """A number of a mapping whose keys are another part's; None where it has none of it."""
    value = (told or {}).get(key)
    return float(value) if isinstance(value, int | float) else None


def questions(lines: Iterable[Line]) -> int:
    """How many different questions there are."""
    return len({line.id for line in lines})


MAIN: tuple[tuple[str, Measure], ...] = (
    ("LR-1", lr1),
    ("Accuracy", choice),
    ("F1*", f1_star),
    ("F1", f1),
)


def main_measure(lines: Sequence[Line]) -> tuple[str, Measure]:
    """By what readers of a dataset are compared in one number: the first that all have.

    What is rated, else options chosen (and F1 where a question has none), else LV-Eval's F1*, else
    F1. Here and there a rating may be missing, for raters fail; but each reader must have some.
    """
    sound = [line for line in lines if not line.error]
    rated = {(line.reader, line.model) for line in sound if line.rating is not None}
    if rated and rated == {(line.reader, line.model) for line in sound}:
        return MAIN[0]
    if len({line.choice is None for line in sound}) > 1:
        return "Accuracy or F1", option_or_f1
    for name, measure in MAIN[1:]:
        if sound and all(measure(line) is not None for line in sound):
            return name, measure
    return MAIN[-1]
