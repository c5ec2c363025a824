"""The turns of mode `adaptive` without a model: the best sentences are noted, new names searched.

A name that the question lacks is searched together with what is asked and its sentence does not
say: after "The Salt Road was written by Ada Quist", a question for the birthplace of its author
goes on with "Ada Quist born". What is compared is searched one by one.
"""

import re
from collections.abc import Iterator, Sequence

from graphreader.agent.adaptive.tasks import Action, Finding, Turn, TurnTask
from graphreader.baselines.tasks import Excerpt
from graphreader.llm.protocols import folded
from graphreader.offline.evidence import (
    Sentence,
    as_evidence,
    best_together,
    ranked_sentences,
    worth_noting,
)
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
    new = _findings(task, notes, question)
    quotes = [*notes, *(one.quote for one in new)]
    actions = [Action(function="read_chunk", argument=one) for one in _long_passages(task, new)]
    actions += [
        Action(function="search", argument=one) for one in _searches(task, quotes, question)
    ]
    if task.turns and actions and len(task.actions) < MOST_ACTIONS:
        return Turn(findings=new, notes="", actions=actions[:MOST_SEARCHES])
    cited = best_together([as_evidence(one, "", question) for one in quotes], question)
    texts = [one.text for one in cited]
    return Turn(
        findings=[one for one in new if one.quote in texts],
        notes="By word overlap alone.",
        answer=" ".join(map(folded, texts)),
        confidence="stated" if texts else "not in the texts",
        rests_on=[number for number, note in enumerate(notes, 1) if note in texts],
    )


def _findings(task: TurnTask, notes: Sequence[str], question: ParsedQuestion) -> list[Finding]:
    """The best sentences of the results that are not noted yet."""
    leads = question.new_name_terms(notes)
    numbers: dict[Sentence, str] = {}
    for result in task.results:
        for passage in result["passages"]:
            excerpt = Excerpt(passage["title"], _MARGIN.sub("", passage["text"]), 0)
            for one in ranked_sentences([excerpt], question, leads):
                numbers.setdefault(one, passage["number"])
    best = sorted((one for one in numbers if one.text not in notes), key=lambda one: -one.score)
    return [
        Finding(finding=folded(one.text), passage=numbers[one], quote=one.text)
        for one in worth_noting(best, question)
    ]


def _long_passages(task: TurnTask, new: Sequence[Finding]) -> list[str]:
    """The passage with the best new finding, if only some facts of it were shown."""
    parts = {
        passage["number"]
        for result in task.results
        for passage in result["passages"]
        if not passage["whole"]
    }
    return [one.passage for one in new[:1] if one.passage in parts]


def _searches(task: TurnTask, quotes: Sequence[str], question: ParsedQuestion) -> Iterator[str]:
    """Names that are no title in the results, those that are compared first, then new ones.

    Each comes with the words that are asked and that its sentence lacks.
    """
    done = " ".join(task.actions).casefold()
    shown = {title_terms(one["title"]) for result in task.results for one in result["passages"]}
    leads = {name: question.lead(name, quotes) for name in question.new_names(quotes)}
    if len(question.names) > 1:
        leads |= dict.fromkeys(question.names, 1.0)
    for name in sorted(leads, key=lambda one: -leads[one]):
        if leads[name] < LEAST_LEAD or name.casefold() in done or terms_of(name) in shown:
            continue
        source = max((one for one in quotes if name in one), key=question.relevance, default="")
        terms = terms_of(source)
        missing = [one.word for one in question.required_attributes if not one.support(terms)]
        yield " ".join([name, *missing])
