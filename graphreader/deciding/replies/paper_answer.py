"""Plans and answers in the paper's own formats (figures 7 and 12), and their claims."""

import re
from collections.abc import Sequence
from typing import Any

from graphreader.deciding.replies.marks import (
    bare,
    numbers_in,
    sections_of,
    with_numbers_inside,
    without_numbers,
)
from graphreader.sentences import sentence_spans

Fields = dict[str, Any]

_LEAD = re.compile(r"(?i)\A\W*(?:assistant|(?:rational )?plan)[*_]*\s*[:：]")
_NO_PLAN = re.compile(  # refusals and questions back
    r"(?is)\A\W*(?:sorry|(?:i am|i['’]m)\s+(?:\w+\s+)?(?:sorry|afraid|unable|not able)|as an ai\b"
    r"|i (?:can ?not|can['’]t|won['’]t|will not|do not|don['’]t|apologi[sz]e)\b|unfortunately"
    r"|很?抱歉|对不起|我(?:无法|不能|不会))|[?？]\s*\Z"
)
_HAN_WORDS = re.compile(r"[\u3400-\u9fff]{6}")
_NOT_TOLD = {
    *("", "unknown", "not known", "not mentioned", "not stated", "not found", "not provided"),
    *("the text does not tell", "the texts do not tell", "it cannot be determined"),
    *("文中没有提到", "文中没有说明", "没有提到", "未提及", "未知", "不详", "无法确定"),
}
_BETWEEN_NEEDS = re.compile(r"[;；\n]")
_NUMBERING = re.compile(r"\A(?:[-*•>]|\d+[.)])\s+")


def plan_of(text: str) -> Fields | None:
    """Plain prose (figure 7), if it is a sentence at least, and the needs under their heading."""
    sections = sections_of(text, ("needs",))
    prose = sections.get("", "") if sections else bare(text)
    plan = _LEAD.sub("", prose).strip(" \t\r\n*`")
    named = _BETWEEN_NEEDS.split(sections.get("needs", ""))
    needs = [_NUMBERING.sub("", need.strip()).strip(" *`.。") for need in named]
    is_sentence = len(re.findall(r"\w+", plan)) > 3 or _HAN_WORDS.search(plan)
    if not is_sentence or _NO_PLAN.search(plan):
        return None
    return {"plan": plan, "needs": [need for need in needs if need]}


def answer_of(text: str, quotes: int) -> Fields | None:
    """`Analyze: ... Final answer: ...` (figure 12), with the quotes' numbers in brackets.

    The claims are those under a heading of their own, else the answer's sentences. Where these
    name no numbers, those of the citations count, or the analysis's.
    """
    kinds = ("analysis", "citations", "answer", "claims", "contradictions")
    sections = sections_of(text, kinds)
    if "answer" not in sections:
        return {"analysis": sections["analysis"]} if "analysis" in sections else None
    answer = without_numbers(sections["answer"])
    analysis = sections.get("analysis") or sections.get("", "")
    answered = answer.casefold().strip(" .。") not in _NOT_TOLD
    parts = (sections.get("citations", ""), analysis)
    named = ([n for n in dict.fromkeys(numbers_in(one)) if 1 <= n <= quotes] for one in parts)
    elsewhere = next((numbers for numbers in named if numbers), [])
    claims = claims_of(sections.get("claims", sections["answer"]), elsewhere) if answered else []
    disputed = claims_of(sections.get("contradictions", ""), [])
    contradictions = [
        {"about": one["claim"], "citations": one["citations"]}
        for one in disputed
        if len(one["citations"]) > 1
    ]
    told = {
        "answer": answer,
        "answered": answered,
        "claims": claims,
        "contradictions": contradictions,
    }
    return told | ({"analysis": analysis} if analysis else {})


def claims_of(answer: str, named_elsewhere: Sequence[int]) -> list[dict[str, Any]]:
    """A claim for each sentence of the answer, if any of them names numbers.

    Otherwise the whole answer is one claim, with the numbers that were named elsewhere.
    """
    if not numbers_in(answer):
        words = answer.strip()
        return [{"claim": words, "citations": list(named_elsewhere)}] if words else []
    text = with_numbers_inside(answer)
    sentences = [text[start:end] for start, end in sentence_spans(text)]
    return [
        {"claim": words, "citations": list(dict.fromkeys(numbers_in(sentence)))}
        for sentence in sentences
        if (words := without_numbers(sentence))
    ]
