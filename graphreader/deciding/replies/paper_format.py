"""Replies in the paper's own text formats (figures 6 to 12), for models that write no JSON.

What a reply names becomes the fields of a decision, nothing else: what it leaves out stays missing,
and what it says wrongly stays wrong, so that the decision's own check refuses it. What is chosen
may be named by its number, or by the very words that were shown.
"""

import re
from collections.abc import Sequence
from typing import Any

from graphreader.deciding.exploring import ChunkTask, FactsTask, NeighborTask
from graphreader.deciding.replies import paper_actions
from graphreader.deciding.replies.paper_facts import facts_of
from graphreader.deciding.tasks import (
    AnswerTask,
    CondenseTask,
    ExtractionTask,
    InitialNodesTask,
    PlanTask,
    Task,
)

Fields = dict[str, Any]

_HEADINGS = {
    "notebook": "(?:updated |condensed |joined )?notebook",
    "quotes": "quotes?",
    "rationale": "rationale(?: for (?:the )?next action)?",
    "action": "(?:chosen |next )?(?:action|function)",
    "analysis": "analy[sz]e|analysis",
    "answer": "(?:final )?answer",
    "citations": "citations?|cited quotes",
}
_HEADING = re.compile(
    r"(?mi)(?:^[ \t]*(?:[#>*•-]+[ \t]+|\d+[.)][ \t]+)*[*_]{0,3}(?:"
    + "|".join(f"(?P<{kind}>{words})" for kind, words in _HEADINGS.items())
    + r")[*_]{0,3}[ \t]*(?:[:：][*_]{0,3}|$))"
    # The paper's own headings are long enough to be told from prose inside a line.
    r"|(?<!\w)[*_]{0,3}(?-i:(?P<notebook_>Updated Notebook)"
    r"|(?P<rationale_>Rationale for Next Action)|(?P<action_>Chosen Action)"
    r"|(?P<answer_>Final [Aa]nswer))[*_]{0,3}[ \t]*[:：][*_]{0,3}"
)
_LEAD = re.compile(r"(?i)\A\W*(?:assistant|(?:rational )?plan)[*_]*\s*[:：]")
_NO_PLAN = re.compile(  # refusals and questions back
    r"(?is)\A\W*(?:sorry|(?:i am|i['’]m)\s+(?:\w+\s+)?(?:sorry|afraid|unable|not able)|as an ai\b"
    r"|i (?:can ?not|can['’]t|won['’]t|will not|do not|don['’]t|apologi[sz]e)\b|unfortunately"
    r"|很?抱歉|对不起|我(?:无法|不能|不会))|[?？]\s*\Z"
)
_SENTENCE = re.compile(r"(?:\w+\W+){3}\w|[\u3400-\u9fff]{6}")
_NODE = re.compile(
    r"(?mi)^[\s>*•\-\d.)]*node[*_]*\s*[:：]\s*(?P<node>.+?)[\s,，;；|(–—-]*"
    r"[*_]*score[*_]*\s*[:：]\s*[*_\[]*(?P<score>\d{1,3})(?!\d)"
)
_CITED = re.compile(r"\s*\[\s*(\d+(?:\s*[,，;、]\s*\d+)*)\s*\]")
_NOT_TOLD = re.compile(
    r"(?i)\b(?:texts?|documents?|article|notebooks?|notes|quotes?|passages?|information|sources?)\b"
    r"[^.?!]{0,60}\b(?:do|does|did|is|are|was|were)(?:n['’]t| not)\b[^.?!]{0,30}"
    r"\b(?:tell|say|state|mention|contain|provide|specif|give|include|answer|reveal|indicate"
    r"|told|said|given|known|found|enough|sufficient|available)"
    r"|\b(?:can ?not|can['’]t|could not|couldn['’]t) be (?:answer|determin|told|said|known|infer)"
    r"|\b(?:i|we) (?:can ?not|can['’]t|could not|do not|don['’]t) (?:answer|determine|tell|know)"
    r"|\b(?:unable|impossible) to (?:answer|determine|tell|say)"
    r"|\b(?:(?:insufficient|not enough) (?:information|evidence)|no information)\b"
    r"|\bnot (?:stated|mentioned|specified|provided|given|told|found)\b[^.?!]{0,15}"
    r"\b(?:in|by) (?:the|any|these) (?:text|document|article|notebook|note|quote|passage)"
    r"|\A\W*(?:unknown|not (?:stated|mentioned|specified|provided|given|told|known|found))\W*\Z"
    r"|(?:文中|文本|原文|笔记|资料|材料|引文|信息)[^。！？]{0,20}[没未不][^。！？]{0,10}"
    r"(?:说明|提到|提及|提供|记载|给出|回答|指出|交代|告诉|足)"
    r"|无法(?:确定|回答|得知|判断|推断|得出)|不得而知|\A\W*(?:未知|不详|不清楚|不知道)"
)
_CLAUSE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")


def fields_of(text: str, task: Task[Any]) -> Fields | None:
    """The fields that a reply to the task names; None where it is not in the task's format."""
    match task:
        case ExtractionTask():
            facts = facts_of(text)
            return {"facts": facts} if facts else None
        case PlanTask():
            return _plan(text)
        case InitialNodesTask():
            return _nodes(text, task.nodes)
        case FactsTask() | ChunkTask() | NeighborTask():
            return _step(text, task)
        case CondenseTask():
            notebook = _sections(text, ("notebook",)).get("notebook")
            return {"notebook": notebook} if notebook else None
        case AnswerTask():
            return _answer(text, len(task.evidence))
    return None


def _plan(text: str) -> Fields | None:
    """Plain prose (figure 7), if it is a sentence at least."""
    plan = _LEAD.sub("", _bare(text)).strip(" \t\r\n*`")
    is_plan = _SENTENCE.search(plan) and not _NO_PLAN.search(plan)
    return {"plan": plan} if is_plan else None


def _nodes(text: str, names: Sequence[str]) -> Fields | None:
    """`Node: X, Score: 90` (figure 8), one a line; nodes that were not shown are left out."""
    found = [
        (paper_actions.number_of(line["node"], names), int(line["score"]))
        for line in _NODE.finditer(text)
    ]
    nodes = [{"number": n, "score": score} for n, score in found if isinstance(n, int)]
    return {"nodes": nodes} if found else None


def _step(text: str, task: FactsTask | ChunkTask | NeighborTask) -> Fields | None:
    """Notebook, rationale and action under their headings (figures 9 to 11)."""
    kinds = ("rationale",) if isinstance(task, NeighborTask) else ("notebook", "rationale")
    optional = ("quotes",) if isinstance(task, ChunkTask) else ()
    sections = _sections(text, (*kinds, *optional, "action"))
    if not sections:
        return None
    fields: Fields = {kind: sections[kind] for kind in kinds if kind in sections}
    if isinstance(task, ChunkTask):
        fields["quotes"] = _quotes(sections.get("quotes", ""))
    return fields | paper_actions.fields_of(sections.get("action", ""), task)


def _quotes(section: str) -> list[str]:
    """One passage a line; the paper's format has none."""
    lines = (re.sub(r"\A(?:[-*•>]|\d+[.)])\s+", "", line.strip()) for line in section.splitlines())
    quotes = (line.strip('"“”「」 ') for line in lines)
    return [one for one in quotes if one and one.lower().strip(" .()[]") not in ("none", "empty")]


def _answer(text: str, quotes: int) -> Fields | None:
    """`Analyze: ... Final answer: ...` (figure 12), with the quotes' numbers in brackets."""
    sections = _sections(text, ("analysis", "citations", "answer"))
    if "answer" not in sections:
        return {"analysis": sections["analysis"]} if "analysis" in sections else None
    answer = _CITED.sub("", sections["answer"]).strip()
    analysis = sections.get("analysis") or sections.get("", "")
    cited = next((n for part in (sections.get("citations", ""), sections["answer"], analysis)
                  if (n := _cited(part, quotes))), [])  # fmt: skip
    first = _CLAUSE_END.split(answer)[0] if answer else ""
    told = {"answer": answer, "answered": not _NOT_TOLD.search(first), "citations": cited}
    return told | ({"analysis": analysis} if analysis else {})


def _cited(text: str, quotes: int) -> list[int]:
    """The numbers in brackets that belong to a quote, each once."""
    numbers = (int(n) for group in _CITED.findall(text) for n in re.findall(r"\d+", group))
    return [number for number in dict.fromkeys(numbers) if 1 <= number <= quotes]


def _sections(text: str, kinds: Sequence[str]) -> dict[str, str]:
    """What stands under the headings of these kinds; what stands before the first under "".

    The last heading of a kind counts, of a notebook and an analysis the first: a note may well
    begin like a heading. Empty where there is none of them.
    """
    chosen: dict[str, re.Match[str]] = {}
    for heading in _HEADING.finditer(text):
        kind = (heading.lastgroup or "").rstrip("_")
        if kind in kinds and not (kind in chosen and kind in ("notebook", "analysis")):
            chosen[kind] = heading
    found = sorted(chosen.items(), key=lambda one: one[1].start())
    if not found:
        return {}
    ends = [heading.start() for _, heading in found[1:]] + [len(text)]
    sections = {"": _bare(text[: found[0][1].start()])}
    for (kind, heading), end in zip(found, ends, strict=True):
        sections[kind] = _bare(text[heading.end() : end])
    return {kind: section for kind, section in sections.items() if section}


def _bare(section: str) -> str:
    """Without what only sets it off: white space, fences, rules."""
    return re.sub(r"(?m)^\s*(?:```\w*|---+|#+)\s*$", "", section).strip()
