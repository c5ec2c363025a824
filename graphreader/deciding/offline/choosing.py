"""Where to look next, by weighted word overlap and by following names from fact to fact."""

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
from graphreader.deciding.offline.names import names_of
from graphreader.deciding.offline.notes import bridges_of, covers, lines_of, noted
from graphreader.deciding.offline.question import Question, understand
from graphreader.deciding.offline.words import fold, terms_of, title_terms
from graphreader.deciding.tasks import InitialNodesTask
from graphreader.sentences import sentence_spans

Onward = Literal["search_more", "read_previous_chunk", "read_subsequent_chunk"]

AGAIN = 0.6  # of its score is left to a node that shares the same words as one before it
MOST_CHUNKS = 3  # chosen at one node
MOST_FACTS = 3  # noted at one node
MOST_QUOTES = 4  # taken from one chunk
LEAST_SHARE = 0.1  # of the question's weight, for a sentence to be worth a quote
BRIDGE = 1.0  # what a name that leads on from the notes is worth, beside the words' own weights
KNOWN = 0.6  # what a word of the document's title counts in a sentence
TITLE = 1.5  # what a document that is called like the node is worth


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


def choose_chunks(task: FactsTask) -> FactsDecision:
    """The unread chunks whose facts say more about the question than the node's own name."""
    question = understand(task.question)
    own = terms_of(task.node)
    led_to = bridges_of(task.notebook, question)
    scores = {
        number: _group_score(group, question, own, led_to)
        for number, group in enumerate(task.groups, 1)
        if not group.read
    }
    if len(scores) == 1 and not task.actions and _is_asked_about(own, question):
        # All that is told of who is asked about: it may lead on, whatever it is.
        scores = {number: max(score, LEAST_SHARE) for number, score in scores.items()}
    best = sorted((n for n in scores if scores[n] > 0), key=lambda n: -scores[n])[:MOST_CHUNKS]
    chosen = [n for n in best if scores[n] >= 0.4 * scores[best[0]]]
    facts = {f: question.overlap(terms_of(f), own) for g in task.groups for f in g.facts}
    useful = sorted((f for f in facts if facts[f] > 0), key=lambda f: -facts[f])[:MOST_FACTS]
    return FactsDecision(
        notebook=noted(task.notebook, useful, question),
        rationale="These chunks' facts share the most words with the question."
        if chosen
        else f"No unread fact of {task.node} shares more with the question than its name.",
        function="read_chunk" if chosen else "stop_and_read_neighbor",
        chunks=chosen,
    )


def _group_score(
    group: FactGroup, question: Question, own: frozenset[str], led_to: frozenset[str]
) -> float:
    facts = [terms_of(fact) for fact in group.facts]
    label = title_terms(group.label)
    best = max((question.overlap(terms, own) for terms in facts), default=0.0)
    together = question.overlap(frozenset[str]().union(*facts, label), own)
    led = BRIDGE / 2 if any(terms & (led_to - own) for terms in facts) else 0.0
    titled = TITLE if own & (led_to | question.terms) and own <= label else 0.0
    if question.language == "zh" or question.terms <= own:
        # Chinese has no word ends to go by, and some questions are all name: that must do.
        titled += 0.3 * question.overlap(own)
    return best + 0.3 * together + titled + (led if best else 0.0)


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
    """A name that the notes add to the question, then the question's own names, then its words."""
    question = understand(task.question)
    scores = [_lead(node, task, question) for node in task.neighbors]
    best = max(range(len(scores)), key=lambda n: (scores[n], -n), default=-1)
    if best < 0 or scores[best] <= 0:
        return NeighborDecision(
            rationale="No neighbor shares a word with the question or leads on from the notes.",
            function="termination",
            neighbor=0,
        )
    return NeighborDecision(
        rationale=f"{task.neighbors[best]} stands in the notes or in the question.",
        function="read_neighbor_node",
        neighbor=best + 1,
    )


def _lead(node: str, task: NeighborTask, question: Question) -> float:
    """How much a neighbor promises; nothing where the path went there already."""
    if any(f"read_neighbor_node({node})" in action for action in task.actions):
        return 0.0
    terms = terms_of(node)
    overlap = question.overlap(terms)
    precision = len(terms & question.terms) / len(terms) if terms else 0.0
    lines = (terms_of(line) for line in lines_of(task.notebook) if node in line)
    support = max((question.overlap(line) for line in lines), default=0.0)
    is_name = bool(names_of(node)) and not precision
    bridge = support / question.weight if is_name and question.weight else 0.0
    return 4 * bridge + overlap * precision / 2
