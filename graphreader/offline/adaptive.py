"""The turns of mode `adaptive` without a model: the best sentences are noted, new names searched.

A sentence is scored as everywhere offline; names in the noted sentences that the question lacks are
searched together with the words that the notes still lack.
"""

import re
from collections.abc import Iterator, Sequence

from graphreader.agent.adaptive.tasks import Action, Finding, Turn, TurnTask
from graphreader.agent.tasks import AnswerTask, Evidence
from graphreader.baselines.tasks import Excerpt
from graphreader.llm.protocols import folded
from graphreader.offline.answering import ScoredSentence, answer_from_notebooks, scored_sentences
from graphreader.offline.exploration import covers
from graphreader.offline.question import ParsedQuestion, parse_question
from graphreader.text.names import names_of
from graphreader.text.words import terms_of

MOST_FINDINGS = 5  # of one turn
MOST_SEARCHES = 3  # of one turn
MOST_TURNS = 4

_NOTE = re.compile(r"(?P<text>.*) \[(?P<passage>[\d.]+)(: “(?P<quote>.*)”)?\]\Z", re.DOTALL)
_MARGIN = re.compile(r"\A- |\A\(\d+ tokens: .*\)\Z", re.MULTILINE)


def take_turn(task: TurnTask) -> Turn:
    """Note the best sentences, then search for new names, or answer from what is noted."""
    question = parse_question(task.question)
    new = _findings(task, question)
    noted = [note for one in task.notebook.findings if (note := _NOTE.match(one))]
    evidence = [Evidence("", one["quote"] or one["text"]) for one in noted]
    evidence += [Evidence("", one.quote) for one in new]
    texts = [one.quote for one in evidence]
    searches = list(_searches(task, texts, question)) if task.turns else []
    if searches and not covers("\n".join(texts), question):
        return Turn(
            findings=new,
            notes="By word overlap alone.",
            actions=[Action(function="search", argument=one) for one in searches],
        )
    answer = answer_from_notebooks(AnswerTask(task.question, "", (), tuple(evidence)))
    cited = [number for claim in answer.claims for number in claim.citations]
    return Turn(
        findings=[new[n - len(noted) - 1] for n in cited if n > len(noted)],
        notes=answer.analysis,
        answer=answer.answer if answer.answered else "",
        confidence="stated" if answer.answered else "not in the texts",
        rests_on=[n for n in cited if n <= len(noted)],
    )


def _findings(task: TurnTask, question: ParsedQuestion) -> list[Finding]:
    """The new sentences that share most with the question, with a share for what leads on."""
    sentences: list[tuple[ScoredSentence, str]] = []
    for result in task.results:
        for passage in result["passages"]:
            text = _MARGIN.sub("", passage["text"])
            excerpt = Excerpt(passage["title"], text, 0)
            sentences += [(one, passage["number"]) for one in scored_sentences([excerpt], question)]
    sentences.sort(key=lambda one: -one[0].score)
    known = " ".join(task.notebook.findings)
    best = [one for one in sentences if folded(one[0].text) not in known][:MOST_FINDINGS]
    return [
        Finding(finding=folded(one.text), passage=number, quote=one.text) for one, number in best
    ]


def _searches(task: TurnTask, texts: Sequence[str], question: ParsedQuestion) -> Iterator[str]:
    """Names that lead on, best first, with the words of the question that are still missing."""
    if len(task.actions) >= MOST_SEARCHES * (MOST_TURNS - 1):
        return
    in_order = sorted(texts, key=lambda text: -question.overlap(terms_of(text)))
    names = list(question.names) if not task.actions and len(question.names) > 1 else []
    names += [name for text in in_order for name in names_of(folded(text))]
    done = " ".join(task.actions).casefold()
    number = 0
    for name in dict.fromkeys(names):
        if name.casefold() in done or number == MOST_SEARCHES:
            continue
        if terms_of(name) <= question.vocabulary and name not in question.names:
            continue
        number += 1
        missing = " ".join(word for word in question.attributes if word not in name)
        yield f"{name} {missing}".strip()
