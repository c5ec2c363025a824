"""`graphreader report`: the papers' tables and plots of an evaluation that was made before."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.failing import complain
from graphreader.cli.printing import JsonFlag, as_line, print_json, table_console, working

if TYPE_CHECKING:
    from rich.console import Console

    from graphreader.evaluation.tables.table import Section, Table

_ROOMY = 150


def report(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder that `graphreader evaluate` filled.")
    ],
    json: JsonFlag = False,
) -> None:
    """Make the papers' tables and plots out of an evaluation, in DIR/report."""
    with working("Making tables and plots"):
        from graphreader.evaluation.reporting import write_report

        written = write_report(Path(folder).expanduser())
    for note in written.notes:
        complain(note)
    if json:
        from graphreader.evaluation.tables_as_data import as_json

        files = [str(path) for path in written.files]
        print_json({**as_json(written.tables[0]), "files": files})
        return
    out = table_console()
    for section in written.tables[0].sections:
        _print_section(out, written.tables[0], section)
    for path in written.files:
        out.print(as_line(str(path)), soft_wrap=True)


def _print_section(out: "Console", table: "Table", section: "Section") -> None:
    """What readers have in one dataset; what a paper prints is dim.

    Where it is narrow, intervals stand in the files only.
    """
    from rich.table import Table as Drawn

    from graphreader.evaluation.tables.table import shown
    from graphreader.evaluation.tables.written import figure, written

    places = shown(table, section)
    drawn = Drawn(
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
        title=as_line(section.title, "bold"),
        title_justify="left",
    )
    for place in places:
        is_text = table.columns[place].style == "text"
        justify = "left" if is_text else "right"
        drawn.add_column(table.columns[place].name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in section.rows:
        told = [(row.cells[place], table.columns[place].style) for place in places]
        roomy = out.width >= _ROOMY
        cells = [written(*one) if roomy else figure(one[0].value, one[1]) for one in told]
        style = "dim italic" if row.paper else ""
        drawn.add_row(*(as_line(cell, style) for cell in cells))
    out.print(drawn)
    out.print()
