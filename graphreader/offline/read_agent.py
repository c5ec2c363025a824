"""Decisions of ReadAgent without a model: by shared words, with gists of whole sentences."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from graphreader.baselines.answering import Excerpt
from graphreader.baselines.read_agent import tasks
from graphreader.llm.protocols import folded
from graphreader.offline.evidence import LEAST, MOST_LEADING, covers, ranked_sentences
from graphreader.text.question import ParsedQuestion, bonus, parse_question
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.text.words import terms_of

SIDE = 400  # compared characters on each side of a pause point
GIST_SHARE = 0.22  # of a page's characters
SHORT = 20  # characters that are added to the length of each sentence
IN_QUESTION = 40.0  # weight of the relevance of a sentence, relative to a new word
_END = re.compile(r"[.!?。！？…:：,，;；\"”’'）)\]-]\s*\Z")
_RATIONALE = "By word overlap alone: its gist shares most with what is asked."


def choose_pause(task: tasks.PauseTask) -> tasks.PausePoint:
    """Choose the pause point whose sides share the fewest words; of equal points the last."""

    def overlap(at: int) -> float:
        before = terms_of("\n".join(task.parts[: at + 1])[-SIDE:])
        after = terms_of("\n".join((*task.parts[at + 1 :], task.after))[:SIDE])
        length = math.sqrt(len(before) * len(after))
        return len(before & after) / length if length else 1.0

    return tasks.PausePoint(
        rationale="By word overlap alone: here both sides share least.",
        pause=min(reversed(range(len(task.parts))), key=overlap),
    )


def make_gist(task: tasks.GistTask) -> tasks.Gist:
    """Shorten a page to about a fifth: the sentences that add the most new words, in order.

    The first chosen sentence may have up to half of the page.
    """
    question = parse_question(task.question if isinstance(task, tasks.GistForTask) else "")
    sentences = [folded(task.text[start:end]) for start, end in sentence_spans(task.text)]
    times = Counter(term for one in set(sentences) for term in terms_of(one))
    known: set[str] = set()

    def score(at: int) -> float:
        new = terms_of(sentences[at]) - known
        value = math.fsum(1 + math.log(times[term]) for term in new)
        relevance = IN_QUESTION * question.relevance(sentences[at])
        return (value + relevance) / math.sqrt(len(sentences[at]) + SHORT)

    total = sum(map(len, sentences))
    left, longest = GIST_SHARE * total, total / 2
    chosen: list[int] = []
    rest = list(range(len(sentences)))
    while rest := [at for at in rest if len(sentences[at]) <= longest and at not in chosen]:
        best = max(rest, key=score)
        if not score(best):
            break
        chosen.append(best)
        known |= terms_of(sentences[best])
        left -= len(sentences[best])
        longest = left
    # A heading has a line of its own.
    space = "" if language_of(task.text) == "zh" else " "
    parts = (sentences[at] for at in sorted(chosen))
    joined = "".join(part + (space if _END.search(part) else "\n") for part in parts).strip()
    return tasks.Gist(gist=joined or folded(task.text))


def choose_pages(task: tasks.LookUpTask) -> tasks.LookUp:
    """Choose the pages whose gists cover most of the question, while each adds something."""
    chosen: list[int] = []
    while len(chosen) < task.most and (page := _best_unread(task, chosen)):
        chosen.append(page)
    return tasks.LookUp(rationale=_RATIONALE, pages=chosen)


def choose_next_page(task: tasks.NextPageTask) -> tasks.NextPage:
    """Choose the page whose gist adds most to the pages read; none if these have the answer."""
    question, memory = _question(task), excerpts_of(task)
    sentences = ranked_sentences([memory[number - 1] for number in task.read], question)
    if covers([one.text for one in sentences], question):
        return tasks.NextPage(rationale="The pages read hold what is asked.", page=0)
    return tasks.NextPage(rationale=_RATIONALE, page=_best_unread(task, task.read))


def _best_unread(task: tasks.MemoryTask[Any], read: Sequence[int]) -> int:
    """The number of the page that adds most to the read pages; 0 if none adds enough."""
    question, memory = _question(task), excerpts_of(task)
    texts = [memory[number - 1] for number in read]
    leading = ranked_sentences(texts, question)[:MOST_LEADING]
    leads = question.new_name_terms(one.text for one in leading)
    known = question.supports("\n".join(f"{one.label}\n{one.text}" for one in texts))
    scores = {}
    for number, page in enumerate(memory, 1):
        if number not in read:
            supports = question.supports(page.text, page.label)
            new = (support * (1 - before) for support, before in zip(supports, known, strict=True))
            scores[number] = question.share(new) + bonus(leads, page.text, page.label)
    best = max(scores, key=lambda n: scores[n], default=0)
    return best if best and scores[best] >= LEAST else 0


def _question(task: tasks.MemoryTask[Any]) -> ParsedQuestion:
    return parse_question(" ".join((task.question, *task.options)))


def excerpts_of(task: tasks.MemoryTask[Any]) -> list[Excerpt]:
    """The pages or gists of a task's memory as excerpts, with the titles of their documents."""
    title, excerpts = "", []
    for number, page in enumerate(task.memory, 1):
        title = page.title or title
        text = page.text if number in task.read else page.gist
        excerpts.append(Excerpt(title, text, number))
    return excerpts
