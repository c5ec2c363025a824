"""Where to look next, by weighted word overlap and by following names from fact to fact.

Which chunk is worth reading: by its title, the words that stand in it, and how it was come to.

Reading is what costs. So of what holds no more than a word or two of the question nothing is read,
unless its title or a lead says that it is meant.

How far a name leads on: how much of the question stands near it in what was noted.

"... directed by Del Lord, with Larry Fine": to who asks for the director, Del Lord is the lead.

The notebook of a reader without a model: sentences that overlap with what is asked.

One short notebook out of long or many ones, without a model: its best sentences, whole.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from graphreader import tokens
from graphreader.agent.decisions import (
    ChunkDecision,
    Condensed,
    FactsDecision,
    InitialNodes,
    NeighborDecision,
    ProposedNode,
)
from graphreader.agent.tasks import (
    NOTEBOOK_TOKENS,
    ChunkTask,
    CondenseTask,
    FactGroup,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
)
from graphreader.offline.question import Need, Question, understand
from graphreader.text.names import names_of
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.text.words import fold, is_stop_word, terms_of, title_terms

LONGEST_NOTEBOOK = 2_000  # characters, some 500 tokens
_MARK = "- "


def lines_of(notebook: str) -> list[str]:
    """The noted sentences."""
    return [line.removeprefix(_MARK) for line in notebook.split("\n") if line.strip()]


def noted(notebook: str, sentences: Iterable[str], question: Question) -> str:
    """The notebook with the sentences added, the least useful lines left out where it is full."""
    lines = list(dict.fromkeys([*lines_of(notebook), *(" ".join(s.split()) for s in sentences)]))
    lines = [a for a in lines if not any(a != b and a in b for b in lines)]
    best = sorted(lines, key=lambda line: -question.overlap(terms_of(line)))
    kept: set[str] = set()
    left = LONGEST_NOTEBOOK
    for line in best:
        if len(line) + 3 <= left:
            kept.add(line)
            left -= len(line) + 3
    return "\n".join(_MARK + line for line in lines if line in kept)


def bridges_of(notebook: str, question: Question) -> frozenset[str]:
    """Terms of the names that the notes add to the question: where a second step may lead."""
    lines = (line for line in lines_of(notebook) if question.overlap(terms_of(line)) > 0)
    names = (terms_of(name) for line in lines for name in names_of(line))
    return frozenset(term for terms in names for term in terms) - question.terms


def covers(notebook: str, question: Question) -> bool:
    """Whether one noted sentence holds all that is asked about a name, and the notes all names.

    Words that stand in different sentences prove little, so reading goes on.
    """
    names = [need for need in question.needs if need.in_name]
    asked = [need for need in question.needs if not need.in_name and need.is_required]
    everything = terms_of(notebook)
    lines = [terms_of(line) for line in lines_of(notebook)]
    return (
        bool(asked)
        and all(need.support(everything) for need in names)
        and any(
            all(need.support(line) for need in asked)
            and (not names or any(need.support(line) for need in names))
            for line in lines
        )
    )


HALFWAY = 8  # words between a name and one of the question, at which that counts half
ATTRIBUTE = 0.2  # what is left to "Italian" in "an Italian film": it tells of another thing
COMMON = 0.3  # ... to a word of the question that is no name
_NEXT_WORD = re.compile(r" ([a-z][a-z-]+)")


def lead(node: str, notebook: str, question: Question) -> float:
    """How much a node promises, from 0 to 1: a name by the notes, a word of the question itself."""
    terms = terms_of(node)
    if not terms or not question.weight:
        return 0.0
    if names_of(node) and not terms <= question.terms:
        return nearness(node, notebook, question)
    share = question.overlap(terms) / question.weight * len(terms & question.terms) / len(terms)
    named = any(terms <= terms_of(name) for name in question.names)
    return share if named else COMMON * share


def nearness(name: str, notebook: str, question: Question) -> float:
    """How much of the question stands near a name in the noted sentence that fits best, 0 to 1."""
    lines = (line for line in lines_of(notebook) if name in line)
    return max((_near(name, line, question) for line in lines), default=0.0)


def _near(name: str, line: str, question: Question) -> float:
    if not question.weight:
        return 0.0
    before, _, after = line.partition(name)
    sides = (
        [terms_of(word) for word in reversed(before.split())],
        [terms_of(word) for word in after.split()],
    )
    near = sum(need.weight * _nearest(need, sides) for need in question.needs) / question.weight
    following = _NEXT_WORD.match(after)
    is_attribute = " " not in name and following and not is_stop_word(following[1])
    return ATTRIBUTE * near if is_attribute else near


def _nearest(need: Need, sides: tuple[list[frozenset[str]], ...]) -> float:
    """The best support for a need on either side, less the farther it stands from the name."""
    return max(
        (
            need.support(terms) / (1 + distance / HALFWAY)
            for side in sides
            for distance, terms in enumerate(side)
        ),
        default=0.0,
    )


# Shares of the question's weight that a chunk must be worth to be read.
LEAST_ASKED = 0.2  # where a path sets out from a name of the question
LEAST_LED_TO = 0.35  # where the notes led to the node
LEAST_CHUNK = 0.4

# Where a path sets out from another word of a question that has names, one of these must hold.
BESIDE = 0.4  # of the question's weight stands in the chunk beside the word itself
NEARLY_ALL = 0.7  # ... with the word
IN_A_FACT = 0.3  # what it counts besides that one fact holds what the chunk holds
ASKED_TITLE = 0.4  # what a document is worth that is called as the question says
LED_TO_TITLE = 0.3  # ... and one that is called like the name that the notes led to
LED_TO = 0.5  # what a chunk gains by the lead to its node
NAMELESS = 0.8  # what counts of one that neither holds a name of the question nor was led to
_QUALIFIER = re.compile(r" \([^)]*\)(?=, chunk \d+$)")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a path is: what the node is called, how far the notes led to it, how it was come to."""

    question: Question
    own: frozenset[str]
    led: float
    is_first: bool

    @classmethod
    def of(cls, task: FactsTask) -> "_Place":
        question, own = understand(task.question), terms_of(task.node)
        led = 0.0 if own <= question.terms else nearness(task.node, task.notebook, question)
        return cls(question, own, led, not task.actions)

    @property
    def is_asked_about(self) -> bool:
        """Whether the node is one of the question's names, or it has none to set out from."""
        return not self.question.names or self.is_named

    @property
    def is_named(self) -> bool:
        return any(self.own == terms_of(name) for name in self.question.names)


def worth_reading(task: FactsTask, groups: Sequence[FactGroup]) -> int | None:
    """The place of the unread chunk that is worth most, if enough; only what is shown counts."""
    place = _Place.of(task)
    unread = {n: group for n, group in enumerate(groups) if not group.read}
    scores = {n: _worth(group, place) for n, group in unread.items()}
    sets_out = place.is_first and place.is_named
    # Chinese has no word ends to go by, so the shares of single pairs of characters must do.
    is_easy = sets_out or place.question.language == "zh"
    least = LEAST_ASKED if is_easy else LEAST_LED_TO if place.led else LEAST_CHUNK
    if sets_out and len(scores) == 1:
        # All that is told of who is asked about: it may lead on, whatever it is.
        scores = {n: max(score, least) for n, score in scores.items()}
    # What the best one says leads on better than the second best.
    best = max(scores, key=lambda n: scores[n], default=None)
    return best if best is not None and scores[best] >= least else None


def _worth(group: FactGroup, place: _Place) -> float:
    """The share of the question's weight that the chunk holds, and what else speaks for it."""
    question, own, led = place.question, place.own, place.led
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
    if not (is_asked or led or _is_told_of(held, place)):
        return 0.0
    whole = question.overlap(held) / question.weight
    in_a_fact = max((question.overlap(terms | title, own) for terms in facts), default=0.0)
    follows = led * LED_TO * (1 + whole) + (LED_TO_TITLE + led) * is_led_to
    if not led and not any(n.support(held) for n in question.needs if n.in_name):
        whole *= NAMELESS if question.names else 1
    return whole + IN_A_FACT * in_a_fact / question.weight + ASKED_TITLE * is_asked + follows


def _is_told_of(held: frozenset[str], place: _Place) -> bool:
    """Whether a chunk to which neither its title nor a lead points may be about what is asked.

    Where a path went on by a mere word of the question, it is not; where it set out from one, most
    of the question must stand there. In Chinese, where few names show, that cannot be told.
    """
    question, weight = place.question, place.question.weight
    if question.language == "zh" or (place.is_first and place.is_asked_about):
        return True
    beside = question.overlap(held - place.own) / weight
    whole = question.overlap(held) / weight
    return place.is_first and (beside >= BESIDE or whole >= NEARLY_ALL)


def _is_part_of_a_name(title: frozenset[str], question: Question) -> bool:
    return any(title < terms_of(name) for name in question.names)


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


PLANNED = 0.1  # of a word of the question counts one that only the plan has
NOTHING = {"en": "Nothing was noted.", "zh": "没有记录。"}
_VOTES = {"en": " ({0} notebooks)", "zh": "（{0}本笔记）"}
_VOTED = re.compile(r"\s*[(（](\d+)(?: notebooks\)|本笔记）)")


def condense(task: CondenseTask) -> Condensed:
    """The sentences that share most with question and plan, each once, in their first order.

    A sentence of several notebooks says of how many.
    """
    votes = _votes(task.notebooks)
    question, planned = understand(task.question), terms_of(task.plan)

    def use(sentence: str) -> float:
        terms = terms_of(sentence)
        return question.overlap(terms) + PLANNED * len(terms & planned)

    lines = {one: _line(one, number) for one, number in votes.items()}
    kept: set[str] = set()
    left = NOTEBOOK_TOKENS
    for sentence in sorted(votes, key=lambda one: -use(one)):
        length = tokens.count(lines[sentence]) + 1  # the line's end
        if length <= left:
            kept.add(sentence)
            left -= length
    if votes and not kept:
        return Condensed(notebook=_beginning(max(votes, key=use)))
    notebook = "\n".join(line for sentence, line in lines.items() if sentence in kept)
    return Condensed(notebook=notebook or NOTHING[language_of(task.question)])


def _votes(notebooks: Sequence[str]) -> dict[str, int]:
    """The sentences, with the number of notebooks that hold them."""
    votes: dict[str, int] = {}
    for notebook in notebooks:
        own: dict[str, int] = {}
        for line in lines_of(notebook):
            # A notebook that was joined before counts for all that it was joined of.
            voted = _VOTED.search(line)
            for sentence in _sentences(_VOTED.sub("", line)):
                own[sentence] = max(int(voted[1]) if voted else 1, own.get(sentence, 0))
        for sentence, number in own.items():
            votes[sentence] = votes.get(sentence, 0) + number
    return votes


def _sentences(line: str) -> list[str]:
    parts = (" ".join(line[start:end].split()) for start, end in sentence_spans(line))
    return [part for part in parts if part]


def _line(sentence: str, votes: int) -> str:
    return f"- {sentence}{_VOTES[language_of(sentence)].format(votes) if votes > 1 else ''}"


def _beginning(sentence: str) -> str:
    """As much of a sentence as a notebook holds, where not one of them fits whole."""
    while tokens.count(f"- {sentence} …") > NOTEBOOK_TOKENS:
        sentence = sentence[: len(sentence) * 9 // 10]
    return f"- {sentence} …"
