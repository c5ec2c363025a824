"""Stored joins of names: which key elements mean another one within one document.

A join leads the facts of the document to what the name means there. It is stored with the
document, so that it can be undone alone; every write can be repeated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from graphreader.store.connection import Connection

FACTS_PER_WRITE = 2000

BY_RULES = "rules"  # the decider of a join that no model decided
BY_PERSON = "person"  # of a record that a name means nothing else in the document, so itself
BY_MODEL = "model"  # what marks a document whose names a model was asked about, too


@dataclass(frozen=True, slots=True, order=True)
class Join:
    """A join of the key element `id` `into` another in one document, `by` rules or a model.

    A person may decide that a name is not joined: then `id` and `into` are equal.
    """

    id: str
    into: str
    by: str = BY_RULES


@dataclass(frozen=True, slots=True)
class DocumentJoins:
    """The joins of a document, by id; `asked` identifies the names that a model was asked about.

    `is_base`: the document has no record of joins, so none of its facts is led by any.
    """

    id: str
    title: str = ""
    joins: tuple[Join, ...] = ()
    asked: str = ""
    is_base: bool = False

    @property
    def by_person(self) -> tuple[Join, ...]:
        """The records of names that a person took out of a join."""
        return tuple(one for one in self.joins if one.by == BY_PERSON)


@dataclass(frozen=True, slots=True)
class DocumentName:
    """A name in the facts of a document: its key element, and the frequency of its wordings."""

    id: str
    key: str
    surfaces: dict[str, int] = field(default_factory=dict)

    @property
    def facts(self) -> int:
        """The number of facts that have the name."""
        return sum(self.surfaces.values())

    @property
    def name(self) -> str:
        """The most frequent wording."""
        return min(self.surfaces, key=lambda one: (-self.surfaces[one], one))


class NameJoins:
    """The joins of names of one corpus in the graph."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def due(self, *, by_model: bool) -> list[DocumentJoins]:
        """Return the documents whose names are to be joined, by rules or also by a model."""
        enough = [BY_MODEL] if by_model else [BY_RULES, BY_MODEL]
        return await self._documents(parted=False, enough=enough)

    async def joined(self) -> list[DocumentJoins]:
        """Return the documents that have joins, or were looked through for them."""
        return await self._documents(parted=True, enough=[])

    async def _documents(self, *, parted: bool, enough: list[str]) -> list[DocumentJoins]:
        rows = await self._connection.read(
            "read/unnamed_documents", corpus=self._corpus, parted=parted, enough=enough
        )
        return [
            DocumentJoins(
                row["id"],
                row["title"],
                tuple(map(Join, row["joined"], row["joined_into"], row["joined_by"])),
                row["asked"] or "",
                row["is_base"],
            )
            for row in rows
        ]

    async def names(self, documents: Sequence[str]) -> dict[str, list[DocumentName]]:
        """Return the names in the facts of documents, as extraction gave them."""
        found: dict[str, list[DocumentName]] = {document: [] for document in documents}
        for row in await self._connection.read(
            "read/names_of_documents", corpus=self._corpus, documents=list(documents)
        ):
            names: dict[str, DocumentName] = {}
            for id_, key, surface, facts in row["names"]:
                names.setdefault(id_, DocumentName(id_, key, {})).surfaces[surface] = facts
            found[row["document"]] = list(names.values())
        return found

    async def texts(self, documents: Sequence[str]) -> dict[str, str]:
        """Return the texts of documents."""
        rows = await self._connection.read(
            "read/texts_of_documents", corpus=self._corpus, documents=list(documents)
        )
        return {document: "" for document in documents} | {
            row["document"]: "".join(row["texts"]) for row in rows
        }

    async def mark(self, documents: Sequence[str], named: str | None) -> None:
        """Mark documents without joins, now and before: by rules or a model, or not at all."""
        await self._connection.write(
            "write/mark_without_joins",
            lock=self._corpus,
            corpus=self._corpus,
            documents=list(documents),
            named=named,
        )

    async def record(self, document: DocumentJoins) -> None:
        """Store the joins of a document; the next normalization leads its facts by them."""
        joins = sorted(document.joins)
        await self._connection.write(
            "write/joins",
            lock=self._corpus,
            corpus=self._corpus,
            document=document.id,
            joined=[one.id for one in joins],
            joined_into=[one.into for one in joins],
            joined_by=[one.by for one in joins],
            asked=document.asked or None,
        )

    async def store(self, document: DocumentJoins, named: str | None) -> None:
        """Store the joins of a document and lead its facts by them, decided by rules or a model.

        `named` is "rules", "model", or None for a document whose joins are undone.
        """
        await self.record(document)
        rows = await self._connection.read(
            "read/facts_to_name",
            corpus=self._corpus,
            document=document.id,
            ids=[one.id for one in document.joins],
        )
        facts = [row["id"] for row in rows]
        for start in range(0, len(facts), FACTS_PER_WRITE):
            page = facts[start : start + FACTS_PER_WRITE]
            await self._connection.write(
                "write/name_facts", lock=self._corpus, facts=page, parted=[]
            )
        await self._connection.write(
            "write/mark_named",
            lock=self._corpus,
            corpus=self._corpus,
            document=document.id,
            named=named,
        )
