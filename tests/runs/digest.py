"""All that the graph knows of one corpus, in lines that can be compared, and a digest of them.

One line a node and one a relationship, sorted: the order in which they were written makes no
difference, and everything else does: labels, types, ends, ids and every property but times. Kept
runs are no part of it: asking changes nothing.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from neo4j import GraphDatabase

from graphreader.settings import Settings

TIMES = ("created", "updated")

_NODES = """
MATCH (n) WHERE NOT n:Run|Path|Step AND (n.corpus = $corpus OR n:Corpus AND n.name = $corpus)
RETURN labels(n) AS labels, coalesce(n.id, n.name) AS id, properties(n) AS properties
"""
_RELATIONSHIPS = """
MATCH (n)-[r]-(other)
WHERE NOT n:Run|Path|Step AND NOT other:Run|Path|Step
  AND (n.corpus = $corpus OR n:Corpus AND n.name = $corpus)
WITH DISTINCT r
RETURN type(r) AS type, properties(r) AS properties,
       coalesce(startNode(r).id, startNode(r).name) AS start,
       coalesce(endNode(r).id, endNode(r).name) AS end
"""


def content(settings: Settings, corpus: str) -> list[str]:
    """A line for everything that belongs to the corpus or is tied to it."""
    nodes = [
        f"({row['id']}:{':'.join(sorted(row['labels']))} {_shown(row['properties'])})"
        for row in rows(settings, _NODES, corpus=corpus)
    ]
    relationships = [
        f"({row['start']})-[:{row['type']} {_shown(row['properties'])}]->({row['end']})"
        for row in rows(settings, _RELATIONSHIPS, corpus=corpus)
    ]
    return sorted(nodes) + sorted(relationships)


def rows(settings: Settings, statement: str, **values: Any) -> list[dict[str, Any]]:
    """The rows of a statement, from a driver that is not the product's."""
    with connected(settings) as run:
        return run(statement, values)


@contextmanager
def connected(settings: Settings) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """A function that gives the rows of a statement with these values, all by one driver."""
    password = settings.neo4j_password
    with GraphDatabase.driver(
        settings.neo4j_uri or "",
        auth=(settings.neo4j_username, password.get_secret_value() if password else ""),
        notifications_min_severity="OFF",
    ) as driver:

        def run(statement: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
            given = dict(values)
            found = driver.execute_query(statement, given, database_=settings.neo4j_database)
            return [record.data() for record in found.records]

        yield run


def digest(settings: Settings, corpus: str) -> str:
    """The same in 64 hexadecimal digits."""
    return sha256("\n".join(content(settings, corpus)).encode()).hexdigest()


def _shown(properties: Mapping[str, Any]) -> str:
    """Properties as JSON; a vector by a digest of its own, so that lines can be read."""
    kept = {name: value for name, value in properties.items() if name not in TIMES}
    if "embedding" in kept and isinstance(kept["embedding"], list):
        rounded = [
            round(value, 6) for value in kept["embedding"]
        ]  # sums differ by Python's version
        kept["embedding"] = sha256(json.dumps(rounded).encode()).hexdigest()[:12]
    return json.dumps(kept, ensure_ascii=False, sort_keys=True, default=str)
