"""Blocks of a text by their form: tables with a header row, code, and items of lists.

Rules recognize them in the text of any format, without a model.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from graphreader.text.lines import Span, lines_of

_FENCE = re.compile(r"`{3,}(?!.*`)")
_ITEM = re.compile(r"([-*+•](?! [-*] )|\d{1,3}[.)]|[a-z]\)|\([a-z\d]{1,3}\))[ \t]+(?=\S)")
_ROW = re.compile(r"\|.*\S|[^|\n]+ \|(?: .*)?|.*\t.*")


class Block(NamedTuple):
    """A block: its span in characters, and its label.

    The label of a table is its header row, of an item its number or sign, of code its language.
    """

    kind: Literal["table", "code", "item"]
    start: int
    end: int
    label: str = ""


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the blocks of a text in order; an item ends before a blank line.

    A table has two rows or more: lines with "|" or with tabs. Code stands between fences.
    """
    block: Block | None = None
    for (start, stop), after_blank, code in lines_with_code(text):
        line = text[start:stop]
        if block and (after_blank or code or not _goes_on(block, line)):
            if _is_whole(text, block):
                yield block
            block = None
        if code:
            if start == code[0]:
                yield Block("code", *code, line.strip("` \t"))
        elif block:
            block = block._replace(end=stop)
        elif mark := _ITEM.match(line):
            block = Block("item", start, stop, mark[1])
        elif _ROW.fullmatch(line):
            block = Block("table", start, stop, line)
    if block and _is_whole(text, block):
        yield block


def _goes_on(block: Block, line: str) -> bool:
    if block.kind == "table":
        return bool(_ROW.fullmatch(line))
    return not (_ITEM.match(line) or _ROW.fullmatch(line))


def _is_whole(text: str, block: Block) -> bool:
    return block.kind != "table" or "\n" in text[block.start : block.end]


def lines_with_code(text: str) -> Iterator[tuple[Span, bool, Span | None]]:
    """Yield the lines that are not blank, as `lines_of` does, each with the code that it is in."""
    codes = code_spans(text)
    code = next(codes, None)
    for line, after_blank in lines_of(text):
        if code and line[0] >= code[1]:
            code = next(codes, None)
        yield line, after_blank, code if code and line[0] >= code[0] else None


def code_spans(text: str) -> Iterator[Span]:
    """Yield the spans of code between fences of backticks; a fence that is not closed is none."""
    if "```" not in text:
        return
    begin, fence = 0, ""
    for (start, end), _ in lines_of(text):
        line = text[start:end]
        if not line.startswith("```"):
            continue
        if fence and line.startswith(fence) and not line.strip("`"):
            yield begin, end
            fence = ""
        elif not fence and (opening := _FENCE.match(line)):
            begin, fence = start, opening[0]
