"""The page as a text. It writes nothing and asks nobody: what it shows is given.

Nothing in it is loaded from anywhere, and its content security policy lets nothing be: of scripts
and styles only those run that are ours, by their hashes, so that a text which got past the escaping
would still be a text.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from graphreader.reading import Reading
from graphreader.report.citing import cited, shown
from graphreader.report.drawing import drawing
from graphreader.report.foreign import finalized, written
from graphreader.report.spending import spent
from graphreader.report.timeline import lanes
from graphreader.store.found import Passage
from graphreader.store.touched import Touched

_ADDED_STYLE = ".__________cytoscape_container { position: relative; }"
"""What cytoscape.js adds to the page itself."""


def render(reading: Reading, passages: Sequence[Passage], touched: Touched) -> str:
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
