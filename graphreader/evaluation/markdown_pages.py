"""Tables as Markdown. Names of readers and datasets are data: they never become markup."""

import re
from collections.abc import Iterable, Sequence

from graphreader.evaluation.tables.table import Column, Row, Section, Table, best, footnotes, shown
from graphreader.evaluation.tables.written import DASH, written

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&@]|(?<=:)/(?=/)|(?<=www)\.)")
"""Also what GitHub makes a link or a mention of."""


def plain(text: str) -> str:
    """The text in one line, with nothing that Markdown or HTML would take for its own."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def page(title: str, lead: Sequence[str], tables: Sequence[Table], plots: Sequence[str]) -> str:
    """The whole report. `plots` are files of pictures beside it, each named as its table."""
    parts = [f"# {plain(title)}", *lead]
    for table in tables:
        parts += _table(table)
        parts += [f"![{plain(table.title)}]({one})" for one in plots if _is_of(one, table)]
    return "\n\n".join(parts) + "\n"


def _is_of(plot: str, table: Table) -> bool:
    return plot.rpartition("/")[2].partition(".")[0] == table.name


def _table(table: Table) -> Iterable[str]:
    yield f"## {plain(table.title)}"
    if table.warning:
        yield plain(table.warning)
    for section in table.sections:
        if not section.rows:
            continue
        if section.title:
            yield f"### {plain(section.title)}"
        yield _section(table, section)
    if notes := footnotes(table):
        yield "\n".join(f"- {plain(note)}" for note in notes)


def _section(table: Table, section: Section) -> str:
    places = shown(table, section)
    columns = [table.columns[place] for place in places]
    heads = [plain(column.name) for column in columns]
    aligned = ["---" if column.style == "text" else "---:" for column in columns]
    tops = [
        best(section, place) if table.columns[place].ranked else (None, None) for place in places
    ]
    rows = [
        [
            _cell(row, place, table.columns[place], top)
            for place, top in zip(places, tops, strict=True)
        ]
        for row in section.rows
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, aligned, *rows))


def _cell(row: Row, place: int, column: Column, top: tuple[float | None, float | None]) -> str:
    """The best in bold, the second underlined, what a paper prints in italics."""
    cell = row.cells[place]
    text = plain(written(cell, column.style))
    if row.paper:
        return f"*{text}*" if cell.value is not None else DASH
    if not row.ranked or not isinstance(cell.value, int | float):
        return text
    value, _, rest = text.partition(" ")
    rounded = round(cell.value, 3)
    if rounded == top[0]:
        value = f"**{value}**"
    elif rounded == top[1]:
        value = f"<ins>{value}</ins>"
    return f"{value} {rest}".rstrip()
