"""`graphreader report`: the papers' tables and plots of an evaluation that was made before."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.failing import complain
from graphreader.cli.printing import JsonFlag, as_line, print_json, table_console, working

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from graphreader.evaluation.tables import Column, Section, Table


_FIRST_LEFT_OUT = ("Answered", "Window", "Of golden", "ROUGE-2", "ROUGE-1", "LR-2", "EM")
"""Columns for which a narrow terminal has no room, in this order."""

_BETWEEN = 2


def report(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder that `graphreader evaluate` filled.")
    ],
    json: JsonFlag = False,
) -> None:
    """Make the papers' tables and plots out of an evaluation, in DIR/report."""
    with working("Making tables and plots"):
        from graphreader.evaluation.report import write_report

        written = write_report(Path(folder).expanduser())
    for note in written.notes:
        complain(note)
    main = written.tables[0]
    if json:
        from graphreader.evaluation.tables import as_json

        files = [str(path) for path in written.files]
        print_json({**as_json(main), "files": files})
        return
    out = table_console()
    if main.warning:
        out.print(as_line(main.warning, "bold"))
        out.print()
    for section in main.sections:
        _print_section(out, main, section)
    _print_files(out, written.files)


def _print_section(out: "Console", table: "Table", section: "Section") -> None:
    """What readers have in one dataset, as much of it as there is room for; the paper's is dim."""
    from rich.table import Table as Drawn

    columns = _fitting(table, section, out.width)
    drawn = Drawn(box=None, padding=(0, _BETWEEN, 0, 0), header_style="dim", pad_edge=False)
    for column, _ in columns:
        justify = "left" if column.style == "text" else "right"
        drawn.add_column(column.name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for number, row in enumerate(section.rows):
        style = "dim italic" if row.paper else ""
        drawn.add_row(*(as_line(told[number], style) for _, told in columns))
    out.print(as_line(section.title, "bold"))
    out.print(drawn)
    out.print()


def _fitting(
    table: "Table", section: "Section", width: int
) -> "Sequence[tuple[Column, Sequence[str]]]":
    """The columns, with what stands in them, that are no wider than the terminal.

    First the intervals go, then the columns that tell least.
    """
    from graphreader.evaluation.tables import format_cell, visible_columns

    all_, plain = (
        [
            (
                column,
                [format_cell(row[column.name], column.style, interval=one) for row in section.rows],
            )
            for column in visible_columns(table, section)
        ]
        for one in (True, False)
    )
    if _width(all_) <= width:
        return all_
    for name in _FIRST_LEFT_OUT:
        if _width(plain) <= width:
            break
        plain = [one for one in plain if one[0].name != name]
    return plain


def _width(columns: "Sequence[tuple[Column, Sequence[str]]]") -> int:
    """Cells of a terminal that they take."""
    from rich.cells import cell_len

    wide = (max(map(cell_len, (column.name, *told))) for column, told in columns)
    return sum(one + _BETWEEN for one in wide)


def _print_files(out: "Console", files: "Sequence[Path]") -> None:
    """Where the rest is: intervals, all other tables, the notes, and the pictures."""
    page, data, *others = files
    out.print(as_line(f"All tables, with intervals and notes: {page}"), soft_wrap=True)
    out.print(as_line(f"The same for programs: {data}"), soft_wrap=True)
    for kind, words in ((".csv", "Each as CSV there"), (".png", "Pictures there (PNG, SVG)")):
        if names := [path.stem for path in others if path.suffix == kind]:
            out.print(as_line(f"{words}: {', '.join(names)}"))
