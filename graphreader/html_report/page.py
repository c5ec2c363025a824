"""The page as a text. It writes nothing and asks nobody: what it shows is given.

Nothing in it is loaded from anywhere, and its content security policy lets nothing be: of scripts
and styles only those run that are ours, by their hashes, so that a text which got past the escaping
would still be a text.

From a reading to the file of its report; the file is looked at before anything is paid for.
"""

import asyncio
import base64
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from graphreader.errors import UsageError
from graphreader.files import atomic_write
from graphreader.html_report.citations import cited, finalized, shown, written
from graphreader.html_report.graph_view import MOST, drawing, touched_ids
from graphreader.html_report.summary import lanes, spent
from graphreader.reading import Reading
from graphreader.store.catalog import RunSubgraph, run_subgraph
from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import Passage

_ADDED_STYLE = ".__________cytoscape_container { position: relative; }"
"""What cytoscape.js adds to the page itself."""


def render(reading: Reading, passages: Sequence[Passage], touched: RunSubgraph) -> str:
    """The whole page of a reading.

    `passages` are the chunks that it cites, as far as the graph still has them; `touched` what it
    knows of the `touched_ids` of both.
    """
    style, script, library = (
        _data("page.css"),
        _data("page.js"),
        _data("cytoscape/cytoscape.min.js"),
    )
    paths, stated = lanes(reading.paths), cited(reading)
    return _template().render(
        reading=reading,
        cited=stated,
        passages=shown(reading.citations, passages),
        lanes=paths,
        columns=max((len(lane.steps) for lane in paths), default=0),
        drawing=drawing(reading, passages, touched),
        spent=spent(reading, [lane.colour for lane in paths]),
        policy=_policy(scripts=(library, script), styles=(style, _ADDED_STYLE)),
        style=Markup(style),
        script=Markup(script),
        library=Markup(library),
    )


def _policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The content security policy: nothing but these."""
    return (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hashes(texts: Sequence[str]) -> str:
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


@cache
def _data(name: str) -> str:
    """A file of this package, its lines ended by a single sign, as browsers hash them."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = Environment(
        loader=FunctionLoader(_data),
        autoescape=True,
        finalize=finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["written"] = written
    return environment.get_template("page.html")


Target = str | os.PathLike[str]


def check(target: Target) -> Path:
    """The file of that name, `~` being the person's home. Raises UsageError if none can be made.

    It asks the disk itself, by making a file beside it. What is there already stays as it is; a
    pipe is not opened, as that would wait for its reader, or end it.
    """
    name = os.fspath(target)
    if not name or name == "-":
        raise UsageError("A report goes into a file: name one, such as report.html.")
    path = Path(os.path.expanduser(name))
    with _in_words(name):
        if path.is_dir():
            raise UsageError(f"{name} is a folder: name a file in it, such as report.html.")
        real = Path(os.path.realpath(path))
        if path.is_file():
            with path.open("ab"):
                pass
        if path.is_file() or not path.exists():  # into a pipe it goes as it is
            with NamedTemporaryFile(dir=real.parent, prefix=f".{real.name}."):
                pass
    return path


async def write_report(connection: Connection, reading: Reading, target: Target) -> Path:
    """Write the page of a reading, with what the graph knows of it, in place of what is there.

    Raises UsageError where the file cannot be written, and StoreError.
    """
    path = await asyncio.to_thread(check, target)
    explorer = GraphExplorer(connection, reading.corpus)
    places = [(one.document_id, one.chunk) for one in reading.citations]
    passages = await explorer.passages(places)
    known = await run_subgraph(connection, reading.corpus, touched_ids(reading, passages)[:MOST])

    def write() -> None:
        page = render(reading, passages, known)
        with _in_words(str(path)), atomic_write(path) as file:
            file.write(page.encode())

    await asyncio.to_thread(write)
    return path


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"The report cannot be written to {name} ({reason}): name another file."
        ) from error
