"""Atomic facts in the paper's text format (figure 6): `1. A fact. | key element | key element`.

Also with the commas and brackets of the format's own description: `[1], [A fact.], [a | b]`. A
numbered fact without key elements stays one without.
"""

import re
from typing import Any

Fact = dict[str, Any]

_NUMBER = re.compile(
    r"\A[\s>*•-]*[\[(【]*\d{1,4}"
    r"(?:[\])】]+\s*(?P<after>[.,:、，]?)|(?P<sign>[.,:)、，：])(?!\d))\s*"
)
_BARS = re.compile(r"\s*[|｜]\s*")
_BRACKETED = re.compile(r"\[+(?P<fact>.+?)\]+\s*[,，|｜、]\s*\[+(?P<elements>.+?)\]+\W*\Z")
_SENTENCE_THEN = re.compile(r"(?P<fact>.*[.!?。！？][\"”’'）)]*)\s*[,，]\s*(?P<first>.+)\Z")
_SENTENCE_END = re.compile(r"[.!?。！？][\"”’'）)\]]*\Z")


def facts_of(text: str) -> list[Fact]:
    """The facts in their order; none where no line has key elements."""
    facts = [fact for line in _lines(text) if (fact := _fact(line))]
    return facts if any(fact["key_elements"] for fact in facts) else []


def _lines(text: str) -> list[str]:
    """The lines that begin a fact, each with what follows until its key elements are named."""
    lines: list[str] = []
    is_open = False
    for line in text.replace("**", "").splitlines():
        if _NUMBER.match(line) or (_BARS.search(line) and not is_open):
            lines.append(line)
        elif is_open and line.strip():
            lines[-1] += f" {line.strip()}"
        is_open = bool(lines and line.strip()) and not _BARS.search(lines[-1])
    return lines


def _fact(line: str) -> Fact | None:
    begin = _NUMBER.match(line)
    rest = line[begin.end() :] if begin else line.strip(" \t>*•-")
    if pair := _BRACKETED.match(rest):
        fact, elements = pair["fact"], _BARS.split(pair["elements"])
    else:
        fact, *elements = _BARS.split(rest)
        if begin and (begin["after"] or begin["sign"]) in (",", "，"):
            fact, first = _cut_at_comma(fact)
            elements = [first, *elements]
    fact = fact.strip(" \t[]")
    if not begin and not _SENTENCE_END.search(fact):
        return None
    cleaned = [element.strip(" \t[]*`") for element in elements]
    return {"fact": fact, "key_elements": [one for one in cleaned if one]}


def _cut_at_comma(text: str) -> tuple[str, str]:
    """A fact and the key element behind it: at the comma after its last sentence, or the last."""
    if sentence := _SENTENCE_THEN.match(text):
        return sentence["fact"], sentence["first"]
    before, comma, last = text.rpartition(",")
    return (before, last) if comma else (text, "")
