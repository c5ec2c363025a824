"""Exploration without a model: initial nodes, chunks to read, neighbors, notebooks.

Names that are in the notes but not in the question lead from fact to fact. In "... directed by Del
Lord, with Larry Fine", "Del Lord" is near the word "directed": a question for the director follows
that name.
"""

from collections.abc import Iterable
from itertools import zip_longest

from graphreader.agent import decisions, tasks
from graphreader.agent.follow_up import exchange_texts
from graphreader.llm.protocols import folded
from graphreader.offline import evidence
from graphreader.text.names import names_of
from graphreader.text.question import LEAD, LEAST_LEAD, ParsedQuestion, parse_question
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.text.words import terms_of, title_terms

MOST_FACTS = 2  # facts of a page that the rule sees
LEAST_CHUNK = 0.5  # least relevance of a chunk that is read
_PLANS = {  # text, separator of the words
    "en": ("Find what the texts say about {}. Follow each name that a sentence leads to.", ", "),
    "zh": ("在文中查找：{}。若句子提到其他名称，则继续查找该名称。", "、"),
}
_WORTH = {"": 1.0, tasks.ALL_READ: 0.5, tasks.DEAD_END: 0.0}  # of a neighbor, by its mark
_EMPTY_NOTEBOOK = {"en": "Nothing was noted.", "zh": "没有记录。"}


def plan(question: str, earlier: str = "") -> decisions.RationalPlan:
    """Make the rational plan; its needs are the names and attributes of the question.

    A Chinese attribute is a need of its own. The names of an `earlier` exchange are needs as well.
    """
    parsed = parse_question(question)
    attributes = parsed.attributes
    if parsed.language == "en":
        attributes = (" ".join(attributes),)
    context = (name for text in exchange_texts(earlier) for name in names_of(text))
    needs = dict.fromkeys([*parsed.names, *attributes, *context])
    text, comma = _PLANS[parsed.language]
    subjects = comma.join([*parsed.names, *parsed.attributes]) or question.strip()
    return decisions.RationalPlan(plan=text.format(subjects), needs=[one for one in needs if one])


def choose_initial_nodes(task: tasks.InitialNodesTask) -> decisions.InitialNodes:
    """Choose the most relevant candidates as initial nodes."""
    question = parse_question(task.question)
    nodes = [
        decisions.ProposedNode(number=number, score=round(100 * _node_score(node, question)))
        for number, node in enumerate(task.nodes, 1)
    ]
    nodes.sort(key=lambda node: -node.score)
    useful = sum(node.score > 0 for node in nodes)
    return decisions.InitialNodes(nodes=nodes[: max(tasks.NODES_WANTED, useful)])


def choose_chunks(task: tasks.FactsTask) -> decisions.FactsDecision:
    """Choose the most relevant unread chunk, if relevant enough or about a name in the notes."""
    question = parse_question(task.question)
    lead = _lead(task.node, task.notebook, question)
    node = terms_of(task.node)
    leads_on = lead > 0 or any(node == terms_of(name) for name in question.names)
    scores = {
        n: question.relevance(" ".join(group.facts), group.label)
        + lead
        + LEAD * (leads_on and node <= title_terms(group.label))
        for n, group in enumerate(task.groups, 1)
        if not group.read
    }
    best = max(scores, key=lambda n: scores[n], default=0)
    reads = bool(best) and scores[best] >= LEAST_CHUNK
    facts = (fact for group in task.groups for fact in group.facts)
    noted = sorted(facts, key=lambda fact: -question.relevance(fact))[: evidence.MOST_NOTED]
    return decisions.FactsDecision(
        notebook=_noted(task.notebook, noted, question),
        rationale="This chunk holds most of the question's words."
        if reads
        else f"No unread chunk that names {task.node} says enough about the question.",
        function="read_chunk" if reads else "stop_and_read_neighbor",
        chunks=[best] if reads else [],
    )


def read_chunk(task: tasks.ChunkTask) -> decisions.ChunkDecision:
    """Note the best sentences of a chunk; end the path if the notes cover the question.

    If the only useful sentence is the last or first, the adjacent chunk is read next.
    """
    question = parse_question(task.question)
    leads = question.new_name_terms([*_lines_of(task.notebook), task.node])
    texts = [evidence.LabelledText(label, text) for label, text in task.texts]
    sentences = evidence.ranked_sentences(texts, question, leads)
    whole = "\n\n".join(text for _, text in task.texts)
    quotes = sorted(
        (one.text for one in evidence.worth_noting(sentences, question)), key=whole.index
    )
    notebook = _noted(task.notebook, quotes, question)
    decision = decisions.ChunkDecision(
        notebook=notebook,
        quotes=quotes,
        rationale="Some words of the question are not in the notes yet.",
        function="search_more",
    )
    if evidence.covers(_lines_of(notebook), question):
        decision.function = "termination"
        decision.rationale = "The notes hold every word that the question asks for."
    elif len(quotes) == 1 and not task.queued:
        before, _, after = (part.strip() for part in task.text.partition(quotes[0]))
        if before and not after and task.has_subsequent:
            decision.function = "read_subsequent_chunk"
        elif after and not before and task.has_previous:
            decision.function = "read_previous_chunk"
    return decision


def choose_neighbor(task: tasks.NeighborTask) -> decisions.NeighborDecision:
    """Choose the unvisited neighbor with the best score, if that is high enough.

    A new name in the notes scores by the words near it, another neighbor by its own words. The
    score that is needed rises with the distance from the initial node. A node whose chunks are all
    read counts half, a dead end nothing.
    """
    question = parse_question(task.question)
    visits = [action for action in task.actions if "read_neighbor_node(" in action]
    marked = zip_longest(task.neighbors, task.marks[: len(task.neighbors)], fillvalue="")
    scores = {
        n: (_node_score(node, question) + _lead(node, task.notebook, question)) * _WORTH[mark]
        for n, (node, mark) in enumerate(marked, 1)
        if not any(f"read_neighbor_node({node})" in action for action in visits)
    }
    best = max(scores, key=lambda n: scores[n], default=0)
    goes_on = bool(best) and scores[best] >= LEAST_LEAD * (2 + len(visits)) / 2
    return decisions.NeighborDecision(
        rationale=f"{task.neighbors[best - 1]} stands in the notes or in the question."
        if goes_on
        else "No neighbor leads on, by the question's words or by the notes.",
        function="read_neighbor_node" if goes_on else "termination",
        neighbor=best if goes_on else 0,
    )


def condense(task: tasks.CondenseTask) -> decisions.Condensed:
    """Join notebooks: keep the sentences most relevant to question and plan, each once."""
    lines = (line for notebook in task.notebooks for line in _lines_of(notebook))
    sentences = (folded(line[start:end]) for line in lines for start, end in sentence_spans(line))
    question = parse_question(f"{task.question} {task.plan}")
    notebook = _notebook(filter(None, sentences), question)
    return decisions.Condensed(notebook=notebook or _EMPTY_NOTEBOOK[language_of(task.question)])


def _notebook(lines: Iterable[str], question: ParsedQuestion) -> str:
    kept = evidence.keep_best(lines, question, tasks.NOTEBOOK_TOKENS)
    return "\n".join(f"- {line}" for line in kept)


def _lines_of(notebook: str) -> list[str]:
    return [line.removeprefix("- ") for line in notebook.split("\n") if line.strip()]


def _noted(notebook: str, sentences: Iterable[str], question: ParsedQuestion) -> str:
    """Add relevant sentences to a notebook; if it is full, the least relevant are left out."""
    new = [folded(one) for one in sentences if question.relevance(one) > 0]
    lines = [*_lines_of(notebook), *new]
    return _notebook([a for a in lines if not any(a != b and a in b for b in lines)], question)


def _node_score(node: str, question: ParsedQuestion) -> float:
    """Score from 0 to 1: the share of the question in the node, times the reverse share."""
    terms = terms_of(node)
    precision = len(terms & question.vocabulary) / len(terms) if terms else 0.0
    return question.relevance(node) * precision


def _lead(node: str, notebook: str, question: ParsedQuestion) -> float:
    """Score from 0 to 1 how strongly the notes lead to a name outside of the question."""
    is_new = bool(names_of(node)) and not terms_of(node) <= question.vocabulary
    return question.lead(node, _lines_of(notebook)) if is_new else 0.0
