"""Blocks of a text by their form: tables with a header row, code, and items of lists.

Rules recognize them in the text of any format, without a model.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from graphreader.text.headings import line_spans

_FENCE = re.compile(r"`{3,}(?!.*`)|~{3,}")
_ITEM = re.compile(r"([-*+•]|\d{1,3}[.)]|[a-z][.)]|\([a-z\d]{1,3}\))[ \t]+(?=\S)")
_ROW = re.compile(r"\|.*\S|[^|\n]+ \|(?: .*)?|.*\t.*")
_RULE = re.compile(r"[|:+ \t-]*-[|:+ \t-]*")


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
    fence = ""
    for start, end in line_spans(text):
        line = text[start:end]
        is_below = block is not None and text.count("\n", block.end, start) < 2
        if fence:
            assert block
            block = block._replace(end=end)
            if line.startswith(fence) and not line.strip(fence[0]):
                fence = ""
                yield block
                block = None
            continue
        if block and block.kind == "table" and is_below and _ROW.fullmatch(line):
            block = block._replace(end=end)
            continue
        mark = _ITEM.match(line)
        is_row = not mark and _ROW.fullmatch(line)
        opening = _FENCE.match(line)
        if block and block.kind == "item" and is_below and not (mark or is_row or opening):
            block = block._replace(end=end)
            continue
        if block and _is_whole(text, block):
            yield block
        block = None
        if opening:
            fence = opening[0]
            block = Block("code", start, end, line[opening.end() :].strip())
        elif mark:
            block = Block("item", start, end, mark[1])
        elif is_row:
            block = Block("table", start, end, line)
    if block and _is_whole(text, block):
        yield block


def _is_whole(text: str, block: Block) -> bool:
    return block.kind != "table" or "\n" in text[block.start : block.end]
