"""Ratings in plain words, as the papers' own prompts ask for them (figures 13, 14 and 19).

"Yes.", "Yes, partially", "No, because ..."; the counts of a recall each behind its name. A verdict
stands behind a heading, or is the reply's first words, or its last line. What says anything else
is not read, and so asked for again.
"""

import re
from typing import Any

from graphreader.deciding.rating import PermissiveRatingTask, RecallRatingTask, StrictRatingTask
from graphreader.deciding.tasks import Task

Fields = dict[str, Any]

_EMPHASIS = str.maketrans("", "", "*_`\"“”'‘’()[]#>")
_IN_PART = r"(?:but )?(?:only )?partial(?:ly)?"
_WORDS = (
    rf"(?P<words>yes\W{{1,4}}{_IN_PART}|partial(?:ly)?|yes|no(?!\W{{1,4}}{_IN_PART}))\b"
    r"(?! (?:and|or) (?:yes|no)\b)"  # neither
)
_FIRST = re.compile(rf"\s*{_WORDS}")
_HEADED = re.compile(rf"(?m)^\s*(?:final )?(?:answer|verdict|rating|agrees)\s*[:：]\s*{_WORDS}")
_LAST = re.compile(rf"(?m)^[\s-]*{_WORDS}[\s.!]*\Z")

_COUNT = r"\s{0,3}(?:[:：=]|\bis\b)\s{0,3}(\d{1,4})\b"
_RELEVANT = re.compile(
    rf"\b(?:true number of supporting facts|(?:relevant|needed)(?: facts)?){_COUNT}"
)
_COVERED = re.compile(rf"\b(?:number of recalls|covered(?: facts)?){_COUNT}")


def rating_of(text: str, task: Task[Any]) -> Fields | None:
    """The fields that a rater's reply names; None where it names none, or for other tasks."""
    match task:
        case StrictRatingTask():
            return _agreement(text, ("yes", "no"))
        case PermissiveRatingTask():
            return _agreement(text, ("yes", "partially", "no"))
        case RecallRatingTask():
            return _recall(text)
    return None


def _agreement(text: str, verdicts: tuple[str, ...]) -> Fields | None:
    plain = text.translate(_EMPHASIS).strip().lower()
    headed = list(_HEADED.finditer(plain))
    found = headed[-1] if headed else _FIRST.match(plain) or _LAST.search(plain)
    if not found:
        return None
    verdict = "partially" if "partial" in found["words"] else found["words"]
    return {"agrees": verdict} if verdict in verdicts else None


def _recall(text: str) -> Fields | None:
    """The last of each count; what stands before them is the analysis."""
    plain = text.translate(_EMPHASIS)
    relevant = list(_RELEVANT.finditer(plain.lower()))
    covered = list(_COVERED.finditer(plain.lower()))
    if not relevant or not covered:
        return None
    begin = min(relevant[-1].start(), covered[-1].start())
    return {
        "analysis": plain[:begin].strip(),
        "relevant": int(relevant[-1][1]),
        "covered": int(covered[-1][1]),
    }
