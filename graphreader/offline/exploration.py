"""Exploration without a model: initial nodes, chunks to read, neighbors, notebooks.

Names in the notes that the question lacks lead from fact to fact: in "... directed by Del Lord,
with Larry Fine", "Del Lord" is near the word "directed", so a question for the director goes there.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from graphreader import tokens
from graphreader.agent import decisions, tasks
from graphreader.baselines.tasks import Excerpt
from graphreader.llm.protocols import folded
from graphreader.offline.evidence import (
    MOST_NOTED,
    covers,
    keep_best,
    ranked_sentences,
    worth_noting,
)
from graphreader.offline.question import LEAD, LEAST_LEAD, ParsedQuestion, parse_question
from graphreader.text.names import names_of
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.text.words import terms_of, title_terms

MOST_FACTS = 2  # facts of a page that are looked at
LEAST_CHUNK = 0.5  # relevance of a chunk that is read
_BULLET = "- "
NextFunction = Literal["search_more", "read_previous_chunk", "read_subsequent_chunk"]
_EMPTY_NOTEBOOK = {"en": "Nothing was noted.", "zh": "没有记录。"}


def choose_initial_nodes(task: tasks.InitialNodesTask) -> decisions.InitialNodes:
    """The most relevant nodes; of those with the same words of the question the later less."""
    question = parse_question(task.question)
    scores = {n: _node_score(node, question) for n, node in enumerate(task.nodes, 1)}
    times: Counter[frozenset[str]] = Counter()
    chosen = []
    for number in sorted(scores, key=lambda n: -scores[n]):
        shared = terms_of(task.nodes[number - 1]) & question.vocabulary
        score = round(100 * scores[number] / (1 + times[shared]))
        chosen.append(decisions.ProposedNode(number=number, score=score))
        times[shared] += 1
    chosen.sort(key=lambda node: -node.score)
    useful = sum(node.score > 0 for node in chosen)
    return decisions.InitialNodes(nodes=chosen[: max(tasks.NODES_WANTED, useful)])


def limit_facts(task: tasks.FactsTask) -> tasks.FactsTask:
    """The facts that this reader looks at: the first ones of a page."""
    return task.keeping_own(min(task.own_choices, MOST_FACTS))


def choose_chunks(task: tasks.FactsTask) -> decisions.FactsDecision:
    """The most relevant unread chunk, if it is relevant enough, or is about a name that leads."""
    question = parse_question(task.question)
    lead = _lead(task.node, task.notebook, question)
    node = terms_of(task.node)
    leads_on = lead > 0 or any(node == terms_of(name) for name in question.names)

    def score(group: tasks.FactGroup) -> float:
        is_about_node = leads_on and node <= title_terms(group.label)
        relevance = question.relevance(" ".join(group.facts), group.label)
        return relevance + lead + LEAD * is_about_node

    scores = {n: score(group) for n, group in enumerate(task.groups, 1) if not group.read}
    best = max(scores, key=lambda n: scores[n], default=None)
    is_enough = best is not None and scores[best] >= LEAST_CHUNK
    facts = sorted(
        (fact for group in task.groups for fact in group.facts),
        key=lambda fact: -question.relevance(fact),
    )
    return decisions.FactsDecision(
        notebook=_noted(task.notebook, facts[:MOST_NOTED], question),
        rationale="This chunk holds the most of the question's words."
        if is_enough
        else f"No unread chunk that names {task.node} says enough about the question.",
        function="read_chunk" if is_enough else "stop_and_read_neighbor",
        chunks=[best] if best is not None and is_enough else [],
    )


def read_chunk(task: tasks.ChunkTask) -> decisions.ChunkDecision:
    """The chunk's best sentences, and whether the notes now cover the question."""
    question = parse_question(task.question)
    leads = question.new_name_terms(_lines_of(task.notebook)) | (
        terms_of(task.node) - question.vocabulary
    )
    excerpts = [Excerpt(label, text, 0) for label, text in task.texts]
    sentences = ranked_sentences(excerpts, question, leads)
    quotes = [one.text for one in worth_noting(sentences, question)]
    whole = "\n\n".join(text for _, text in task.texts)
    notebook = _noted(task.notebook, quotes, question)
    is_complete = covers(_lines_of(notebook), question)
    return decisions.ChunkDecision(
        notebook=notebook,
        quotes=sorted(quotes, key=whole.index),
        rationale="The notes hold every word that the question asks for."
        if is_complete
        else "Some words of the question are not in the notes yet.",
        function="termination" if is_complete else _next_function(task, quotes),
    )


def choose_neighbor(task: tasks.NeighborTask) -> decisions.NeighborDecision:
    """The neighbor, not visited before, with the best score, if it is enough.

    A new name in the notes scores by what stands near it, another neighbor by its own words. The
    farther from the initial node, the more it takes.
    """
    question = parse_question(task.question)
    visits = [action for action in task.actions if "read_neighbor_node(" in action]
    scores = {
        n: _node_score(node, question) + _lead(node, task.notebook, question)
        for n, node in enumerate(task.neighbors, 1)
        if not any(f"read_neighbor_node({node})" in action for action in visits)
    }
    best = max(scores, key=lambda n: scores[n], default=0)
    if not best or scores[best] < LEAST_LEAD * (2 + len(visits)) / 2:
        return decisions.NeighborDecision(
            rationale="No neighbor leads on, by the question's words or by the notes.",
            function="termination",
            neighbor=0,
        )
    return decisions.NeighborDecision(
        rationale=f"{task.neighbors[best - 1]} stands in the notes or in the question.",
        function="read_neighbor_node",
        neighbor=best,
    )


def condense(task: tasks.CondenseTask) -> decisions.Condensed:
    """One notebook: the sentences that are most relevant to question and plan, each once."""
    lines = (line for notebook in task.notebooks for line in _lines_of(notebook))
    sentences = (folded(line[start:end]) for line in lines for start, end in sentence_spans(line))
    kept = keep_best(
        filter(None, sentences),
        parse_question(f"{task.question} {task.plan}"),
        _line_tokens,
        tasks.NOTEBOOK_TOKENS,
    )
    notebook = "\n".join(_BULLET + one for one in kept)
    return decisions.Condensed(notebook=notebook or _EMPTY_NOTEBOOK[language_of(task.question)])


def _lines_of(notebook: str) -> list[str]:
    return [line.removeprefix(_BULLET) for line in notebook.split("\n") if line.strip()]


def _line_tokens(line: str) -> int:
    return tokens.count(_BULLET + line) + 1


def _noted(notebook: str, sentences: Iterable[str], question: ParsedQuestion) -> str:
    """The notebook with the relevant sentences; the least relevant are left out if it is full."""
    new = [folded(one) for one in sentences if question.relevance(one) > 0]
    lines = [*_lines_of(notebook), *new]
    lines = [a for a in lines if not any(a != b and a in b for b in lines)]
    kept = keep_best(lines, question, _line_tokens, tasks.NOTEBOOK_TOKENS)
    return "\n".join(_BULLET + line for line in kept)


def _node_score(node: str, question: ParsedQuestion) -> float:
    """From 0 to 1: how much of the question is in the node, and of the node in the question."""
    terms = terms_of(node)
    precision = len(terms & question.vocabulary) / len(terms) if terms else 0.0
    return question.relevance(node) * precision


def _lead(node: str, notebook: str, question: ParsedQuestion) -> float:
    """How strongly the notes lead to a name that the question lacks, from 0 to 1."""
    is_new = bool(names_of(node)) and not terms_of(node) <= question.vocabulary
    return question.lead(node, _lines_of(notebook)) if is_new else 0.0


def _next_function(task: tasks.ChunkTask, quotes: list[str]) -> NextFunction:
    """Read on only where the one useful sentence is the chunk's last or first."""
    if len(quotes) == 1 and not task.queued and task.calls_left >= 0:
        before, _, after = task.text.partition(quotes[0])
        if before.strip() and not after.strip() and task.has_subsequent:
            return "read_subsequent_chunk"
        if after.strip() and not before.strip() and task.has_previous:
            return "read_previous_chunk"
    return "search_more"
