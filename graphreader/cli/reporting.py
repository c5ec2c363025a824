"""`--report FILE`: the page to hand on, for the commands that come to a reading."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.failing import complain
from graphreader.errors import GraphReaderError

if TYPE_CHECKING:
    from graphreader.graph_reader import GraphReader
    from graphreader.reading import Reading


ReportOption = Annotated[
    str | None,
    typer.Option("--report", help="Write one HTML page to hand on.", metavar="FILE"),
]


def check_report(target: str | None) -> None:
    """Raise UsageError where no report can be written, before anything is paid for."""
    if target is not None:
        from graphreader.html_report.page import check

        check(target)


def make_report(reader: "GraphReader", reading: "Reading", target: str | None) -> None:
    """Write it, if one is wanted, and say where it is; stdout may be JSON."""
    if target is None:
        return
    try:
        complain(f"The report is in {reader.report(reading, target)}")
    except GraphReaderError:
        if reading.run:
            command = f"graphreader runs show {shlex.quote(reading.run)} --report FILE"
            complain(f"The run is kept: `{command}` makes its report.")
        raise
