"""What marks the parts of a reply in plain words: headings, and numbers in brackets."""

import re
from collections.abc import Sequence

_HEADINGS = {
    "notebook": "(?:updated |condensed |joined )?notebook",
    "quotes": "quotes?",
    "rationale": "rationale(?: for (?:the )?next action)?",
    "action": "(?:chosen |next )?(?:action|function)",
    "analysis": "analy[sz]e|analysis",
    "answer": "(?:final )?answer",
    "citations": "citations?|cited quotes",
    "claims": "claims?",
    "contradictions": "contradictions?",
    "needs": "(?:information )?needs",
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
_SET_OFF = re.compile(r"```\w*|---+|#+")
_NUMBERS = re.compile(
    r"\s?\[\s*(\d{1,6}(?:\s*[,，;、]\s*\d{1,6})*)\s*\](?:\s{0,3}[,，;、](?=\s{0,3}\[\s{0,3}\d))?"
)
_BEHIND_THE_END = re.compile(rf"([.!?。！？]{{1,3}})((?:{_NUMBERS.pattern})+)")


def sections_of(text: str, kinds: Sequence[str]) -> dict[str, str]:
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
    sections = {"": bare(text[: found[0][1].start()])}
    for (kind, heading), end in zip(found, ends, strict=True):
        sections[kind] = bare(text[heading.end() : end])
    return {kind: section for kind, section in sections.items() if section}


def bare(section: str) -> str:
    """Without what only sets it off: white space, fences, rules."""
    lines = section.splitlines()
    return "\n".join(line for line in lines if not _SET_OFF.fullmatch(line.strip())).strip()


def numbers_in(text: str) -> list[int]:
    """All numbers in brackets."""
    groups = (found[1] for found in _NUMBERS.finditer(text))
    return [int(number) for group in groups for number in re.findall(r"\d+", group)]


def without_numbers(text: str) -> str:
    """The words alone."""
    return _NUMBERS.sub("", text).strip()


def with_numbers_inside(text: str) -> str:
    """Numbers behind a sentence's end are put before it: they belong to that sentence."""
    return _BEHIND_THE_END.sub(lambda found: found[2] + found[1], text)
