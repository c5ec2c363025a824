"""Decisions of ReadAgent without a model: by shared words, with gists of whole sentences."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from graphreader.llm.protocols import folded
from graphreader.offline.evidence import (
    LEAST,
    MOST_LEADING,
    LabelledText,
    covers,
    ranked_sentences,
)
from graphreader.text.question import ParsedQuestion, bonus, parse_question
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.text.words import terms_of

SIDE = 400  # compared characters on each side of a pause point
GIST_SHARE = 0.22  # of a page's characters
SHORT = 20  # characters that are added to the length of each sentence
IN_QUESTION = 40.0  # weight of the relevance of a sentence, relative to a new word
_END = re.compile(r"[.!?。！？…:：,，;；\"”’'）)\]-]\s*\Z")


def pause_point(parts: Sequence[str], after: str) -> int:
    """Return the index of the part after which both sides share the fewest words, or the last."""

    def overlap(at: int) -> float:
        before = terms_of("\n".join(parts[: at + 1])[-SIDE:])
        behind = terms_of("\n".join((*parts[at + 1 :], after))[:SIDE])
        length = math.sqrt(len(before) * len(behind))
        return len(before & behind) / length if length else 1.0

    return min(reversed(range(len(parts))), key=overlap)


def gist_of(page: str, question: str) -> str:
    """Shorten a page to about a fifth: the sentences that add the most new words, in order.

    The first chosen sentence may have up to half of the page. A `question` makes sentences about
    it more likely; it may be empty.
    """
    parsed = parse_question(question)
    sentences = [folded(page[start:end]) for start, end in sentence_spans(page)]
    times = Counter(term for one in set(sentences) for term in terms_of(one))
    known: set[str] = set()

    def score(at: int) -> float:
        new = terms_of(sentences[at]) - known
        value = math.fsum(1 + math.log(times[term]) for term in new)
        relevance = IN_QUESTION * parsed.relevance(sentences[at])
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
    space = "" if language_of(page) == "zh" else " "
    parts = (sentences[at] for at in sorted(chosen))
    joined = "".join(part + (space if _END.search(part) else "\n") for part in parts).strip()
    return joined or folded(page)


def best_pages(question: str, memory: Sequence[LabelledText], most: int) -> list[int]:
    """Return the pages that cover most of the question, while each adds something."""
    parsed, chosen = parse_question(question), list[int]()
    while len(chosen) < most and (page := _best_unread(parsed, memory, chosen)):
        chosen.append(page)
    return chosen


def next_page(question: str, memory: Sequence[LabelledText], read: Sequence[int]) -> int:
    """Return the page that adds most to the pages read; 0 if it adds too little."""
    return _best_unread(parse_question(question), memory, read)


def is_covered(question: str, memory: Sequence[LabelledText], read: Sequence[int]) -> bool:
    """Whether the pages read have the answer."""
    parsed = parse_question(question)
    sentences = ranked_sentences([memory[number - 1] for number in read], parsed)
    return covers([one.text for one in sentences], parsed)


def _best_unread(
    question: ParsedQuestion, memory: Sequence[LabelledText], read: Sequence[int]
) -> int:
    """The number of the page that adds most to the read pages; 0 if none adds enough."""
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
