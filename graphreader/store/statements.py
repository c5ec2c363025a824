"""The catalogue of Cypher statements: one file a statement, under `cypher/`.

A statement is named by its folder and file, "read/chunk". Where the supported versions of Neo4j
need different words, there is a file a dialect: `search_by_vector.2026.cypher`, `....5.cypher`.
"""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from graphreader.errors import SchemaError

DIALECTS = ("2026", "5")


@cache
def statement(name: str, dialect: str = DIALECTS[0]) -> str:
    """The text of a statement in a dialect. Values are parameters of it, never parts of the text.

    Raises FileNotFoundError for a name that there is not.
    """
    folder, _, stem = name.partition("/")
    place = _root() / folder
    special = place / f"{stem}.{dialect}.cypher"
    file = special if special.is_file() else place / f"{stem}.cypher"
    return file.read_text(encoding="utf-8")


def dialect_of(version: str) -> str:
    """The dialect that a server's version speaks, by "2026.08.1", "5.26.30" or "5.27-aura".

    Raises SchemaError for a version that is too old.
    """
    numbers = [int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit()]
    if numbers >= [2026]:
        return "2026"
    if numbers >= [5, 26]:
        return "5"
    raise SchemaError(
        f"This is Neo4j {version}; GraphReader needs 5.26 or 2026: upgrade the server, or unset "
        "NEO4J_URI to use the embedded one."
    )


def _root() -> Traversable:
    """`cypher/` of the installed package, else of the checkout."""
    installed = files("graphreader") / "cypher"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "cypher"
