"""Contexts that were joined from numbered passages are cut into these again."""

import re

from graphreader.evaluation.datasets.records import SourceText

# LongBench writes "Passage 1:", LV-Eval "### Passage 1"; both "文章" for Chinese.
_MARK = re.compile(
    r"^(?:#{1,6}[ \t]*)?(?P<name>(?:Passage|文章)[ \t]*(?P<number>\d+))[ \t]*(?:[:：][ \t]*|$)",
    re.MULTILINE,
)


def split(context: str, titled: bool, otherwise: str) -> tuple[SourceText, ...]:
    """The passages of a context; all of it as one document called `otherwise` if it has none.

    `titled` says that the first line of each is its title; untitled ones are called by their mark.
    What looks like a mark is one only where it has the next number and the first stands on top.
    """
    marks: list[re.Match[str]] = []
    for mark in _MARK.finditer(context):
        if int(mark["number"]) == len(marks) + 1:
            marks.append(mark)
    if not marks or context[: marks[0].start()].strip():
        return (SourceText(otherwise, context),)
    ends = [*(mark.start() for mark in marks[1:]), len(context)]
    return tuple(
        _passage(context[mark.end() : end].strip(), mark["name"], titled)
        for mark, end in zip(marks, ends, strict=True)
    )


def _passage(text: str, name: str, titled: bool) -> SourceText:
    title, _, rest = text.partition("\n")
    if titled and rest.strip():
        return SourceText(title.strip(), rest.strip())
    return SourceText(name, text)
