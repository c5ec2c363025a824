"""ReadAgent's decisions without a model: by shared words, and by sentences as they stand."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from statistics import fmean
from typing import Any

from graphreader.baselines.read_agent.tasks import (
    Gist,
    GistForTask,
    GistTask,
    LookUp,
    LookUpTask,
    MemoryAnswerTask,
    MemoryChoiceTask,
    MemoryTask,
    NextPage,
    NextPageTask,
    PausePoint,
    PauseTask,
)
from graphreader.baselines.tasks import Excerpt, TextAnswer, TextChoice
from graphreader.llm.protocols import folded
from graphreader.offline.answering import answer_from, choose_from, sentences_of
from graphreader.offline.question import Question, understand
from graphreader.offline.scoring import covers
from graphreader.text.names import names_of
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.text.words import terms_of

SIDE = 60  # terms on each side of a pause that are compared
LEAST_SIDE = 12  # with fewer of them a side says nothing
HEADING = 1.0  # what a heading behind a pause is worth; sides share at most as much
LATER = 0.05  # what a pause is worth for standing at the end rather than at the beginning
GIST_SHARE = 0.22  # of a page's characters
LONGEST_FIRST = 0.5  # ... that its best sentence may have alone
SHORT = 20  # characters that a sentence costs beside its own
FIRST = 1.3  # a page's first sentence says where it is
NAMED, MOST_NAMED = 0.5, 4  # what a name or number is worth, and how many of them count
FOR_TASK = 6.0  # what a word of the question counts beside one that the page repeats
KNOWN = 0.6  # what a word of the question counts that a page read before has already
LED_TO = 2.0  # what a name from these pages is worth that stands in another one
MOST_NOTED = 20  # sentences of the pages read that may hold what is asked
LEADING = 3  # sentences of the pages read whose names may lead on
LEAST = 0.1  # of the weight of the question, for a page to be looked up
_END = re.compile(r"[.!?。！？…:：,，;；\"”’'）)\]-]\s*\Z")
_NAMED = re.compile(r"(?<=[^\W_] )[A-Z]\w+|\d+")
_FIRST_PARAGRAPH = re.compile(r"\s*([^\n]+?)[ \t]*(?:\n\s*\n|\Z)")


def pause(task: PauseTask) -> PausePoint:
    """Where both sides share the fewest words; best where a heading follows."""
    sides = [terms_of(part) for part in (*task.parts, task.after)]
    shared = [_shared(sides, at) for at in range(len(task.parts))]
    usual = fmean([one for one in shared if one is not None] or [0.0])
    behind = (*task.parts[1:], task.after)

    def worth(at: int) -> float:
        overlap = usual if (found := shared[at]) is None else found
        return HEADING * _is_heading(behind[at]) - overlap + LATER * at / len(shared)

    return PausePoint(
        rationale="By word overlap alone: here both sides share least.",
        pause=max(range(len(shared)), key=worth),
    )


def gist(task: GistTask) -> Gist:
    """The page's most telling sentences, whole and in their order, about a fifth of it.

    What a sentence tells is what those chosen before did not: so an odd fact is not lost among
    many alike.
    """
    question = understand(task.question) if isinstance(task, GistForTask) else None
    sentences = [folded(task.text[start:end]) for start, end in sentence_spans(task.text)]
    terms = [terms_of(sentence) for sentence in sentences]
    times = Counter(term for one in set(sentences) for term in terms_of(one))
    known: set[str] = set()

    def worth(at: int) -> float:
        new = math.fsum(1 + math.log(times[term]) for term in terms[at] if term not in known)
        told = NAMED * min(len(_NAMED.findall(sentences[at])), MOST_NAMED) if new else 0.0
        asked = FOR_TASK * question.overlap(terms[at]) if question else 0.0
        first = FIRST if at == 0 else 1.0
        return ((new + told) * first + asked) / math.sqrt(len(sentences[at]) + SHORT)

    lengths = [len(sentence) for sentence in sentences]
    chosen: list[int] = []
    for at in _best_first(worth, lengths):
        chosen.append(at)
        known |= terms[at]
    return Gist(gist=_joined(sentences, sorted(chosen), task.text) or folded(task.text))


def look_up(task: LookUpTask) -> LookUp:
    """The pages whose gists hold most of what is asked, as long as each one adds something."""
    pages = _Pages(task)
    chosen: list[int] = []
    while len(chosen) < task.most and (page := pages.next_to(chosen)):
        chosen.append(page)
    return LookUp(rationale=_WHY, pages=chosen)


def next_page(task: NextPageTask) -> NextPage:
    """The page whose gist promises most beside the pages read; none where these hold an answer."""
    pages = _Pages(task)
    if pages.hold_what_is_asked(task.read):
        return NextPage(rationale="The pages read hold what is asked.", page=0)
    return NextPage(rationale=_WHY, page=pages.next_to(task.read))


def answer(task: MemoryAnswerTask) -> TextAnswer:
    """From the sentences of the memory."""
    return answer_from(task.question, _excerpts(task))


def choose(task: MemoryChoiceTask) -> TextChoice:
    """The same with options."""
    return choose_from(task.question, task.options, _excerpts(task))


_WHY = "By word overlap alone: its gist shares most with what is asked."


@dataclass(frozen=True, slots=True)
class _Need:
    """A term of the question with what it weighs among these pages, and who has it."""

    weight: float
    support: tuple[float, ...]


class _Pages:
    """The pages of a memory, by what their gists (or they themselves) share with the question."""

    def __init__(self, task: MemoryTask[Any]) -> None:
        self.excerpts = _excerpts(task)
        self._question = _asked(task)
        self._terms = [terms_of(f"{one.label}\n{one.text}") for one in self.excerpts]
        self._needs = list(self._weighed())
        self._whole = sum(need.weight for need in self._needs)

    def next_to(self, read: Sequence[int]) -> int:
        """The number of the page that adds most to those read; 0 where none adds enough."""
        left = [at for at in range(len(self.excerpts)) if at + 1 not in read]
        led_to = self._led_to(read)
        best = max(left, key=lambda at: self._worth(at, read, led_to), default=-1)
        enough = best >= 0 and self._worth(best, read, led_to) >= LEAST * self._whole > 0
        return best + 1 if enough else 0

    def hold_what_is_asked(self, read: Sequence[int]) -> bool:
        """Whether the pages read hold it, by the rule that also ends a path through a graph."""
        texts = [self.excerpts[number - 1] for number in read]
        sentences = sentences_of(texts, self._question)[:MOST_NOTED]
        return covers("\n".join(folded(one.text) for one in sentences), self._question)

    def _weighed(self) -> Iterator[_Need]:
        """A word that stands in every gist tells none of them apart."""
        for need in self._question.needs:
            support = tuple(need.support(terms) for terms in self._terms)
            holders = sum(1 for one in support if one)
            rarity = math.log(1 + len(support) / max(1, holders))
            yield _Need(need.weight * rarity, support)

    def _worth(self, at: int, read: Sequence[int], led_to: frozenset[str]) -> float:
        asked = 0.0
        for need in self._needs:
            known = max((need.support[number - 1] for number in read), default=0.0)
            asked += need.weight * need.support[at] * (1 - (1 - KNOWN) * known)
        return asked + LED_TO * bool(self._terms[at] & led_to)

    def _led_to(self, read: Sequence[int]) -> frozenset[str]:
        """Names that the pages read add to the question."""
        texts = [self.excerpts[number - 1] for number in read]
        best = sentences_of(texts, self._question)[:LEADING]
        names = (terms_of(name) for one in best for name in names_of(folded(one.text)))
        return frozenset(term for terms in names for term in terms) - self._question.terms


def _asked(task: MemoryTask[Any]) -> Question:
    """What is asked, with the words of the options."""
    return understand(" ".join((task.question, *task.options)))


def _excerpts(task: MemoryTask[Any]) -> list[Excerpt]:
    """The memory as it is shown, each page under the title of its document."""
    title, excerpts = "", []
    for number, page in enumerate(task.memory, 1):
        title = page.title or title
        text = page.text if number in task.read else page.gist
        excerpts.append(Excerpt(title, text, number))
    return excerpts


def _shared(sides: Sequence[frozenset[str]], at: int) -> float | None:
    """How alike the words around a pause are, from 0 to 1; None where one side has too few."""
    before = _gathered(reversed(sides[: at + 1]))
    behind = _gathered(iter(sides[at + 1 :]))
    if min(len(before), len(behind)) < LEAST_SIDE:
        return None
    return len(before & behind) / math.sqrt(len(before) * len(behind))


def _gathered(sides: Iterator[frozenset[str]]) -> frozenset[str]:
    terms: frozenset[str] = frozenset()
    for side in sides:
        terms |= side
        if len(terms) >= SIDE:
            break
    return terms


def _is_heading(text: str) -> bool:
    """Whether it begins with a short line of its own that is no sentence."""
    first = _FIRST_PARAGRAPH.match(text)
    return first is not None and len(first[1]) <= 80 and not _END.search(first[1])


def _best_first(worth: Callable[[int], float], lengths: Sequence[int]) -> Iterator[int]:
    """Sentences as long as they fit into a gist: each time the one that is worth most by then.

    What one is worth only falls while others are taken, so few are weighed anew. The first may be
    longer than a gist should be, if it is no half of the page.
    """
    left = GIST_SHARE * sum(lengths)
    most = LONGEST_FIRST * sum(lengths)
    waiting = [(-worth(at), at) for at in range(len(lengths))]
    heapify(waiting)
    while waiting:
        _, at = heappop(waiting)
        now = worth(at)
        if lengths[at] > most or now <= 0:
            continue
        if waiting and now < -waiting[0][0]:
            heappush(waiting, (-now, at))
            continue
        yield at
        left -= lengths[at]
        most = left


def _joined(sentences: Sequence[str], chosen: Sequence[int], text: str) -> str:
    """The sentences one after the other; a heading has a line of its own."""
    between = "" if language_of(text) == "zh" else " "
    ends = ("\n" if not _END.search(sentences[at]) else between for at in chosen)
    return "".join(sentences[at] + end for at, end in zip(chosen, ends, strict=True)).strip()
