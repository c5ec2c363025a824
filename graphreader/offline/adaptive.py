"""The turns of mode `adaptive` without a model: the best sentences are noted, new names searched.

A name that the question lacks is searched together with what is asked and its sentence does not
say: after "The Salt Road was written by Ada Quist", a question for the birthplace of its author
goes on with "Ada Quist born". What is compared is searched one by one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from graphreader.agent.adaptive.tasks import Action, Finding, Passage, Turn, TurnTask
from graphreader.baselines.answering import Excerpt
from graphreader.llm.protocols import folded
from graphreader.offline import evidence
from graphreader.offline.question import LEAST_LEAD, ParsedQuestion, parse_question
from graphreader.text.words import terms_of, title_terms

MOST_SEARCHES = 3  # of one turn
MOST_ACTIONS = 9  # of one run
_NOTE = re.compile(r"(.*) \[[\d.]+(?:: “(.*)”)?\]", re.DOTALL)
_MARGIN = re.compile(r"^- |^\(\d+ tokens: .*\)$", re.MULTILINE)


def take_turn(task: TurnTask) -> Turn:
    """Note the best sentences, then search for what they lead to, or answer from the notes."""
    question = parse_question(task.question)
    matches = map(_NOTE.fullmatch, task.notebook.findings)
    notes = [(match[2] or match[1]) if match else "" for match in matches]
    passages = {one["number"]: one for result in task.results for one in result["passages"]}
    new = _findings(passages.values(), notes, question)
    quotes = [*notes, *(one.quote for one in new)]
    actions = [  # the passage with the best new finding, if only some facts of it were shown
        Action(function="read_chunk", argument=one.passage)
        for one in new[:1]
        if not passages[one.passage]["whole"]
    ]
    titles = {title_terms(one["title"]) for one in passages.values()}
    latest = [one["action"] for one in task.results]
    is_first = f"search({folded(task.question)})" in latest
    taken = [*task.actions, *(() if is_first else latest)]
    done = " ".join(taken).casefold()
    for name, missing in _searches(quotes, question):
        if name.casefold() not in done and terms_of(name) not in titles:
            actions.append(Action(function="search", argument=" ".join([name, *missing])))
    if task.turns and actions and len(taken) < MOST_ACTIONS:
        return Turn(findings=new, notes="", actions=actions[:MOST_SEARCHES])
    sentences = [evidence.as_evidence(one, "", question) for one in quotes]
    texts = [one.text for one in evidence.best_together(sentences, question)]
    return Turn(
        findings=[one for one in new if one.quote in texts],
        notes="By word overlap alone.",
        answer=" ".join(map(folded, texts)),
        confidence="stated" if texts else "not in the texts",
        rests_on=[number for number, note in enumerate(notes, 1) if note in texts],
    )


def _findings(
    passages: Iterable[Passage], notes: Sequence[str], question: ParsedQuestion
) -> list[Finding]:
    """The best sentences of the passages that are not noted yet."""
    leads = question.new_name_terms(notes)
    numbers: dict[evidence.Sentence, str] = {}
    for passage in passages:
        text = _MARGIN.sub("", passage["text"])
        # Facts are no neighbors in the text: a pronoun in one does not mean the one before.
        parts = text.splitlines() if passage["facts"] else [text]
        for part in parts:
            excerpt = Excerpt(passage["title"], part, 0)
            for one in evidence.ranked_sentences([excerpt], question, leads):
                numbers.setdefault(one, passage["number"])
    best = sorted((one for one in numbers if one.text not in notes), key=lambda one: -one.score)
    return [
        Finding(finding=folded(one.text), passage=numbers[one], quote=one.text)
        for one in evidence.worth_noting(best, question)
    ]


def _searches(quotes: Sequence[str], question: ParsedQuestion) -> Iterator[tuple[str, list[str]]]:
    """Names that are compared, then new ones that lead on, with what their sentences lack."""
    leads = {name: question.lead(name, quotes) for name in question.new_names(quotes)}
    if len(question.names) > 1:
        leads |= dict.fromkeys(question.names, 1.0)
    for name in sorted(leads, key=lambda one: -leads[one]):
        if leads[name] >= LEAST_LEAD:
            sources = (one for one in quotes if name in one)
            terms = terms_of(max(sources, key=question.relevance, default=""))
            yield name, [one.word for one in question.required_attributes if not one.support(terms)]
