"""ReadAgent's replies in plain words: "Break point: <57>", "I want to look up Page [2, 5]", "STOP".

As in `paper_format`, what a reply names becomes the fields of a decision, nothing else.
"""

import re
from typing import Any

from graphreader.deciding.episodes import (
    GistTask,
    LookUpTask,
    MemoryAnswerTask,
    MemoryChoiceTask,
    NextPageTask,
    PauseTask,
)
from graphreader.deciding.replies.marks import bare, numbers_in
from graphreader.deciding.replies.passage_format import REFUSAL, text_answer_of, text_choice_of
from graphreader.deciding.tasks import Task

Fields = dict[str, Any]

_BARE_NUMBER = re.compile(r"\W{0,9}(\d{1,6})\W{0,9}")
_TAG = re.compile(r"<\s{0,3}(\d{1,6})\s{0,3}>")
_PAUSE = re.compile(
    r"(?i)(?:break(?:ing)?|paus(?:e|ing)|stop(?:ping)?|tag|label)(?: ?(?:point|tag|label|at))?"
    r"[\s*_:：=是为]{0,6}[<\[(]?\s{0,3}(\d{1,6})\b"
)
_LEAD = re.compile(
    r"(?i)\A[\W_]{0,6}(?:(?:here is|here['’]s) (?:the|a) )?(?:shortened (?:version|passage|text)"
    r"(?: of the passage)?|gist|缩写|摘要)[*_ ]{0,4}[:：][*_]{0,3}\s*"
)
_PAGES = re.compile(
    r"(?i)(?:\bpages?|第)[\s*_:：#]{0,4}[\[(<【（]?\s{0,3}(\d{1,6}(?:\s{0,3}(?:[,，、;&]|and|or|和)"
    r"(?:\s{0,3}and)?\s{0,3}(?:pages?\s{0,3})?[\[<]?\d{1,6}[\]>]?)*)"
)
_WANTS = re.compile(
    r"(?i)(?:want|need|like|going|choose|decide)[^.\n]{0,20}(?:look|re-?read|read)[^.\n]*"
)
_NOTHING = re.compile(
    r"(?i)(?:\b(?:do not|don['’]t|no|without(?: a)?) need|not need|not necessary|n['o]t want)\b"
    r"[^.\n]{0,40}\b(?:look|re-?read|read|pages?)"
    r"|\bno (?:more |further |other )?(?:pages?|look-?up)"
    r"|\A\W{0,6}(?:none|nothing|empty)\W{0,6}\Z|不需要|无需"
)
_WORDS_BEFORE = 12  # characters
_EMPTY = re.compile(r"\W{0,9}\[\s*\]\W{0,9}")
_STOP = re.compile(r"\bSTOP\b|(?i:\A\W{0,6}(?:stop|停止)\W{0,6}\Z)")


def episode_of(text: str, task: Task[Any]) -> Fields | None:
    """The fields that a reply to one of ReadAgent's tasks names; None where it names none."""
    match task:
        case PauseTask():
            return _pause(text)
        case GistTask():
            gist = bare(_LEAD.sub("", text))
            return {"gist": gist} if gist and not REFUSAL.match(gist) else None
        case LookUpTask():
            pages = _pages(text)
            return None if pages is None else {"pages": pages}
        case NextPageTask():
            return _next_page(text)
        case MemoryAnswerTask():
            return text_answer_of(text)
        case MemoryChoiceTask():
            return text_choice_of(text, task.options)
    return None


def _pause(text: str) -> Fields | None:
    """The tag behind words such as "break point", the last ones; else the only tag that is named.

    A tag such as <5> in the reasons does not count beside them.
    """
    named = _PAUSE.findall(text)
    if named:
        return {"pause": int(named[-1])}
    alone = _BARE_NUMBER.fullmatch(text.strip())
    tags = [alone[1]] if alone else list(dict.fromkeys(_TAG.findall(text)))
    return {"pause": int(tags[0])} if len(tags) == 1 else None


def _pages(text: str) -> list[int] | None:
    """All pages of the sentence that says what to look up, else of the whole reply."""
    wants = [one[0] for one in _WANTS.finditer(text) if not _NOTHING.search(text, *_around(one))]
    for part in (*reversed(wants), "" if _NOTHING.search(text) else text):
        found = [int(n) for group in _PAGES.findall(part) for n in re.findall(r"\d+", group)]
        if found := found or numbers_in(part):
            return list(dict.fromkeys(found))
    alone = re.fullmatch(r"\W*\d{1,6}(?:[\s,，、]{1,3}\d{1,6})*\W*", text.strip())
    if alone:
        return [int(number) for number in re.findall(r"\d+", text)]
    is_empty = (
        _NOTHING.search(text) or _STOP.search(text) or re.fullmatch(r"\W*\[\s*\]\W*", text.strip())
    )
    return [] if is_empty else None


def _around(wish: re.Match[str]) -> tuple[int, int]:
    """Where a wish stands, with the few words before it, which may deny it."""
    return max(0, wish.start() - _WORDS_BEFORE), wish.end()


def _next_page(text: str) -> Fields | None:
    """One page, or 0 for STOP. Of several none is chosen here: the check refuses them."""
    if _STOP.search(text):
        return {"page": 0}
    pages = _pages(text)
    if pages is None:
        return None
    return {"page": pages[0] if len(pages) == 1 else pages if pages else 0}
