"""ReadAgent's decisions without a model: by shared words, with gists of whole sentences."""

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from graphreader.baselines.read_agent import tasks
from graphreader.baselines.tasks import Excerpt, TextAnswer, TextChoice
from graphreader.llm.protocols import folded
from graphreader.offline.answering import answer_from_texts, choose_from_texts
from graphreader.offline.evidence import (
    LEAST,
    MOST_COMPARED,
    MOST_LEADING,
    covers,
    ranked_sentences,
)
from graphreader.offline.question import parse_question
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.text.words import terms_of

SIDE = 60  # terms on each side of a pause that are compared
GIST_SHARE = 0.22  # of a page's characters
SHORT = 20  # characters that a sentence costs in addition to its own
IN_QUESTION = 40.0  # weight of the relevance of a sentence, relative to a new word
_END = re.compile(r"[.!?。！？…:：,，;；\"”’'）)\]-]\s*\Z")
_FIRST_PARAGRAPH = re.compile(r"\s*([^\n]+?)[ \t]*(?:\n\s*\n|\Z)")
_RATIONALE = "By word overlap alone: its gist shares most with what is asked."


def choose_pause(task: tasks.PauseTask) -> tasks.PausePoint:
    """The last of the pauses whose sides share the fewest words; best where a heading follows."""
    sides = [terms_of(part) for part in (*task.parts, task.after)]
    following = (*task.parts[1:], task.after)

    def score(at: int) -> float:
        return _is_heading(following[at]) - _overlap_around(sides, at)

    return tasks.PausePoint(
        rationale="By word overlap alone: here both sides share least.",
        pause=max(range(len(task.parts)), key=lambda at: (score(at), at)),
    )


def make_gist(task: tasks.GistTask) -> tasks.Gist:
    """About a fifth of the page: the sentences that add most to those chosen, in their order."""
    question = parse_question(task.question if isinstance(task, tasks.GistForTask) else "")
    sentences = [folded(task.text[start:end]) for start, end in sentence_spans(task.text)]
    times = Counter(term for one in set(sentences) for term in terms_of(one))
    known: set[str] = set()

    def score(at: int) -> float:
        new = terms_of(sentences[at]) - known
        value = math.fsum(1 + math.log(times[term]) for term in new)
        relevance = IN_QUESTION * question.relevance(sentences[at])
        return (value + relevance) / math.sqrt(len(sentences[at]) + SHORT)

    chosen: list[int] = []
    for at in _take_best(score, [len(sentence) for sentence in sentences]):
        chosen.append(at)
        known |= terms_of(sentences[at])
    # A heading has a line of its own.
    space = "" if language_of(task.text) == "zh" else " "
    parts = (sentences[at] for at in sorted(chosen))
    joined = "".join(part + (space if _END.search(part) else "\n") for part in parts).strip()
    return tasks.Gist(gist=joined or folded(task.text))


def choose_pages(task: tasks.LookUpTask) -> tasks.LookUp:
    """The pages whose gists cover most of the question, as long as each one adds something."""
    pages = _MemoryPages(task)
    chosen: list[int] = []
    while len(chosen) < task.most and (page := pages.best_unread(chosen)):
        chosen.append(page)
    return tasks.LookUp(rationale=_RATIONALE, pages=chosen)


def choose_next_page(task: tasks.NextPageTask) -> tasks.NextPage:
    """The page whose gist adds most to the pages read; none if these have the answer."""
    pages = _MemoryPages(task)
    if pages.cover_question(task.read):
        return tasks.NextPage(rationale="The pages read hold what is asked.", page=0)
    return tasks.NextPage(rationale=_RATIONALE, page=pages.best_unread(task.read))


def answer(task: tasks.MemoryAnswerTask) -> TextAnswer:
    """Answer from the sentences of the memory."""
    return answer_from_texts(task.question, _excerpts(task))


def choose_option(task: tasks.MemoryChoiceTask) -> TextChoice:
    """Choose one of the options by the sentences of the memory."""
    return choose_from_texts(task.question, task.options, _excerpts(task))


class _MemoryPages:
    """The pages of a memory, ranked by what they add to those that were read."""

    def __init__(self, task: tasks.MemoryTask[Any]) -> None:
        self._excerpts = _excerpts(task)
        self._question = parse_question(" ".join((task.question, *task.options)))

    def best_unread(self, read: Sequence[int]) -> int:
        """The number of the page that adds most to those read; 0 where none adds enough."""
        question, texts = self._question, self._of(read)
        leading = ranked_sentences(texts, question)[:MOST_LEADING]
        leads = question.new_name_terms(one.text for one in leading)
        known = question.supports("\n".join(f"{one.label}\n{one.text}" for one in texts))
        scores = {}
        for number, page in enumerate(self._excerpts, 1):
            if number not in read:
                whole = question.relevance(page.text, page.label, leads)
                supports = question.supports(page.text, page.label)
                twice = question.share(map(operator.mul, supports, known))
                scores[number] = whole - twice
        best = max(scores, key=lambda n: scores[n], default=0)
        return best if best and scores[best] >= LEAST else 0

    def cover_question(self, read: Sequence[int]) -> bool:
        """Whether the pages read cover it, by the rule that also ends a path through a graph."""
        sentences = ranked_sentences(self._of(read), self._question)[:MOST_COMPARED]
        return covers([one.text for one in sentences], self._question)

    def _of(self, numbers: Iterable[int]) -> list[Excerpt]:
        return [self._excerpts[number - 1] for number in numbers]


def _excerpts(task: tasks.MemoryTask[Any]) -> list[Excerpt]:
    """The memory as the task shows it, each page under the title of its document."""
    title, excerpts = "", []
    for number, page in enumerate(task.memory, 1):
        title = page.title or title
        text = page.text if number in task.read else page.gist
        excerpts.append(Excerpt(title, text, number))
    return excerpts


def _overlap_around(sides: Sequence[frozenset[str]], at: int) -> float:
    """How similar the words around a pause are, from 0 to 1; 1 where there are none."""
    before = _collect(reversed(sides[: at + 1]))
    after = _collect(sides[at + 1 :])
    length = math.sqrt(len(before) * len(after))
    return len(before & after) / length if length else 1.0


def _collect(sides: Iterable[frozenset[str]]) -> frozenset[str]:
    terms: frozenset[str] = frozenset()
    for side in sides:
        terms |= side
        if len(terms) >= SIDE:
            break
    return terms


def _is_heading(text: str) -> bool:
    first = _FIRST_PARAGRAPH.match(text)
    return first is not None and len(first[1]) <= 80 and not _END.search(first[1])


def _take_best(score: Callable[[int], float], lengths: Sequence[int]) -> Iterator[int]:
    """Sentences until a gist is full, the best first; the first can be up to half of the page."""
    left, longest = GIST_SHARE * sum(lengths), sum(lengths) / 2
    scores = dict.fromkeys(range(len(lengths)), 0.0)
    while scores := {n: s for n in scores if lengths[n] <= longest and (s := score(n)) > 0}:
        best = max(scores, key=lambda n: scores[n])
        del scores[best]
        yield best
        left -= lengths[best]
        longest = left
