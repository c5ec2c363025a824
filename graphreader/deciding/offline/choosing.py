"""Where to look next, by weighted word overlap and by following names from fact to fact."""

import re
from collections import Counter
from typing import Literal

from graphreader.deciding.decisions import (
    ChunkDecision,
    FactsDecision,
    InitialNodes,
    NeighborDecision,
    ProposedNode,
)
from graphreader.deciding.exploring import ChunkTask, FactGroup, FactsTask, NeighborTask
from graphreader.deciding.offline.leads import lead, nearness
from graphreader.deciding.offline.notes import bridges_of, covers, noted
from graphreader.deciding.offline.question import Question, understand
from graphreader.deciding.offline.words import fold, terms_of, title_terms
from graphreader.deciding.tasks import InitialNodesTask
from graphreader.sentences import sentence_spans

Onward = Literal["search_more", "read_previous_chunk", "read_subsequent_chunk"]

AGAIN = 0.6  # of its score is left to a node that shares the same words as one before it
PROMISING = 0.8  # of the best chunk's promise makes another one's facts worth a look
MOST_GROUPS = 3  # looked at on one page
MOST_FACTS = 3  # noted at one node
MOST_QUOTES = 4  # taken from one chunk
LEAST_SHARE = 0.1  # of the question's weight, for a sentence to be worth a quote
BRIDGE = 1.0  # what a name that leads on from the notes is worth, beside the words' own weights
KNOWN = 0.6  # what a word of the document's title counts in a sentence

# Shares of the question's weight that a chunk must be worth to be read.
LEAST_ASKED = 0.2  # where a path sets out from a name of the question
LEAST_LED_TO = 0.5  # where the notes led to the node
LEAST_CHUNK = 0.55
IN_A_FACT = 0.3  # what it counts besides that one fact holds what the chunk holds
ASKED_TITLE = 0.4  # what a document is worth that is called as the question says
LED_TO_TITLE = 0.3  # ... and one that is called like the name that the notes led to
LED_TO = 0.5  # what a chunk gains by the lead to its node
NAMELESS = 0.8  # what counts of one that neither holds a name of the question nor was led to

LEAST_LEAD = 0.1  # for a neighbor to be gone on at
FARTHER = 0.5  # so much more with each step that the path is away from where it set out

_QUALIFIER = re.compile(r" \([^)]*\)(?=, chunk \d+$)")


def choose_initial_nodes(task: InitialNodesTask) -> InitialNodes:
    """Names of the question first, then its other words.

    Diverse: of nodes that share the same words with the question, the first keeps its full score.
    """
    question = understand(task.question)
    left = {n: _likeness(node, question) for n, node in enumerate(task.nodes, 1)}
    seen: Counter[frozenset[str]] = Counter()
    chosen = []
    for number in sorted(left, key=lambda n: -left[n]):
        supported = terms_of(task.nodes[number - 1]) & question.terms
        score = left[number] * AGAIN ** seen[supported]
        seen[supported] += 1
        chosen.append(ProposedNode(number=number, score=round(score)))
    chosen.sort(key=lambda node: -node.score)
    useful = sum(node.score > 0 for node in chosen)
    return InitialNodes(nodes=chosen[: max(10, min(useful, 20))])


def _likeness(node: str, question: Question) -> float:
    """From 0 to 100: how much of the node is in the question, and how much weight that has."""
    terms = terms_of(node)
    if not terms or not question.needs:
        return 0.0
    overlap = question.overlap(terms)
    precision = len(terms & question.terms) / len(terms)
    name = 25.0 if fold(node) in {fold(name) for name in question.names} else 0.0
    return min(100.0, name + 45 * precision * min(1.0, overlap) + 30 * min(1.0, overlap / 4))


def promising(task: FactsTask) -> FactsTask:
    """What this reader looks at: the first groups, as far as they promise nearly as much as any."""
    groups = task.groups
    weak = (n for n, group in enumerate(groups) if group.promise < PROMISING)
    seen = groups[: min(MOST_GROUPS, max(1, next(weak, len(groups))))]
    return task.keeping_own(sum(len(group.facts) for group in seen))


def choose_chunks(task: FactsTask) -> FactsDecision:
    """The unread chunk that says most about the question, beside the node's own name, if enough.

    It says more of it where a name in the notes led to the node, and enough with less.
    """
    question = understand(task.question)
    own = terms_of(task.node)
    led = 0.0 if own <= question.terms else nearness(task.node, task.notebook, question)
    scores = {
        number: _worth(group, question, own, led)
        for number, group in enumerate(task.groups, 1)
        if not group.read
    }
    sets_out = not task.actions and _is_asked_about(own, question)
    # Chinese has no word ends to go by, so the shares of single pairs of characters must do.
    is_easy = sets_out or question.language == "zh"
    least = LEAST_ASKED if is_easy else LEAST_LED_TO if led else LEAST_CHUNK
    if sets_out and len(scores) == 1:
        # All that is told of who is asked about: it may lead on, whatever it is.
        scores = {number: max(score, least) for number, score in scores.items()}
    best = sorted((n for n in scores if scores[n] >= least), key=lambda n: -scores[n])
    chosen = best[:1]  # what it says leads on better than the second best chunk
    facts = {f: question.overlap(terms_of(f), own) for g in task.groups for f in g.facts}
    useful = sorted((f for f in facts if facts[f] > 0), key=lambda f: -facts[f])[:MOST_FACTS]
    return FactsDecision(
        notebook=noted(task.notebook, useful, question),
        rationale="This chunk holds the most of the question's words."
        if chosen
        else f"No unread chunk that names {task.node} says enough about the question.",
        function="read_chunk" if chosen else "stop_and_read_neighbor",
        chunks=chosen,
    )


def _worth(group: FactGroup, question: Question, own: frozenset[str], led: float) -> float:
    """The share of the question's weight that the chunk holds, and what else speaks for it."""
    if not question.weight:
        return 0.0
    facts = [terms_of(fact) for fact in group.facts]
    title = title_terms(_QUALIFIER.sub("", group.label))
    held = frozenset[str]().union(*facts, title, terms_of(" ".join(group.holds)))
    is_asked = bool(title) and title <= question.terms and not _is_part_of_a_name(title, question)
    is_led_to = bool(led) and own <= title
    is_all_asked = question.terms <= own  # some questions are all name: that must do
    if not (question.overlap(held, own) or is_all_asked or is_asked or is_led_to):
        return 0.0
    whole = question.overlap(held) / question.weight
    in_a_fact = max((question.overlap(terms | title, own) for terms in facts), default=0.0)
    follows = led * LED_TO * (1 + whole) + (LED_TO_TITLE + led) * is_led_to
    if not led and not any(n.support(held) for n in question.needs if n.in_name):
        whole *= NAMELESS if question.names else 1
    return whole + IN_A_FACT * in_a_fact / question.weight + ASKED_TITLE * is_asked + follows


def _is_part_of_a_name(title: frozenset[str], question: Question) -> bool:
    return any(title < terms_of(name) for name in question.names)


def _is_asked_about(own: frozenset[str], question: Question) -> bool:
    """Whether a node of these terms is one of the question's names."""
    return any(own == terms_of(name) for name in question.names)


def read_chunk(task: ChunkTask) -> ChunkDecision:
    """The chunk's best sentences, and whether all that is asked for is in the notes now."""
    question = understand(task.question)
    spans = sentence_spans(task.text)
    chosen = _best_sentences(task, spans, question)
    quotes = [_quote(task.text, spans, number) for number in chosen]
    notebook = noted(task.notebook, quotes, question)
    complete = covers(notebook, question)
    return ChunkDecision(
        notebook=notebook,
        quotes=quotes,
        rationale="The notes hold every word that the question asks for."
        if complete
        else "Some words of the question are not in the notes yet.",
        function="termination" if complete else _onward(task, spans, chosen),
    )


def _best_sentences(task: ChunkTask, spans: list[tuple[int, int]], question: Question) -> list[int]:
    """Sentences by what each adds to those before it, in the order of the text."""
    led_to = bridges_of(task.notebook, question) | (terms_of(task.node) - question.terms)
    # What all of the chunk is about tells its sentences apart least.
    known = title_terms(task.label)
    terms = [terms_of(task.text[start:end]) for start, end in spans]
    scores = [
        question.overlap(t | known, known)
        + KNOWN * question.overlap(known)
        + BRIDGE * bool(t & led_to)
        for t in terms
    ]
    least = max(1.0, LEAST_SHARE * question.weight)
    left = {n for n, t in enumerate(terms) if question.overlap(t) > 0 and scores[n] >= least}
    # Where the title has it all, sentences that say it again are better than none.
    left = left or {n for n, t in enumerate(terms) if question.overlap(t) >= least}
    covered: frozenset[str] = frozenset()
    chosen: list[int] = []
    while left and len(chosen) < MOST_QUOTES:
        best = max(
            left, key=lambda n: (scores[n] + question.overlap(terms[n], covered | known), -n)
        )
        left.discard(best)
        covered |= terms[best]
        chosen.append(best)
    return sorted(chosen)


def _quote(text: str, spans: list[tuple[int, int]], number: int) -> str:
    """The sentence as it stands in the text, with the one before it if it begins with a pronoun."""
    start, end = spans[number]
    first = fold(text[start:end].split(None, 1)[0].strip('"“'))
    if number and first in {"he", "she", "it", "they", "his", "her", "this", "他", "她", "它"}:
        start = spans[number - 1][0]
    return text[start:end]


def _onward(task: ChunkTask, spans: list[tuple[int, int]], chosen: list[int]) -> Onward:
    """Reading on only where the one useful sentence is the chunk's last or first."""
    if len(chosen) == 1 and len(spans) > 3 and not task.queued:
        if chosen[0] == len(spans) - 1 and task.has_subsequent:
            return "read_subsequent_chunk"
        if chosen[0] == 0 and task.has_previous:
            return "read_previous_chunk"
    return "search_more"


def choose_neighbor(task: NeighborTask) -> NeighborDecision:
    """The neighbor that leads farthest, if any leads far enough; none that the path was at.

    Names that the notes add to the question lead, the question's own names, then its other words.
    """
    question = understand(task.question)
    visits = [action for action in task.actions if "read_neighbor_node(" in action]
    scores = [
        0.0
        if any(f"read_neighbor_node({node})" in action for action in visits)
        else lead(node, task.notebook, question)
        for node in task.neighbors
    ]
    best = max(range(len(scores)), key=lambda n: (scores[n], -n), default=-1)
    if best < 0 or scores[best] < LEAST_LEAD * (1 + FARTHER * len(visits)):
        return NeighborDecision(
            rationale="No neighbor leads on, by the question's words or by the notes.",
            function="termination",
            neighbor=0,
        )
    return NeighborDecision(
        rationale=f"{task.neighbors[best]} stands in the notes or in the question.",
        function="read_neighbor_node",
        neighbor=best + 1,
    )
