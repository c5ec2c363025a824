"""The normal form of one corpus: what is merged in it, and which key elements are hubs.

The base graph is what extraction wrote. A merge keeps it beside (MERGED_KEY_ELEMENT), so it can be
taken back. Every step is safe to repeat. Nothing is decided here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphreader.store.connection import Connection, Row, Run
from graphreader.store.locking import alone

FACTS_A_WRITE = 2000
ELEMENTS_A_WRITE = 500


@dataclass(frozen=True, slots=True)
class Merged:
    """A key element that is merged; `moved` if all of its facts are led to what it went into."""

    into: str
    by: str
    moved: bool


class NormalForm:
    """Reads what normalization looks at, and writes what it decides, in one corpus."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def base(self, ids: Iterable[str]) -> list[Row]:
        """Return those of the key elements that exist: id, key, name, facts of the base graph."""
        wanted = sorted(ids)
        return await self._connection.read("read/base_key_elements", ids=wanted) if wanted else []

    async def frequent(self, least: int) -> list[Row]:
        """Return the key elements with at least so many facts of the base graph, as `base` does."""
        return await self._read("read/frequent_key_elements", least=least)

    async def companions(self, ids: Iterable[str], facts: int) -> list[tuple[str, str]]:
        """Return pairs of a key element and what else so many facts of it name, whichever."""
        rows = await self._connection.read("read/companions", ids=sorted(ids), facts=facts)
        return [(row["id"], row["other"]) for row in rows]

    async def common_facts(self, pairs: Iterable[tuple[str, str]]) -> list[Row]:
        """Return how many facts of the base graph name both of each pair: a, b, facts."""
        wanted = [list(pair) for pair in sorted(pairs)]
        return await self._connection.read("read/common_facts", pairs=wanted) if wanted else []

    async def merged(self) -> dict[str, Merged]:
        """Return what is merged now, by its id."""
        rows = await self._read("read/merged_key_elements")
        return {row["id"]: Merged(row["into"], row["by"], row["moved"]) for row in rows}

    async def merge(self, merges: Sequence[tuple[str, str, str]]) -> None:
        """Merge key elements: the id of each, that of another one, and by what stage."""
        rows = [{"id": id_, "into": into, "by": by} for id_, into, by in sorted(merges)]
        for start in range(0, len(rows), ELEMENTS_A_WRITE):
            part = rows[start : start + ELEMENTS_A_WRITE]
            ids = sorted({row[end] for row in part for end in ("id", "into")})

            async def step(run: Run, ids: list[str] = ids, part: list[Row] = part) -> None:
                await run("write/mark_stale", ids=ids)
                await run("write/merge_key_elements", merges=part)

            await alone(self._connection, self._corpus, step)
        await self.move([(id_, into) for id_, into, _ in merges])

    async def move(self, merged: Sequence[tuple[str, str]]) -> None:
        """Lead all facts of merged key elements to what each is merged into."""
        await self._in_steps("write/move_facts", merged)

    async def part(self, merged: Sequence[tuple[str, str]]) -> None:
        """Take merges back: of each, its id and that of what it is merged into."""
        await self._in_steps("write/return_facts", merged, last="write/part_key_elements")

    async def hubs(self, most: int) -> list[Row]:
        """Return what has more facts than that, and what is flagged: id, name, facts, hub."""
        return await self._read("read/hubs", most=most)

    async def counted_together(self, groups: Mapping[str, Sequence[str]]) -> dict[str, Row]:
        """Return by id, as `hubs` does, how many facts each would have with those of its group."""
        rows = [{"id": id_, "members": sorted(ids)} for id_, ids in sorted(groups.items())]
        found = await self._connection.read("read/group_facts", groups=rows) if rows else []
        return {row["id"]: row for row in found}

    async def count_facts(self) -> int:
        """How many facts there are."""
        return int((await self._read("read/count_facts"))[0]["number"])

    async def flag(self, flags: Sequence[tuple[str, bool]]) -> None:
        """Say of key elements whether they are hubs."""
        rows = [{"id": id_, "hub": hub} for id_, hub in sorted(flags)]
        if rows:
            await alone(
                self._connection, self._corpus, lambda run: run("write/flag_hubs", flags=rows)
            )

    async def _in_steps(
        self, name: str, merged: Sequence[tuple[str, str]], last: str | None = None
    ) -> None:
        """Run a statement on key elements until no fact is left, a bounded part in a transaction.

        `last` goes with its last step.
        """
        pairs = sorted(merged)
        for start in range(0, len(pairs), ELEMENTS_A_WRITE):
            part = pairs[start : start + ELEMENTS_A_WRITE]
            ids = [id_ for id_, _ in part]
            touched = sorted({id_ for pair in part for id_ in pair})

            async def step(run: Run, ids: list[str] = ids, touched: list[str] = touched) -> bool:
                await run("write/mark_stale", ids=touched)
                moved = (await run(name, ids=ids, limit=FACTS_A_WRITE))[0]["moved"]
                if moved < FACTS_A_WRITE and last:
                    await run(last, ids=ids)
                return bool(moved == FACTS_A_WRITE)

            while await alone(self._connection, self._corpus, step):
                pass

    async def _read(self, name: str, **values: object) -> list[Row]:
        return await self._connection.read(name, corpus=self._corpus, **values)
