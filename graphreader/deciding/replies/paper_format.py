"""Replies in the paper's own text formats (figures 6 to 12), for models that write no JSON.

What a reply names becomes the fields of a decision, nothing else: what it leaves out stays missing,
and what it says wrongly stays wrong, so that the decision's own check refuses it. What is chosen
may be named by its number, or by the very words that were shown.

Models also write endless runs of anything: every pattern here takes linear time on them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from graphreader.deciding.exploring import ChunkTask, FactsTask, NeighborTask
from graphreader.deciding.replies.episode_format import episode_of
from graphreader.deciding.replies.marks import numbers_in, sections_of
from graphreader.deciding.replies.paper_answer import answer_of, plan_of
from graphreader.deciding.replies.passage_format import reading_of
from graphreader.deciding.replies.ratings import rating_of
from graphreader.deciding.tasks import (
    AnswerTask,
    CondenseTask,
    ExtractionTask,
    InitialNodesTask,
    PlanTask,
    Task,
    folded,
)

Fields = dict[str, Any]

_LONGEST = 20_000  # characters; a whole reply in one of these formats is far shorter
_NODE = re.compile(
    r"(?mi)^[ \t>*•\-\d.)]{0,12}node[*_]{0,3}[ \t]{0,3}[:：]\s{0,3}(?P<node>[^\n]{1,400}?)"
    r"[\s,，;；|(–—-]{0,9}[*_]{0,3}score[*_]{0,3}\s{0,3}[:：]\s{0,3}[*_\[]{0,4}"
    r"(?P<score>\d{1,3})(?!\d)"
)
_AROUND = " \t\r\n*_`\"'“”#>•-"
_NUMBERING = re.compile(r"\A\d+[.)]\s+")
_CALL = re.compile(
    r"(?P<function>\w+)[*_`]{0,3}\s{0,3}"
    r"(?:\((?P<argument>(?:[^()]|\([^()]*\))*)\)?)?(?P<behind>.*)"
)
_FACT_NUMBER = re.compile(r"\A[\s>*•-]*[\[(【]*\d{1,4}(?:[\])】]+\s*[.,:、，]?|[.:)、：](?!\d))\s*")
_BAR = re.compile(r"[|｜]")
_BETWEEN_BRACKETS = re.compile(r"\]\s{0,3}[,，|｜、]\s{0,3}\[")
_SENTENCE_END = re.compile(r"[.!?。！？][\"”’'）)\]]*\Z")


def fields_of(text: str, task: Task[Any]) -> Fields | None:
    """The fields that a reply to the task names; None where it is not in the task's format.

    None also for a text of more than 20,000 characters: a part of it might not say the same.
    """
    if len(text) > _LONGEST:
        return None
    match task:
        case ExtractionTask():
            facts = [fact for line in _fact_lines(text) if (fact := _fact(line))]
            return {"facts": facts} if any(fact["key_elements"] for fact in facts) else None
        case PlanTask():
            return plan_of(text)
        case InitialNodesTask():
            return _nodes(text, _Shown(task.nodes, task.aliases))
        case FactsTask() | ChunkTask() | NeighborTask():
            return _step(text, task)
        case CondenseTask():
            notebook = sections_of(text, ("notebook",)).get("notebook")
            return {"notebook": notebook} if notebook else None
        case AnswerTask():
            return answer_of(text, len(task.evidence))
    return rating_of(text, task) or episode_of(text, task) or reading_of(text, task)


def _fact_lines(text: str) -> list[str]:
    """The lines that begin a fact, each with what follows until its key elements are named."""
    facts: list[list[str]] = []
    is_open = False
    for line in text.replace("**", "").splitlines():
        has_bar = bool(_BAR.search(line))
        if _FACT_NUMBER.match(line) or (has_bar and not is_open):
            facts.append([line.strip()])
            is_open = not has_bar
        elif is_open and line.strip():
            facts[-1].append(line.strip())
            is_open = not has_bar
        else:
            is_open = False
    return [" ".join(lines) for lines in facts]


def _fact(line: str) -> Fields | None:
    """`1. A fact. | key element | key element` (figure 6), or `[1], [A fact.], [a | b]`."""
    begin = _FACT_NUMBER.match(line)
    rest = line[begin.end() :] if begin else line.strip(" \t>*•-")
    pair = _BETWEEN_BRACKETS.split(re.sub(r"([\[\]])\1+", r"\1", rest), maxsplit=1)
    if rest.startswith("[") and len(pair) == 2:
        fact, elements = pair[0], _BAR.split(pair[1])
    else:
        fact, *elements = _BAR.split(rest)
    fact = fact.strip(" \t[]")
    if not begin and not _SENTENCE_END.search(fact):
        return None
    cleaned = [element.strip(" \t[]*`") for element in elements]
    return {"fact": fact, "key_elements": [one for one in cleaned if one]}


class _Shown:
    """What a task showed under numbers from 1.

    Exact names go before names in other letters, and these before `aliases` of what was shown.
    """

    def __init__(self, names: Sequence[str], aliases: Sequence[Iterable[str]] = ()) -> None:
        self._count = len(names)
        shown = [(folded(name), number) for number, name in enumerate(names, 1)][::-1]
        others = {
            folded(alias).casefold(): number
            for number, own in enumerate(aliases[: self._count], 1)
            for alias in own
        }
        self._numbers: Mapping[str, int] = {
            **others,
            **{name.casefold(): number for name, number in shown},
            **dict(shown),
        }

    def number_of(self, named: str) -> int | str:
        """What `[3]`, `[3] Danny`, `3` or the name itself means; the text where that is nothing."""
        text = folded(named).strip(_AROUND)
        first = re.match(r"\[\s*(\d{1,6})\s*\]", text)
        if first and 1 <= int(first[1]) <= self._count:
            return int(first[1])
        bare = text.strip("[]\"'“”")
        for wanted in (text, bare, bare.casefold()):
            if number := self._numbers.get(wanted):
                return number
        return int(bare) if re.fullmatch(r"\d{1,6}", bare) else text

    def numbers_of(self, argument: str) -> list[int | str]:
        """All that an argument names: `[1, 3]`, `"a label", "a label"`; labels may have commas."""
        if numbers := numbers_in(argument):
            return list(numbers)
        inside = argument.strip("[] ")
        quoted = re.findall(r'"([^"]+)"', inside.replace("“", '"').replace("”", '"'))
        named: list[int | str] = []
        for parts in ([inside], quoted, re.split(r"[,，;、]", inside)):
            named = [self.number_of(part) for part in parts if part.strip(_AROUND)]
            if parts and all(isinstance(one, int) for one in named):
                return named
        return named


def _nodes(text: str, shown: _Shown) -> Fields | None:
    """`Node: X, Score: 90` (figure 8), one a line; a node that was not shown has the number 0."""
    found = [(shown.number_of(one["node"]), int(one["score"])) for one in _NODE.finditer(text)]
    nodes = [{"number": n if isinstance(n, int) else 0, "score": score} for n, score in found]
    return {"nodes": nodes} if found else None


def _step(text: str, task: FactsTask | ChunkTask | NeighborTask) -> Fields | None:
    """Notebook, rationale and action under their headings (figures 9 to 11)."""
    known = task.decision.model_fields
    kinds = [kind for kind in ("notebook", "rationale", "quotes") if kind in known]
    sections = sections_of(text, (*kinds, "action"))
    if not sections:
        return None
    fields: Fields = {kind: sections[kind] for kind in kinds if kind in sections}
    functions = get_args(known["function"].annotation)
    function, arguments = _called(sections.get("action", ""), functions)
    fields |= {"function": function} if function else {}
    if isinstance(task, FactsTask):
        shown = _Shown([group.label for group in task.groups])
        chunks = [chunk for one in arguments for chunk in shown.numbers_of(one)]
        fields["chunks"] = chunks if function == "read_chunk" else []
    elif isinstance(task, ChunkTask):
        fields["quotes"] = _quotes(sections.get("quotes", ""))
    else:
        named = [_Shown(task.neighbors).number_of(one) for one in dict.fromkeys(arguments)]
        one_or_all = named[0] if len(named) == 1 else named
        fields["neighbor"] = one_or_all if function == "read_neighbor_node" else 0
    return fields


def _called(section: str, functions: Sequence[str]) -> tuple[str, list[str]]:
    """The function that lines of the section begin with, and the argument of each call of it.

    Where a second one is named beside it, or none, it is what the decision's check refuses.
    """
    lines = [_NUMBERING.sub("", raw.strip(_AROUND)).strip(_AROUND) for raw in section.splitlines()]
    called: list[str] = []
    arguments: list[str] = []
    for line in lines:
        call = _CALL.match(line.replace("（", "(").replace("）", ")"))
        if call and call["function"].lower() in functions:
            called += [call["function"].lower(), *re.findall(r"\w+", call["behind"])]
            arguments.append(call["behind"] if call["argument"] is None else call["argument"])
    if not called:
        return next((line for line in lines if line), ""), []
    return " or ".join(one for one in functions if one in called), arguments


def _quotes(section: str) -> list[str]:
    """One passage a line; the paper's format has none."""
    lines = (re.sub(r"\A(?:[-*•>]|\d+[.)])\s+", "", line.strip()) for line in section.splitlines())
    quotes = (line.strip('"“”「」 ') for line in lines)
    return [one for one in quotes if one and one.lower().strip(" .()[]") not in ("none", "empty")]
