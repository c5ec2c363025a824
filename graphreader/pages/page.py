"""The page of a report. Its content security policy allows only our scripts and styles."""

import asyncio
import base64
import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from graphreader.agent.functions import FUNCTIONS
from graphreader.documents import Chunk, without_controls
from graphreader.errors import UsageError
from graphreader.files import atomic_write
from graphreader.pages.citations import (
    answer_title,
    cited_answer,
    cited_passages,
    language_attributes,
)
from graphreader.pages.graph_view import MOST_NODES, draw_graph, visited_ids
from graphreader.pages.summary import cost_tables, timeline
from graphreader.reading import Reading
from graphreader.scope import Scope
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.run_graph import RunSubgraph, run_subgraph
from graphreader.text.sentences import language_of

CYTOSCAPE_STYLE = ".__________cytoscape_container { position: relative; }"
"""The style that cytoscape.js adds to the page."""


def render(reading: Reading, chunks: Sequence[Chunk], subgraph: RunSubgraph) -> str:
    """The whole page of a reading with the cited chunks and the subgraph that the graph has."""
    library, drawing, script = map(_data, ("cytoscape/cytoscape.min.js", "drawing.js", "page.js"))
    return fill(
        "page.html",
        scripts=(library, drawing, script),
        styles=(CYTOSCAPE_STYLE,),
        library=Markup(library),
        drawing_script=Markup(drawing),
        script=Markup(script),
        **sections(reading, chunks, subgraph),
    )


def sections(
    reading: Reading,
    chunks: Sequence[Chunk],
    subgraph: RunSubgraph,
    active_paths: Collection[int] = (),
    *,
    is_over: bool = True,
    is_running: bool = False,
) -> dict[str, Any]:
    """The values of `run.html`, the sections of a run; the `active_paths` have not ended.

    A run that is neither running nor over was stopped, or has failed.
    """
    words = _words(language := language_of(reading.question))
    chunk = words.get("chunk", "chunk")
    names = {one.id: one.name for one in subgraph.elements}
    names |= {one.id: f"{one.document}, {chunk} {one.index}" for one in subgraph.chunks}
    ending = "under way" if is_running else "stopped"
    lanes = timeline(reading.paths, names, dict.fromkeys(active_paths, ending))
    return {
        "reading": reading,
        "page_language": language,
        "say": lambda text: words.get(text, text),
        "is_over": is_over,
        "is_running": is_running,
        "answer_title": answer_title(reading) if is_over else "The answer so far",
        "cited": cited_answer(reading),
        "passages": cited_passages(reading.citations, chunks),
        "lanes": lanes,
        "timed": [lane for lane in lanes if not lane.is_turns],
        "columns": max((len(lane.steps) for lane in lanes if not lane.is_turns), default=0),
        "drawing": draw_graph(reading, chunks, subgraph, chunk),
        "cost": cost_tables(reading),
        "functions": list(FUNCTIONS.values()),
    }


@cache
def _words(language: str) -> Mapping[str, str]:
    """The page's own words in a language, by the English words; empty for English."""
    if language == "en":
        return {}
    words: dict[str, str] = json.loads(_data(f"words.{language}.json"))
    for one in FUNCTIONS.values():
        words |= zip((one.title, one.legend), one.chinese, strict=True)
    return words


def fill(
    template: str,
    *,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    images: str = "'none'",
    **values: object,
) -> str:
    """Render a template of this package with our style; the page allows only these resources."""
    style = _data("page.css")
    policy = _policy(scripts, (style, *styles), images)
    return (
        _environment().get_template(template).render(policy=policy, style=Markup(style), **values)
    )


def _policy(scripts: Sequence[str], styles: Sequence[str], images: str) -> str:
    """The content security policy: these scripts and styles, by their hashes, and images."""

    def hashes(texts: Sequence[str]) -> str:
        return " ".join(map(digest, texts)) or "'none'"

    return (
        f"default-src 'none'; script-src {hashes(scripts)}; style-src {hashes(styles)}; "
        f"img-src {images}; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """The hash of a script or style, as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _data(name: str) -> str:
    """The text of a file of this package, with the line ends that browsers hash."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def environment(*loaders: BaseLoader) -> Environment:
    """The environment of templates from these loaders and from this package."""
    made = Environment(
        loader=ChoiceLoader([*loaders, FunctionLoader(_data)]),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["language"] = language_attributes
    return made


_environment = cache(environment)


def _finalize(value: object) -> object:
    """Values for the template: texts without control characters, our own markup unchanged."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return without_controls(value, " ")
    return value


Target = str | os.PathLike[str]


def check(target: Target) -> Path:
    """Return the path of a report after a check that it can be written. Raises UsageError."""
    name = os.fspath(target)
    path = Path(os.path.expanduser(name))
    with _usage_errors(name):
        if not name or name == "-" or path.is_dir():
            raise UsageError(f"A report goes into a file: {name!r} is none, name report.html.")
        if path.is_file() or not path.exists():
            with NamedTemporaryFile(dir=path.resolve().parent):
                pass
    return path


async def visited_part(
    connection: Connection, reading: Reading, places: Sequence[tuple[str, int]] = ()
) -> tuple[list[Chunk], RunSubgraph]:
    """The cited chunks of a reading, and the first MOST_NODES nodes of the run in the graph.

    Without citations the chunks at `places` (document's id, index) are taken. Raises StoreError.
    """
    documents = None
    if reading.scope:
        scope = Scope.of(reading.scope)
        documents = await Catalog(connection).in_scope(reading.corpus, scope, may_lack=True)
    cited = [(one.document_id, one.chunk) for one in reading.citations]
    chunks = await GraphExplorer(connection, reading.corpus, documents).chunks(cited or places)
    ids = visited_ids(reading, chunks)[:MOST_NODES]
    return chunks, await run_subgraph(connection, reading.corpus, ids, documents)


async def write_report(connection: Connection, reading: Reading, target: Target) -> Path:
    """Write the page of a reading; replaces a file. Raises UsageError and StoreError."""
    path = await asyncio.to_thread(check, target)
    chunks, subgraph = await visited_part(connection, reading)

    def write() -> None:
        page = render(reading, chunks, subgraph)
        with _usage_errors(str(path)), atomic_write(path) as file:
            file.write(page.encode())

    await asyncio.to_thread(write)
    return path


@contextmanager
def _usage_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"The report cannot be written to {name} ({reason}): name another file."
        ) from error
