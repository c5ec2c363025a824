"""The actions of a turn, carried out concurrently: searches, nodes, chunks and outlines.

Each action brings chunks, which `results` numbers and words for the prompt, and a line of text.
The graph is asked once for all searches of a turn and once for all names.
"""

import asyncio
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from graphreader.agent.adaptive.tasks import Action
from graphreader.agent.context import RunContext
from graphreader.documents import Chunk, ChunkFacts, ChunkRef, KeyElement
from graphreader.errors import DecisionError
from graphreader.llm.protocols import folded
from graphreader.outline import outline_text
from graphreader.store.search import Mentions, SearchResult
from graphreader.text.names import names_of
from graphreader.text.words import is_common, terms_of

PASSAGES_AT_FIRST = 7  # passages that the search for the question shows
PASSAGES_A_SEARCH = 5
PASSAGES_WITHOUT_NAME = 2  # passages that a search shows where none has the name in it
MAX_RANGE = 8  # chunks that one read_chunk shows
FACTS_A_PAGE = 40  # facts of a node that are shown at once
NEIGHBORS = 10  # neighbors that are listed with a node
MOST_NEIGHBORS = 50  # neighbors among which distinctive names are looked for
OUTLINE_TOKENS = 600
NOTHING = "Nothing: try other words."  # the result of a search that finds no passage

_RANGE = re.compile(r"(\d+)(?:\.(\d+))?(?:\s*[-–—~]\s*(?:(\d+)\.)?(\d+))?")
_PAGE = re.compile(r"[,，;]?\s*\(?(?:page|第)\s*(\d+)\s*页?\)?\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an action: chunks with some of their facts, and a line of text.

    `id` is the id of the one key element or chunk that the action was about. The chunks are shown
    `in_full` if the action named them by their numbers.
    """

    hits: Sequence[ChunkFacts[ChunkRef]] = ()
    text: str = ""
    id: str = ""
    in_full: bool = False


class ActionRunner:
    """A runner of the actions of a turn.

    `documents` are document ids in the order of their numbers, `read` the ids of the chunks that
    were shown in full.
    """

    def __init__(
        self, context: RunContext, documents: Sequence[str] = (), read: Collection[str] = ()
    ) -> None:
        self._context = context
        self._documents = documents
        self._read = read

    async def run(self, actions: Sequence[Action]) -> list[Outcome]:
        """The outcome of each action, in order."""
        searches = [one.argument for one in actions if one.function == "search"]
        names = [one for one in actions if one.function in ("read_node", "read_neighbor_node")]
        results, elements = await asyncio.gather(
            self.search(searches, PASSAGES_A_SEARCH), self._named(names)
        )
        found = iter(results)
        nodes = iter(elements)
        jobs = []
        for action in actions:
            if action.function == "search":
                jobs.append(self._search_outcome(action.argument, next(found)))
            elif action.function == "outline":
                jobs.append(self._outline(action.argument))
            elif action.function in ("read_node", "read_neighbor_node"):
                jobs.append(self._node(action.argument, next(nodes)))
            else:
                jobs.append(self._chunks(action))
        return await asyncio.gather(*jobs)

    async def search(self, queries: Sequence[str], limit: int) -> list[SearchResult]:
        """Return the best chunks for each query, by words and, if there are vectors, by meaning."""
        if not queries:
            return []
        vectors = None
        with suppress(DecisionError):  # words alone bring most
            vectors = await self._context.vectors.vectors(queries)
        return await self._context.explorer.search(queries, limit, vectors)

    async def _search_outcome(self, query: str, found: SearchResult) -> Outcome:
        if not found.hits:
            return Outcome(text=NOTHING)
        kept, missing = with_names([hit.item for hit in found.hits], query)
        has_all = len(found.mentions) > 1 and not missing  # each passage has all of the names
        lines = [] if has_all else totals(found.mentions, kept)
        lines += [f"No passage has {' or '.join(missing)}."] if missing else []
        return Outcome(kept, " ".join(lines))

    async def _named(self, actions: Sequence[Action]) -> list[list[KeyElement]]:
        if not actions:
            return []
        return await self._context.explorer.named([_page(one.argument)[0] for one in actions])

    async def _node(self, argument: str, elements: Sequence[KeyElement]) -> Outcome:
        """A page of facts of the best matching key element, in text order, and its neighbors.

        The other elements are only named.
        """
        if not elements:
            return Outcome(text="There is no key element of that name: search for its words.")
        element, *similar = elements
        records, neighbors = await asyncio.gather(
            self._context.explorer.facts(element.id),
            self._context.explorer.neighbors(
                element.id, [element.id], list(self._read), [], None, MOST_NEIGHBORS
            ),
        )
        page = _page(argument)[1]
        first, last = (page - 1) * FACTS_A_PAGE, page * FACTS_A_PAGE
        hits, place = [], 0
        for group in records.groups:
            facts = group.facts[max(0, first - place) : max(0, last - place)]
            place += len(group.facts)
            if facts:
                hits.append(ChunkFacts(group.chunk, facts))
        lines = [f"{element.name}: {records.total} facts in {len(records.groups)} passages."]
        if place > last:
            lines.append(f"More by read_node({element.name}, page {page + 1}).")
        if similar:
            names = [f"{one.name} ({one.facts})" for one in similar[:NEIGHBORS]]
            lines.append(f"Similar names: {'; '.join(names)}.")
        unread = [
            f"{one.name} ({one.facts})"
            for one in neighbors
            if one.unread and is_distinctive(one.name)
        ]
        if unread:
            lines.append(f"Neighbors with unread facts: {'; '.join(unread[:NEIGHBORS])}.")
        return Outcome(hits, " ".join(lines), element.id)

    async def _chunks(self, action: Action) -> Outcome:
        """The outcome of reading chunks in full: by number, by range, or adjacent to a chunk."""
        step = {"read_previous_chunk": -1, "read_subsequent_chunk": 1}.get(action.function, 0)
        places: list[tuple[str, int]] = []
        unknown: list[str] = []
        for match in _RANGE.finditer(action.argument):
            document, first, _, last = match.groups()
            at = int(document) - 1
            if not 0 <= at < len(self._documents):
                unknown.append(match[0])
                continue
            begin = int(first or 0)
            end = int(last) if last and first else begin
            places += [
                (self._documents[at], index + step)
                for index in range(begin, min(end, begin + MAX_RANGE - 1) + 1)
                if index + step >= 0
            ]
        chunks = await self._context.explorer.chunks(places[:MAX_RANGE])
        if unknown:
            text = f"No passage has the number {', '.join(unknown)}."
        elif not chunks:
            text = "There is no such chunk." if step == 0 else "The document ends there."
        else:
            text = ""
        id_ = chunks[0].id if len(chunks) == 1 else ""
        return Outcome([ChunkFacts(one) for one in chunks], text, id_, in_full=True)

    async def _outline(self, argument: str) -> Outcome:
        """The outline of a document, or of a range of its chunks."""
        match = _RANGE.search(argument)
        at = int(match[1]) - 1 if match else -1
        if match is None or not 0 <= at < len(self._documents):
            return Outcome(text="No document has that number.")
        last = int(match[4]) if match[4] and match[2] else None
        return Outcome(text=await self.outline(at + 1, int(match[2] or 0), last))

    async def outline(self, number: int, first: int = 0, last: int | None = None) -> str:
        """The outline of the document with this number, from chunk `first` to chunk `last`."""
        entries = await self._context.explorer.outline(self._documents[number - 1])
        lines = outline_text(entries, OUTLINE_TOKENS, first, last)
        return f"Chunk [n] of it is passage {number}.n, of {len(entries)} chunks.\n{lines}"


def with_names(
    found: Sequence[ChunkFacts[Chunk]], query: str
) -> tuple[list[ChunkFacts[Chunk]], list[str]]:
    """Filter chunks by the names in the query; return also the names that no chunk has.

    If no chunk has all names, the chunks with any name and a few other chunks are kept.
    """
    wanted = {name: terms_of(name) for name in names_of(" ".join(query.split()))}
    texts = [terms_of(f"{one.chunk.document}\n{one.chunk.text}") for one in found]
    present = [{name for name, terms in wanted.items() if terms <= text} for text in texts]
    by_names = list(zip(found, present, strict=True))
    if complete := [one for one, names in by_names if len(names) == len(wanted)]:
        return complete, []
    named = [one for one, names in by_names if names]
    others = [one for one, names in by_names if not names]
    missing = [name for name in wanted if not any(name in names for names in present)]
    return named + others[:PASSAGES_WITHOUT_NAME], missing


def totals(mentions: Sequence[Mentions], shown: Sequence[ChunkFacts[Chunk]]) -> list[str]:
    """Say how many passages have a name, where more of them have it than are shown."""
    texts = [terms_of(f"{one.chunk.document}\n{one.chunk.text}") for one in shown]
    lines = []
    for one in mentions:
        number = sum(terms_of(one.name) <= text for text in texts)
        if one.chunks > number:
            least = "At least " if one.at_least else ""
            verb = "is" if number == 1 else "are"
            lines.append(f"{least}{one.chunks} passages have {one.name}, {number} {verb} shown.")
    return lines


def is_distinctive(name: str) -> bool:
    """Whether a name identifies something: neither a number nor only common words."""
    return any(not (is_common(term) or term.isdigit()) for term in terms_of(name))


def action_text(action: Action) -> str:
    """The action in one line."""
    return f"{action.function}({folded(action.argument)})"


def _page(argument: str) -> tuple[str, int]:
    """The name in the argument of read_node, and the number of the page, from 1."""
    match = _PAGE.search(argument)
    if match is None:
        return argument.strip(), 1
    return argument[: match.start()].strip(), max(1, int(match[1]))
