"""Replies to questions about shown text in plain words (figures 15 to 18 of the GraphReader paper).

Full text and retrieved chunks are answered in any words; "[answerable] ...", "[unanswerable]" and
"[summary] ..." mark what is said of one chunk. As in `paper_format`, what a reply names becomes the
fields of a decision, nothing else: where it names both marks, the decision's own check refuses it.
"""

import re
from collections.abc import Sequence
from typing import Any

from graphreader.deciding.chunk_reading import ChunkReadTask, NotesReadTask
from graphreader.deciding.passages import TextAnswerTask, TextChoiceTask, option_named
from graphreader.deciding.replies.marks import bare, sections_of
from graphreader.deciding.replies.paper_answer import answer_of
from graphreader.deciding.searching import SearchStepTask
from graphreader.deciding.tasks import Task, folded

Fields = dict[str, Any]

_MARK = re.compile(
    r"(?i)[*_`]{0,3}[\[【]\s{0,3}(?P<mark>summary|answerable|unanswerable|quotes?)\s{0,3}[\]】]"
    r"[*_`]{0,3}\s{0,3}[:：]?"
)
REFUSAL = re.compile(
    r"(?i)\A\W{0,3}(?:sorry|i(?: am|['’]m)\s+(?:sorry|afraid|unable)|as an ai\b"
    r"|i (?:can ?not|can['’]t|won['’]t|will not)\b|很?抱歉|对不起|我(?:无法|不能))"
)
_OPTION = re.compile(
    r"\A\W{0,6}([A-H]|\d{1,2})(?:\s?[).:、：\]]|\W*\Z)"
    r"|\b(?i:option|choice|answer|选项|答案)\s?(?:is|是)?\s?\W{0,3}([A-H]|\d{1,2})\b"
    r"|[\[(]\s?([A-H]|\d{1,2})\s?[\])]"
)
_NOTES = re.compile(r"(?im)^[*_#\s]{0,6}notes[*_]{0,3}\s?[:：][*_]{0,3}")
_CALL = re.compile(
    r"(?m)^[\s>*•\-`]{0,9}(?:\d{1,2}[.)]\s)?[*_`]{0,3}"
    r"(?P<function>keyword_search|semantic_search|read_chunk|answer)\b[*_`]{0,3}\s{0,3}"
    r"\((?P<argument>[^\n]{0,1000})\)"
)


def reading_of(text: str, task: Task[Any]) -> Fields | None:
    """The fields that a reply about shown text names; None where it names none, or for others."""
    match task:
        case TextAnswerTask():
            return text_answer_of(text)
        case TextChoiceTask():
            return text_choice_of(text, task.options)
        case ChunkReadTask() | NotesReadTask():
            return _chunk_read(text)
        case SearchStepTask():
            return _step(text)
    return None


def text_answer_of(text: str) -> Fields | None:
    """What stands under "Answer:"; without such a heading the whole reply is the answer."""
    sections = sections_of(text, ("analysis", "answer", "quotes"))
    words = sections.get("answer", "") if sections else bare(text)
    told = answer_of(f"Answer: {words}", 0) if words and not REFUSAL.match(words) else None
    if told is None:
        return None
    return {
        "analysis": sections.get("analysis", ""),
        "answer": told["answer"],
        "answered": told["answered"],
        "quotes": _lines(sections.get("quotes", "")),
    }


def text_choice_of(text: str, options: Sequence[str]) -> Fields | None:
    """One option, by its number or letter ("(B)", "Answer: 2"), or by its own words."""
    sections = sections_of(text, ("analysis", "answer", "quotes"))
    words = sections.get("answer") or bare(text)
    whole = option_named(words.strip(" *_"), options)
    found = [whole] if whole else [_number("".join(one)) for one in _OPTION.findall(words)]
    if not found:
        in_words = folded(words).casefold()
        found = [n for n, one in enumerate(options, 1) if folded(one).casefold() in in_words]
    if len(set(found)) != 1:
        return None
    quotes = _lines(sections.get("quotes", ""))
    return {"analysis": sections.get("analysis", ""), "option": found[0], "quotes": quotes}


def _chunk_read(text: str) -> Fields | None:
    """What stands behind each mark, up to the next one."""
    marks = list(_MARK.finditer(text))
    if not marks:
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    parts = {
        mark["mark"].lower().rstrip("s"): bare(text[mark.end() : end])
        for mark, end in zip(marks, ends, strict=True)
    }
    functions = [one for one in ("answerable", "unanswerable") if one in parts]
    if not functions:
        return None
    fields: Fields = {
        "function": " or ".join(functions),
        "answer": parts["answerable"] if functions == ["answerable"] else "",
        "quotes": _lines(parts.get("quote", "")),
    }
    return fields | ({"summary": parts["summary"]} if "summary" in parts else {})


def _step(text: str) -> Fields | None:
    """The one call of a tool, `keyword_search("a", "b")`; notes stand before it."""
    calls = list(_CALL.finditer(text))
    if len(calls) != 1:
        return None
    call = calls[0]
    words = [folded(one).strip("[]\"'“” ") for one in re.split(r"[,，、]", call["argument"])]
    fields: Fields = {
        "notes": _NOTES.split(bare(text[: call.start()]))[-1].strip(),
        "function": call["function"],
    }
    if call["function"] == "keyword_search":
        return fields | {"words": [word for word in words if word]}
    if call["function"] == "semantic_search":
        return fields | {"query": folded(call["argument"]).strip("\"'“”")}
    return fields | {"chunks": [int(word) for word in words if word.isdecimal()]}


def _lines(section: str) -> list[str]:
    lines = (line.strip(' \t-*•>"“”') for line in section.splitlines())
    return [line for line in lines if line]


def _number(named: str) -> int:
    return int(named) if named.isdecimal() else ord(named.upper()) - ord("A") + 1
