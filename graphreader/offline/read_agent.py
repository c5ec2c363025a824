"""ReadAgent's decisions without a model: by shared words, with gists of whole sentences."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any

from graphreader.baselines.read_agent import tasks
from graphreader.baselines.tasks import Excerpt, TextAnswer, TextChoice
from graphreader.llm.protocols import folded
from graphreader.offline.answering import answer_from_texts, choose_from_texts, scored_sentences
from graphreader.offline.exploration import covers
from graphreader.offline.question import parse_question
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.text.words import terms_of

SIDE = 60  # terms on each side of a pause that are compared
LEAST_SIDE = 12  # terms; with fewer, a side says nothing
HEADING = 1.0  # score of a heading behind a pause; the overlap of both sides is at most as much
LATER = 0.05  # score of a pause for being at the end rather than at the beginning
GIST_SHARE = 0.22  # of a page's characters
LONGEST_FIRST = 0.5  # share of a page that its best sentence can have alone
SHORT = 20  # characters that a sentence costs in addition to its own
FIRST = 1.3  # factor for a page's first sentence, which says where it is
NAME, MOST_NAMES = 0.5, 4  # score of a name or number in a sentence, and how many of them count
IN_QUESTION = 6.0  # weight of a word of the question relative to one that the page repeats
KNOWN = 0.6  # share left to a word of the question that a page read before has
LEAD = 2.0  # score of a name of the pages read that is in another page
MOST_NOTED = 20  # sentences of the pages read that can contain the answer
MOST_LEADING = 3  # sentences of the pages read whose names can lead on
LEAST_PAGE = 0.1  # of the question's weight, for a page to be looked up
_END = re.compile(r"[.!?。！？…:：,，;；\"”’'）)\]-]\s*\Z")
_NAME_OR_NUMBER = re.compile(r"(?<=[^\W_] )[A-Z]\w+|\d+")
_FIRST_PARAGRAPH = re.compile(r"\s*([^\n]+?)[ \t]*(?:\n\s*\n|\Z)")
_RATIONALE = "By word overlap alone: its gist shares most with what is asked."


def choose_pause(task: tasks.PauseTask) -> tasks.PausePoint:
    """The pause whose sides share the fewest words; best where a heading follows."""
    sides = [terms_of(part) for part in (*task.parts, task.after)]
    overlaps = [_overlap_around(sides, at) for at in range(len(task.parts))]
    mean = fmean([one for one in overlaps if one is not None] or [0.0])
    following = (*task.parts[1:], task.after)

    def score(at: int) -> float:
        overlap = overlaps[at]
        share = mean if overlap is None else overlap
        return HEADING * _is_heading(following[at]) - share + LATER * at / len(overlaps)

    return tasks.PausePoint(
        rationale="By word overlap alone: here both sides share least.",
        pause=max(range(len(overlaps)), key=score),
    )


def make_gist(task: tasks.GistTask) -> tasks.Gist:
    """About a fifth of the page: the sentences that add most to those chosen, in their order."""
    question = parse_question(task.question) if isinstance(task, tasks.GistForTask) else None
    sentences = [folded(task.text[start:end]) for start, end in sentence_spans(task.text)]
    terms = [terms_of(sentence) for sentence in sentences]
    times = Counter(term for one in set(sentences) for term in terms_of(one))
    known: set[str] = set()

    def score(at: int) -> float:
        new = math.fsum(1 + math.log(times[term]) for term in terms[at] if term not in known)
        names = min(len(_NAME_OR_NUMBER.findall(sentences[at])), MOST_NAMES) if new else 0
        relevance = IN_QUESTION * question.overlap(terms[at]) if question else 0.0
        first = FIRST if at == 0 else 1.0
        return ((new + NAME * names) * first + relevance) / math.sqrt(len(sentences[at]) + SHORT)

    chosen: list[int] = []
    for at in _take_best(score, [len(sentence) for sentence in sentences]):
        chosen.append(at)
        known |= terms[at]
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
    """The pages of a memory, ranked by the words that they share with question and options."""

    def __init__(self, task: tasks.MemoryTask[Any]) -> None:
        self._excerpts = _excerpts(task)
        self._question = parse_question(" ".join((task.question, *task.options)))
        self._terms = [terms_of(f"{one.label}\n{one.text}") for one in self._excerpts]

    def best_unread(self, read: Sequence[int]) -> int:
        """The number of the page that adds most to those read; 0 where none adds enough."""
        leads = self._leads(read)
        scores = {
            at: self._score(at, read, leads)
            for at in range(len(self._excerpts))
            if at + 1 not in read
        }
        best = max(scores, key=lambda at: scores[at], default=-1)
        least = LEAST_PAGE * sum(weight for weight, _ in self._supports)
        return best + 1 if best >= 0 and scores[best] >= least > 0 else 0

    def cover_question(self, read: Sequence[int]) -> bool:
        """Whether the pages read cover it, by the rule that also ends a path through a graph."""
        sentences = scored_sentences(self._of(read), self._question)[:MOST_NOTED]
        return covers("\n".join(folded(one.text) for one in sentences), self._question)

    @cached_property
    def _supports(self) -> list[tuple[float, list[float]]]:
        """The weight of each term of the question among these pages, and each page's support."""
        supports = []
        for term in self._question.terms:
            support = [term.support(terms) for terms in self._terms]
            pages = sum(1 for one in support if one)
            rarity = math.log(1 + len(support) / max(1, pages))
            supports.append((term.weight * rarity, support))
        return supports

    def _score(self, at: int, read: Sequence[int], leads: frozenset[str]) -> float:
        score = 0.0
        for weight, support in self._supports:
            known = max((support[number - 1] for number in read), default=0.0)
            score += weight * support[at] * (1 - (1 - KNOWN) * known)
        return score + LEAD * bool(self._terms[at] & leads)

    def _leads(self, read: Sequence[int]) -> frozenset[str]:
        best = scored_sentences(self._of(read), self._question)[:MOST_LEADING]
        return self._question.new_name_terms(folded(one.text) for one in best)

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


def _overlap_around(sides: Sequence[frozenset[str]], at: int) -> float | None:
    """How similar the words around a pause are, from 0 to 1; None where a side has too few."""
    before = _collect(reversed(sides[: at + 1]))
    after = _collect(sides[at + 1 :])
    if min(len(before), len(after)) < LEAST_SIDE:
        return None
    return len(before & after) / math.sqrt(len(before) * len(after))


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
    left = GIST_SHARE * sum(lengths)
    longest = LONGEST_FIRST * sum(lengths)
    scores = dict.fromkeys(range(len(lengths)), 0.0)
    while scores := {n: s for n in scores if lengths[n] <= longest and (s := score(n)) > 0}:
        best = max(scores, key=lambda n: scores[n])
        del scores[best]
        yield best
        left -= lengths[best]
        longest = left
