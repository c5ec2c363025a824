"""Facts of one corpus that are led to key elements which extraction did not list for them."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from itertools import count

from graphreader.store.connection import Connection, Row, Run, alone

CHUNKS_A_PAGE = 20
ELEMENTS_A_PAGE = 2000

Link = tuple[str, str, str]
"""The ids of a fact and of a key element, and the wording in the fact."""


@dataclass(frozen=True, slots=True)
class Naming:
    """A fact, the ids of what it names (merges followed), and where it is linked to beside that."""

    fact: str
    text: str
    named: frozenset[str]
    linked: frozenset[Link]


@dataclass(frozen=True, slots=True)
class Worded:
    """The wordings of a key element of the base graph; `node` is what it is merged into, or it."""

    node: str
    surfaces: tuple[str, ...]


class Links:
    """Reads facts page by page, however many there are, and writes links."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def made(self) -> bool:
        """Whether there may be links."""
        rows = await self._connection.read("read/linked_corpus", corpus=self._corpus)
        return bool(rows)

    async def begin(self) -> None:
        """Remember that there may be links from now on."""
        values = {"corpus": self._corpus, "linked": True}
        await self._connection.write([("write/linked_corpus", values)])

    async def end(self) -> None:
        """Remember that no link is left."""
        values = {"corpus": self._corpus, "linked": None}
        await self._connection.write([("write/linked_corpus", values)])

    async def wordings(self) -> AsyncIterator[str]:
        """Go through all wordings of all key elements."""
        after = ""
        while True:
            rows = await self._connection.read(
                "read/wordings", corpus=self._corpus, after=after, limit=ELEMENTS_A_PAGE
            )
            for row in rows:
                for surface in row["surfaces"]:
                    yield surface
            if len(rows) < ELEMENTS_A_PAGE:
                return
            after = rows[-1]["id"]

    async def facts(self) -> AsyncIterator[list[Naming]]:
        """Go through all facts, a page at a time."""
        for document in await self._connection.read("read/document_ids", corpus=self._corpus):
            for skip in count(0, CHUNKS_A_PAGE):
                rows = await self._connection.read(
                    "read/named_by_facts", document=document["id"], skip=skip, limit=CHUNKS_A_PAGE
                )
                yield [_naming(fact) for row in rows for fact in row["facts"]]
                if len(rows) < CHUNKS_A_PAGE:
                    break

    async def worded(self, ids: Iterable[str]) -> dict[str, Worded]:
        """Return those of some ids that are key elements."""
        rows = await self._connection.read("read/worded_key_elements", ids=sorted(ids))
        return {row["id"]: Worded(row["node"], tuple(row["surfaces"])) for row in rows}

    async def change(self, added: Iterable[Link], gone: Iterable[Link]) -> None:
        """Write links, and take others away, in one transaction; their elements are stale then."""
        new, old = _rows(added), _rows(gone)
        ids = sorted({row["element"] for row in (*new, *old)})

        async def work(run: Run) -> None:
            await run("write/mark_stale", ids=ids)
            await run("write/unlink_facts", links=old)
            await run("write/link_facts", links=new)

        await alone(self._connection, self._corpus, work)


def _naming(fact: Row) -> Naming:
    linked = frozenset((fact["id"], element, surface) for element, surface in fact["linked"])
    return Naming(fact["id"], fact["text"], frozenset(fact["named"]), linked)


def _rows(links: Iterable[Link]) -> list[Row]:
    return [
        {"fact": fact, "element": element, "surface": surface}
        for fact, element, surface in sorted(links)
    ]
