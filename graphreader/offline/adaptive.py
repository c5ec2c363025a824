"""Turns of mode `adaptive` without a model: note the best sentences, and search for new names.

A name that the question does not have is searched with the words of the question that its sentence
leaves open: after "The Salt Road was written by Ada Quist", a question for the birthplace of its
author searches for "Ada Quist born". Names that a question compares are searched one by one.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from graphreader.agent.adaptive.sweep import Collected, CollectTask, Entry
from graphreader.agent.adaptive.tasks import Action, Finding, ShownPassage, Turn, TurnTask
from graphreader.llm.protocols import folded
from graphreader.offline import evidence
from graphreader.text.lines import one_line
from graphreader.text.question import LEAST_LEAD, ParsedQuestion, parse_question
from graphreader.text.words import terms_of, title_terms

MOST_SEARCHES = 3  # in one turn
MOST_READ = 4  # passages that one turn reads in full
MOST_ACTIONS = 9  # in one run
_NOTE = re.compile(r"(.*) \[[\d.]+(?:: “(.*)”)?\]", re.DOTALL)
_MARGIN = re.compile(r"^- |^\(\d+ tokens: .*\)$", re.MULTILINE)


def take_turn(task: TurnTask) -> Turn:
    """Note the best sentences, then search for new names in them, or answer from the notes."""
    question = parse_question(task.question)
    notes = [_note(one, question) for one in task.notebook.findings]
    passages = {one["number"]: one for result in task.results for one in result["passages"]}
    read = _sentences(passages.values(), {one.text for one in notes}, question)
    new = {one: read[one] for one in evidence.worth_noting(read, question)}
    quotes = [one.text for one in (*notes, *new)]
    actions = [  # the best passages that were shown only in part
        Action(function="read_chunk", argument=number)
        for number in passages
        if not passages[number]["whole"]
    ][:MOST_READ]
    titles = {title_terms(one["title"]) for one in passages.values()}
    latest = [one["action"] for one in task.results]
    is_first = f"search({folded(task.question)})" in latest
    taken = [*task.actions, *(() if is_first else latest)]
    done = " ".join(taken).casefold()
    for name, missing in _searches(quotes, question):
        if name.casefold() not in done and terms_of(name) not in titles:
            actions.append(Action(function="search", argument=" ".join([name, *missing])))
    if task.turns and actions and len(taken) < MOST_ACTIONS:
        return Turn(findings=_noted(new), actions=actions[: MOST_READ + MOST_SEARCHES])
    best = evidence.best_together([*notes, *read], question)
    shown = evidence.passages([*notes, *read], best, question)
    findings = _noted({one: read[one] for one in shown if one in read})
    kept = [number for number, note in enumerate(notes, 1) if note in shown]
    return Turn(
        findings=findings,
        notes="By word overlap alone.",
        answer=" ".join(one_line(one.text) for one in best),
        confidence="stated" if best else "not in the texts",
        rests_on=[*kept, *range(len(notes) + 1, len(notes) + len(findings) + 1)],
    )


def collect(task: CollectTask) -> Collected:
    """Collect the sentences of each passage that share enough with the question."""
    question = parse_question(task.question)
    entries = []
    for passage in task.passages:
        text = evidence.LabelledText(passage.title, passage.text)
        for one in evidence.worth_noting(evidence.ranked_sentences([text], question), question):
            line = folded(one.text)
            entries.append(Entry(item="", text=line, passage=passage.number, quote=one.text))
    return Collected(entries=entries)


def _noted(sentences: Mapping[evidence.Sentence, str]) -> list[Finding]:
    """Turn sentences into findings that begin with the title of their document."""
    return [
        Finding(finding=f"{folded(one.label)}: {folded(one.text)}", passage=number, quote=one.text)
        for one, number in sentences.items()
    ]


def _note(finding: str, question: ParsedQuestion) -> evidence.Sentence:
    """Parse a finding of the notebook into its sentence and title."""
    match = _NOTE.fullmatch(finding)
    noted, quote = (match[1], match[2]) if match else (finding, None)
    text = quote or noted.partition(": ")[2] or noted
    return evidence.as_evidence(text, noted.removesuffix(folded(text)).rstrip(": "), question)


def _sentences(
    passages: Iterable[ShownPassage], noted: Collection[str], question: ParsedQuestion
) -> dict[evidence.Sentence, str]:
    """The new sentences of the passages, best first, each with the number of its passage."""
    leads = question.new_name_terms(noted)
    numbers: dict[evidence.Sentence, str] = {}
    for passage in passages:
        text = _MARGIN.sub("", passage["text"])
        # Facts are no neighbors in the text: a pronoun in one does not mean the one before.
        parts = text.splitlines() if passage["facts"] else [text]
        for part in parts:
            text_of_part = evidence.LabelledText(passage["title"], part)
            for one in evidence.ranked_sentences([text_of_part], question, leads):
                numbers.setdefault(one, passage["number"])
    best = sorted((one for one in numbers if one.text not in noted), key=lambda one: -one.score)
    return {one: numbers[one] for one in best}


def _searches(quotes: Sequence[str], question: ParsedQuestion) -> Iterator[tuple[str, list[str]]]:
    """Yield (name, words to search with it): the names of a comparison, and new names.

    The words are required by the question and missing in the sentence that has the name.
    """
    leads = {name: question.lead(name, quotes) for name in question.new_names(quotes)}
    if len(question.names) > 1:
        leads |= dict.fromkeys(question.names, 1.0)
    for name in sorted(leads, key=lambda one: -leads[one]):
        if leads[name] >= LEAST_LEAD:
            sources = (one for one in quotes if name in one)
            terms = terms_of(max(sources, key=question.relevance, default=""))
            yield name, [one.word for one in question.required_attributes if not one.support(terms)]
