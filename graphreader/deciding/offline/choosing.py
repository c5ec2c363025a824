"""Where to look next, by weighted word overlap and by following names from fact to fact."""

from collections import Counter
from dataclasses import replace
from typing import Literal

from graphreader.deciding.decisions import (
    ChunkDecision,
    FactsDecision,
    InitialNodes,
    NeighborDecision,
    ProposedNode,
)
from graphreader.deciding.exploring import ChunkTask, FactsTask, NeighborTask
from graphreader.deciding.offline.leads import lead
from graphreader.deciding.offline.notes import bridges_of, covers, noted
from graphreader.deciding.offline.question import Question, understand
from graphreader.deciding.offline.words import fold, terms_of, title_terms
from graphreader.deciding.offline.worth import worth_reading
from graphreader.deciding.tasks import InitialNodesTask
from graphreader.sentences import sentence_spans

Onward = Literal["search_more", "read_previous_chunk", "read_subsequent_chunk"]

AGAIN = 0.6  # of its score is left to a node that shares the same words as one before it
PROMISING = 0.6  # of the best chunk's promise makes another one worth a look
MOST_GROUPS = 6  # looked at on one page
MOST_FACTS = 3  # noted at one node
MOST_QUOTES = 4  # taken from one chunk
LEAST_SHARE = 0.1  # of the question's weight, for a sentence to be worth a quote
BRIDGE = 1.0  # what a name that leads on from the notes is worth, beside the words' own weights
KNOWN = 0.6  # what a word of the document's title counts in a sentence

LEAST_LEAD = 0.1  # for a neighbor to be gone on at
FARTHER = 0.5  # so much more with each step that the path is away from where it set out


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
    """What this reader looks at: of the first groups the titles, and the facts of one.

    These are the facts of the chunk that it is going to read, so that they are not read besides.
    Where no title, and nothing that is known to stand in the chunks, promises enough, one fact may
    still lead on.
    """
    few = (n for n, group in enumerate(task.groups) if group.promise < PROMISING)
    groups = task.groups[: min(MOST_GROUPS, max(1, next(few, len(task.groups))))]
    chosen = worth_reading(task, [group.keeping(0) for group in groups])
    opened, facts = (0, 1) if chosen is None else (chosen, len(groups[chosen].facts))
    seen = tuple(
        g.keeping(min(facts, len(g.facts)) if n == opened else 0) for n, g in enumerate(groups)
    )
    shown = sum(len(group.facts) for group in seen)
    return replace(task, groups=seen, remaining=task.remaining + task.own_choices - shown)


def choose_chunks(task: FactsTask) -> FactsDecision:
    """The unread chunk that says most about the question, beside the node's own name, if enough."""
    question = understand(task.question)
    own = terms_of(task.node)
    chosen = worth_reading(task, task.groups)
    facts = {f: question.overlap(terms_of(f), own) for g in task.groups for f in g.facts}
    useful = sorted((f for f in facts if facts[f] > 0), key=lambda f: -facts[f])[:MOST_FACTS]
    return FactsDecision(
        notebook=noted(task.notebook, useful, question),
        rationale=f"No unread chunk that names {task.node} says enough about the question."
        if chosen is None
        else "This chunk holds the most of the question's words.",
        function="stop_and_read_neighbor" if chosen is None else "read_chunk",
        chunks=[] if chosen is None else [chosen + 1],
    )


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
