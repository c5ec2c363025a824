"""Exploration without a model: initial nodes, chunks to read, neighbors, notebooks.

Everything is scored by the weighted overlap of words with the question. Names in the notes that the
question lacks lead from fact to fact: in "... directed by Del Lord, with Larry Fine", "Del Lord" is
near the word "directed", so a question for the director goes on there.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from graphreader import tokens
from graphreader.agent import decisions, tasks
from graphreader.llm.protocols import folded
from graphreader.offline.question import ParsedQuestion, QuestionTerm, parse_question
from graphreader.text.names import names_of
from graphreader.text.sentences import Span, language_of, sentence_spans
from graphreader.text.words import fold, is_stop_word, terms_of, title_terms

LONGEST_NOTEBOOK = 2_000  # characters, about 500 tokens
HALF_DISTANCE = 8  # words between a name and a term of the question at which the term counts half
ATTRIBUTE = 0.2  # share left to "Italian" in "an Italian film": it describes another thing
COMMON = 0.3  # share left to a word of the question that is no name
# Shares of the question's weight that a chunk must score to be read.
LEAST_FROM_NAME = 0.2  # where a path starts at a name of the question
LEAST_AFTER_LEAD = 0.35  # where the notes led to the node
LEAST_CHUNK = 0.4
# A path that starts at another word of a question with names needs one of these shares.
LEAST_WITHOUT_NODE = 0.4  # of the question's weight, without the node itself
LEAST_WITH_NODE = 0.7
# What adds to the score of a chunk.
IN_ONE_FACT = 0.3  # one fact has all terms that the chunk has
ASKED_TITLE = 0.4  # the document's title is in the question
LEAD_TITLE = 0.3  # the document is called as the name that the notes led to
LEAD = 0.5  # the notes led to the chunk's node
NAMELESS = 0.8  # share left to a chunk that has no name of the question and no lead
REPEATED = 0.6  # share left to a node with the same words of the question as one before it
PROMISING = 0.6  # of the best chunk's promise makes another chunk worth a look
MOST_GROUPS = 6  # chunks looked at on one page of facts
MOST_FACTS = 3  # facts noted at one node
MOST_QUOTES = 4  # quotes taken from one chunk
LEAST_QUOTE = 0.1  # of the question's weight, for a sentence to be quoted
BRIDGE = 1.0  # score of a name that leads on from the notes
IN_TITLE = 0.6  # share that a word of the document's title counts in a sentence
LEAST_NEIGHBOR = 0.1  # score of a neighbor to go on at
FARTHER = 0.5  # how much more it needs with each step of the path
IN_PLAN = 0.1  # weight of a word that only the plan has, relative to a word of the question
_BULLET = "- "
_NEXT_WORD = re.compile(r" ([a-z][a-z-]+)")
_QUALIFIER = re.compile(r" \([^)]*\)(?=, chunk \d+$)")
_PRONOUNS = {"he", "she", "it", "they", "his", "her", "this", "他", "她", "它"}
_EMPTY_NOTEBOOK = {"en": "Nothing was noted.", "zh": "没有记录。"}
_VOTES = {"en": " ({0} notebooks)", "zh": "（{0}本笔记）"}
_VOTE = re.compile(r" \(\d+ notebooks\)$|（\d+本笔记）$")
NextFunction = Literal["search_more", "read_previous_chunk", "read_subsequent_chunk"]


def choose_initial_nodes(task: tasks.InitialNodesTask) -> decisions.InitialNodes:
    """Names of the question first, then its other words; nodes with the same words count less."""
    question = parse_question(task.question)
    scores = {n: _node_score(node, question) for n, node in enumerate(task.nodes, 1)}
    times: Counter[frozenset[str]] = Counter()
    chosen = []
    for number in sorted(scores, key=lambda n: -scores[n]):
        shared = terms_of(task.nodes[number - 1]) & question.vocabulary
        chosen.append(
            decisions.ProposedNode(
                number=number, score=round(scores[number] * REPEATED ** times[shared])
            )
        )
        times[shared] += 1
    chosen.sort(key=lambda node: -node.score)
    useful = sum(node.score > 0 for node in chosen)
    return decisions.InitialNodes(nodes=chosen[: max(10, min(useful, 20))])


def limit_facts(task: tasks.FactsTask) -> tasks.FactsTask:
    """The facts that this reader looks at: of the first groups the titles, and the facts of one.

    These are of the chunk that is going to be read. Where nothing promises enough, one fact is
    shown, which may still lead on.
    """
    unpromising = (n for n, group in enumerate(task.groups) if group.promise < PROMISING)
    number = min(MOST_GROUPS, max(1, next(unpromising, len(task.groups))))
    groups = task.groups[:number]
    chosen = _best_chunk(task, [group.keeping(0) for group in groups])
    opened, facts = (0, 1) if chosen is None else (chosen, len(groups[chosen].facts))
    shown = tuple(
        g.keeping(min(facts, len(g.facts)) if n == opened else 0) for n, g in enumerate(groups)
    )
    left_out = task.own_choices - sum(len(group.facts) for group in shown)
    return replace(task, groups=shown, remaining=task.remaining + left_out)


def choose_chunks(task: tasks.FactsTask) -> decisions.FactsDecision:
    """The unread chunk that says most about the question, apart from the node's name, if enough."""
    question = parse_question(task.question)
    node_terms = terms_of(task.node)
    chosen = _best_chunk(task, task.groups)
    facts = {f: question.overlap(terms_of(f), node_terms) for g in task.groups for f in g.facts}
    useful = sorted((f for f in facts if facts[f] > 0), key=lambda f: -facts[f])[:MOST_FACTS]
    return decisions.FactsDecision(
        notebook=_add_to_notebook(task.notebook, useful, question),
        rationale=f"No unread chunk that names {task.node} says enough about the question."
        if chosen is None
        else "This chunk holds the most of the question's words.",
        function="stop_and_read_neighbor" if chosen is None else "read_chunk",
        chunks=[] if chosen is None else [chosen + 1],
    )


def read_chunk(task: tasks.ChunkTask) -> decisions.ChunkDecision:
    """The chunk's best sentences, and whether the notes now cover the question."""
    question = parse_question(task.question)
    spans = sentence_spans(task.text)
    chosen = _best_sentences(task, spans, question)
    quotes = [_quote(task.text, spans, number) for number in chosen]
    notebook = _add_to_notebook(task.notebook, quotes, question)
    is_complete = covers(notebook, question)
    return decisions.ChunkDecision(
        notebook=notebook,
        quotes=quotes,
        rationale="The notes hold every word that the question asks for."
        if is_complete
        else "Some words of the question are not in the notes yet.",
        function="termination" if is_complete else _next_function(task, spans, chosen),
    )


def choose_neighbor(task: tasks.NeighborTask) -> decisions.NeighborDecision:
    """The unvisited neighbor with the best score, if it is enough.

    New names in the notes score best, then the question's names, then its other words.
    """
    question = parse_question(task.question)
    visits = [action for action in task.actions if "read_neighbor_node(" in action]
    scores = [
        0.0
        if any(f"read_neighbor_node({node})" in action for action in visits)
        else _neighbor_score(node, task.notebook, question)
        for node in task.neighbors
    ]
    best = max(range(len(scores)), key=lambda n: (scores[n], -n), default=-1)
    if best < 0 or scores[best] < LEAST_NEIGHBOR * (1 + FARTHER * len(visits)):
        return decisions.NeighborDecision(
            rationale="No neighbor leads on, by the question's words or by the notes.",
            function="termination",
            neighbor=0,
        )
    return decisions.NeighborDecision(
        rationale=f"{task.neighbors[best]} stands in the notes or in the question.",
        function="read_neighbor_node",
        neighbor=best + 1,
    )


def condense(task: tasks.CondenseTask) -> decisions.Condensed:
    """One notebook: the sentences that share most with question and plan, with their votes."""
    votes = _votes(task.notebooks)
    question, plan_terms = parse_question(task.question), terms_of(task.plan)

    def score(sentence: str) -> float:
        terms = terms_of(sentence)
        return question.overlap(terms) + IN_PLAN * len(terms & plan_terms)

    lines = {sentence: _voted_line(sentence, number) for sentence, number in votes.items()}
    kept = keep_best(votes, score, lambda one: tokens.count(lines[one]) + 1, tasks.NOTEBOOK_TOKENS)
    notebook = "\n".join(lines[sentence] for sentence in kept)
    return decisions.Condensed(notebook=notebook or _EMPTY_NOTEBOOK[language_of(task.question)])


def covers(notebook: str, question: ParsedQuestion) -> bool:
    """Whether one noted sentence has all attributes of a name, and the notes have all names.

    Words in different sentences prove little, so they are not enough.
    """
    names = [one for one in question.terms if one.in_name]
    attributes = [one for one in question.terms if one.is_required and not one.in_name]
    everything = terms_of(notebook)
    lines = [terms_of(line) for line in _lines_of(notebook)]
    return (
        bool(attributes)
        and all(one.support(everything) for one in names)
        and any(
            all(one.support(line) for one in attributes)
            and (not names or any(one.support(line) for one in names))
            for line in lines
        )
    )


def keep_best(
    lines: Iterable[str], score: Callable[[str], float], size: Callable[[str], int], limit: int
) -> list[str]:
    """The lines with the best scores that fit the limit together, in their first order."""
    lines = list(lines)
    kept: set[str] = set()
    left = limit
    for line in sorted(lines, key=lambda one: -score(one)):
        if (length := size(line)) <= left:
            kept.add(line)
            left -= length
    return [line for line in lines if line in kept]


def _lines_of(notebook: str) -> list[str]:
    return [line.removeprefix(_BULLET) for line in notebook.split("\n") if line.strip()]


def _add_to_notebook(notebook: str, sentences: Iterable[str], question: ParsedQuestion) -> str:
    """The notebook with the sentences; the least useful lines are left out where it is full."""
    lines = list(dict.fromkeys([*_lines_of(notebook), *map(folded, sentences)]))
    lines = [a for a in lines if not any(a != b and a in b for b in lines)]
    kept = keep_best(
        lines,
        lambda one: question.overlap(terms_of(one)),
        lambda one: len(one) + 3,
        LONGEST_NOTEBOOK,
    )
    return "\n".join(_BULLET + line for line in kept)


def _node_score(node: str, question: ParsedQuestion) -> float:
    """From 0 to 100: how much of the node is in the question, and how much weight that has."""
    terms = terms_of(node)
    if not terms or not question.terms:
        return 0.0
    overlap = question.overlap(terms)
    precision = len(terms & question.vocabulary) / len(terms)
    name = 25.0 if fold(node) in {fold(name) for name in question.names} else 0.0
    return min(100.0, name + 45 * precision * min(1.0, overlap) + 30 * min(1.0, overlap / 4))


def _neighbor_score(node: str, notebook: str, question: ParsedQuestion) -> float:
    """From 0 to 1: a new name by its place in the notes, a word of the question by its weight."""
    terms = terms_of(node)
    if not terms or not question.weight:
        return 0.0
    if names_of(node) and not terms <= question.vocabulary:
        return _proximity(node, notebook, question)
    precision = len(terms & question.vocabulary) / len(terms)
    share = question.overlap(terms) / question.weight * precision
    is_name = any(terms <= terms_of(name) for name in question.names)
    return share if is_name else COMMON * share


def _proximity(name: str, notebook: str, question: ParsedQuestion) -> float:
    """The share of the question near a name in the best noted sentence, from 0 to 1."""
    lines = (line for line in _lines_of(notebook) if name in line)
    return max((_proximity_in_line(name, line, question) for line in lines), default=0.0)


def _proximity_in_line(name: str, line: str, question: ParsedQuestion) -> float:
    if not question.weight:
        return 0.0
    before, _, after = line.partition(name)
    sides = (
        [terms_of(word) for word in reversed(before.split())],
        [terms_of(word) for word in after.split()],
    )
    near = sum(one.weight * _nearest(one, sides) for one in question.terms) / question.weight
    next_word = _NEXT_WORD.match(after)
    is_attribute = " " not in name and next_word and not is_stop_word(next_word[1])
    return ATTRIBUTE * near if is_attribute else near


def _nearest(term: QuestionTerm, sides: tuple[list[frozenset[str]], ...]) -> float:
    """The best support for a term on either side, decreasing with the distance from the name."""
    return max(
        (
            term.support(terms) / (1 + distance / HALF_DISTANCE)
            for side in sides
            for distance, terms in enumerate(side)
        ),
        default=0.0,
    )


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a path is: its node's terms, how strongly the notes led to it, whether it starts."""

    question: ParsedQuestion
    node_terms: frozenset[str]
    lead: float
    is_first: bool

    @property
    def is_question_name(self) -> bool:
        return any(self.node_terms == terms_of(name) for name in self.question.names)


def _position(task: tasks.FactsTask) -> _Position:
    question, terms = parse_question(task.question), terms_of(task.node)
    is_in_question = terms <= question.vocabulary
    lead = 0.0 if is_in_question else _proximity(task.node, task.notebook, question)
    return _Position(question, terms, lead, not task.actions)


def _best_chunk(task: tasks.FactsTask, groups: Sequence[tasks.FactGroup]) -> int | None:
    """The index of the unread chunk with the best score, if it is enough to read it."""
    position = _position(task)
    scores = {n: _chunk_score(group, position) for n, group in enumerate(groups) if not group.read}
    starts_at_name = position.is_first and position.is_question_name
    # Chinese has no word boundaries, so shares of single pairs of characters have to do.
    if starts_at_name or position.question.language == "zh":
        least = LEAST_FROM_NAME
    else:
        least = LEAST_AFTER_LEAD if position.lead else LEAST_CHUNK
    if starts_at_name and len(scores) == 1:
        # The only chunk about the name that the question asks for may lead on in any case.
        scores = {n: max(score, least) for n, score in scores.items()}
    best = max(scores, key=lambda n: scores[n], default=None)
    return best if best is not None and scores[best] >= least else None


def _chunk_score(group: tasks.FactGroup, position: _Position) -> float:
    """The share of the question's weight in the chunk, with the scores of title and lead."""
    question, node_terms, lead = position.question, position.node_terms, position.lead
    if not question.weight:
        return 0.0
    facts = [terms_of(fact) for fact in group.facts]
    title = title_terms(_QUALIFIER.sub("", group.label))
    terms = frozenset[str]().union(*facts, title, terms_of(" ".join(group.holds)))
    is_part_of_name = any(title < terms_of(name) for name in question.names)
    is_asked = bool(title) and title <= question.vocabulary and not is_part_of_name
    is_lead_title = bool(lead) and node_terms <= title
    is_all_name = question.vocabulary <= node_terms
    if not (question.overlap(terms, node_terms) or is_all_name or is_asked or is_lead_title):
        return 0.0
    if not (is_asked or lead or _can_be_relevant(terms, position)):
        return 0.0
    share = question.overlap(terms) / question.weight
    in_one_fact = max((question.overlap(fact | title, node_terms) for fact in facts), default=0.0)
    leads = lead * LEAD * (1 + share) + (LEAD_TITLE + lead) * is_lead_title
    if not lead and not any(one.support(terms) for one in question.terms if one.in_name):
        share *= NAMELESS if question.names else 1
    return share + IN_ONE_FACT * in_one_fact / question.weight + ASKED_TITLE * is_asked + leads


def _can_be_relevant(terms: frozenset[str], position: _Position) -> bool:
    """Whether a chunk to which neither its title nor a lead points can be about the question."""
    question = position.question
    is_subject = not question.names or position.is_question_name
    if question.language == "zh" or (position.is_first and is_subject):
        return True
    other_share = question.overlap(terms - position.node_terms) / question.weight
    share = question.overlap(terms) / question.weight
    return position.is_first and (other_share >= LEAST_WITHOUT_NODE or share >= LEAST_WITH_NODE)


def _best_sentences(
    task: tasks.ChunkTask, spans: list[Span], question: ParsedQuestion
) -> list[int]:
    noted = [line for line in _lines_of(task.notebook) if question.overlap(terms_of(line)) > 0]
    leads = question.new_name_terms(noted) | (terms_of(task.node) - question.vocabulary)
    # What the whole chunk is about hardly distinguishes its sentences.
    title = title_terms(task.label)
    terms = [terms_of(task.text[start:end]) for start, end in spans]
    scores = [
        question.overlap(t | title, title)
        + IN_TITLE * question.overlap(title)
        + BRIDGE * bool(t & leads)
        for t in terms
    ]
    least = max(1.0, LEAST_QUOTE * question.weight)
    left = {n for n, t in enumerate(terms) if question.overlap(t) > 0 and scores[n] >= least}
    # Where the title has it all, sentences that repeat it are better than none.
    left = left or {n for n, t in enumerate(terms) if question.overlap(t) >= least}
    covered: frozenset[str] = frozenset()
    chosen: list[int] = []
    while left and len(chosen) < MOST_QUOTES:
        best = max(
            left, key=lambda n: (scores[n] + question.overlap(terms[n], covered | title), -n)
        )
        left.discard(best)
        covered |= terms[best]
        chosen.append(best)
    return sorted(chosen)


def _quote(text: str, spans: list[Span], number: int) -> str:
    start, end = spans[number]
    first_word = fold(text[start:end].split(None, 1)[0].strip('"“'))
    return text[spans[number - 1][0] if number and first_word in _PRONOUNS else start : end]


def _next_function(task: tasks.ChunkTask, spans: list[Span], chosen: list[int]) -> NextFunction:
    """Read on only where the one useful sentence is the chunk's last or first."""
    if len(chosen) == 1 and len(spans) > 3 and not task.queued:
        if chosen[0] == len(spans) - 1 and task.has_subsequent:
            return "read_subsequent_chunk"
        if chosen[0] == 0 and task.has_previous:
            return "read_previous_chunk"
    return "search_more"


def _votes(notebooks: Sequence[str]) -> dict[str, int]:
    """The sentences, with the number of notebooks that have them."""
    votes: Counter[str] = Counter()
    for notebook in notebooks:
        lines = [_VOTE.sub("", line) for line in _lines_of(notebook)]
        sentences = (folded(one[i:j]) for one in lines for i, j in sentence_spans(one))
        votes.update(dict.fromkeys(sentences, 1))
    return {sentence: number for sentence, number in votes.items() if sentence}


def _voted_line(sentence: str, votes: int) -> str:
    suffix = _VOTES[language_of(sentence)].format(votes) if votes > 1 else ""
    return f"{_BULLET}{sentence}{suffix}"
