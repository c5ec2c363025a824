"""The actions of a turn, carried out concurrently: searches, nodes, chunks and outlines.

Each action brings chunks, which `results` numbers and words for the prompt, and a line of text.
The graph is asked once for all searches of a turn and once for all names.
"""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress

from graphreader.agent.adaptive.counts import FACTS_A_PAGE, Counts, similar_names
from graphreader.agent.adaptive.outcomes import ListPage, Outcome, number_of
from graphreader.agent.adaptive.tasks import Action
from graphreader.agent.adaptive.within import PLACES, no_document, part_of
from graphreader.agent.context import RunContext
from graphreader.documents import Chunk, ChunkFacts
from graphreader.errors import DecisionError
from graphreader.llm.protocols import folded
from graphreader.outline import outline_text
from graphreader.store.inventory import MOST_FACTS, Inventory
from graphreader.store.names import NamedElements
from graphreader.store.records import CorpusPart
from graphreader.store.search import Mentions, SearchResult
from graphreader.text.names import names_of
from graphreader.text.words import is_common, terms_of

PASSAGES_AT_FIRST = 7  # passages that the search for the question shows
PASSAGES_A_SEARCH = 5
PASSAGES_WITHOUT_NAME = 2  # passages that a search shows where none has the name in it
MAX_RANGE = 8  # chunks that one read_chunk shows
NEIGHBORS = 10  # neighbors that are listed with a node
MOST_NEIGHBORS = 50  # neighbors among which distinctive names are looked for
OUTLINE_TOKENS = 600
NOTHING = "Nothing: try other words."  # the result of a search that finds no passage

_OF_NAMES = ("read_node", "read_neighbor_node", "count")  # actions with a name as their argument
_WHOLE = CorpusPart()


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
        explorer = context.explorer
        self._counts = Counts(Inventory(explorer.connection, explorer.corpus, explorer.documents))

    async def run(self, actions: Sequence[Action]) -> list[Outcome]:
        """The outcome of each action, in order."""
        parts = [part_of(one.within, self._documents) for one in actions]
        found, named = await asyncio.gather(
            self._found(actions, parts),
            self._context.explorer.named(
                [
                    ListPage.of(one.argument, 1)[0] if one.function in _OF_NAMES else ""
                    for one in actions
                ]
            ),
        )
        jobs = [self._outcome(*one) for one in zip(actions, parts, found, named, strict=True)]
        return await asyncio.gather(*jobs)

    async def _outcome(
        self,
        action: Action,
        part: CorpusPart | str,
        found: SearchResult | None,
        named: NamedElements,
    ) -> Outcome:
        if isinstance(part, str):
            return Outcome(text=part)
        match action.function:
            case "search" if found:
                return await self._search_outcome(action.argument, found, part)
            case "read_node" | "read_neighbor_node":
                return await self._node(action.argument, named, part)
            case "count":
                return await self._counts.count(action.argument, named, part)
            case "list":
                return await self._counts.list(action.argument, part)
            case "outline":
                return await self._outline(action.argument)
            case _:
                return await self._chunks(action)

    async def _found(
        self, actions: Sequence[Action], parts: Sequence[CorpusPart | str]
    ) -> list[SearchResult | None]:
        """The results of the searches among the actions, which are one search for each part."""
        queries: dict[CorpusPart, list[int]] = {}
        for place, (action, part) in enumerate(zip(actions, parts, strict=True)):
            if action.function == "search" and isinstance(part, CorpusPart):
                queries.setdefault(part, []).append(place)
        results: list[SearchResult | None] = [None for _ in actions]
        searches = [
            self.search([actions[place].argument for place in places], PASSAGES_A_SEARCH, part)
            for part, places in queries.items()
        ]
        for places, found in zip(queries.values(), await asyncio.gather(*searches), strict=True):
            for place, result in zip(places, found, strict=True):
                results[place] = result
        return results

    async def search(
        self, queries: Sequence[str], limit: int, part: CorpusPart = _WHOLE
    ) -> list[SearchResult]:
        """Return the best chunks for each query, by words and, if there are vectors, by meaning."""
        if not queries:
            return []
        vectors = None
        with suppress(DecisionError):  # words alone bring most
            vectors = await self._context.vectors.vectors(queries)
        return await self._context.explorer.search(queries, limit, vectors, part)

    async def _search_outcome(self, query: str, found: SearchResult, part: CorpusPart) -> Outcome:
        if not found.hits:
            return Outcome(text=f"{NOTHING} {await self._counts.what_fits(part)}".strip())
        kept, missing = with_names([hit.item for hit in found.hits], query)
        lines = totals(found.mentions, kept)
        lines += [f"None of these passages has {' or '.join(missing)}."] if missing else []
        if part.has_days:
            lines.append("In order of time.")
        return Outcome(kept, " ".join(lines))

    async def _node(self, argument: str, named: NamedElements, part: CorpusPart) -> Outcome:
        """A page of the facts of a name, in the order of the texts, and its neighbors.

        Of a name that is made up of several, the facts that name all of these. Similar elements are
        only named.
        """
        _, page = ListPage.of(argument, FACTS_A_PAGE)
        if not named.elements:
            return Outcome(text="There is no key element of that name: search for its words.")
        first = named.elements[0]
        (elements, records), neighbors = await asyncio.gather(
            self._counts.facts(named, part, page),
            self._context.explorer.neighbors(
                first.id, [first.id], list(self._read), [], None, MOST_NEIGHBORS
            ),
        )
        names = " and ".join(one.name for one in elements)
        facts, passages = number_of(records.facts, "fact", MOST_FACTS), records.chunks
        shown = ", ".join(
            filter(
                None, [f"{facts} in {number_of(passages, 'passage')}", page.range(records.facts)]
            )
        )
        lines = [f"{names}: {shown}.", page.more("read_node", names, records.facts)]
        if not records.facts:
            lines.append(await self._counts.what_fits(part))
        lines.append(similar_names(named.elements[len(elements) :] + named.similar))
        unread = [
            f"{one.name} ({one.facts})"
            for one in neighbors
            if one.unread and is_distinctive(one.name)
        ]
        if unread and page.number == 1:
            lines.append(f"Neighbors with unread facts: {'; '.join(unread[:NEIGHBORS])}.")
        return Outcome(records.groups, " ".join(filter(None, lines)), first.id)

    async def _chunks(self, action: Action) -> Outcome:
        """The outcome of reading chunks in full: by number, by range, or adjacent to a chunk."""
        step = {"read_previous_chunk": -1, "read_subsequent_chunk": 1}.get(action.function, 0)
        places: list[tuple[str, int]] = []
        unknown: list[str] = []
        for match in PLACES.finditer(action.argument):
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
        match = PLACES.search(argument)
        at = int(match[1]) - 1 if match else -1
        if match is None or not 0 <= at < len(self._documents):
            return Outcome(text=no_document(argument, self._documents))
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

    If no chunk has all names, the chunks with any name and a few other chunks are kept. Of a name
    of which some words occur, as where names stand side by side in a query, the others are given.
    """
    wanted = {name: terms_of(name) for name in names_of(" ".join(query.split()))}
    texts = [terms_of(f"{one.chunk.document}\n{one.chunk.text}") for one in found]
    present = [{name for name, terms in wanted.items() if terms <= text} for text in texts]
    by_names = list(zip(found, present, strict=True))
    if complete := [one for one, names in by_names if len(names) == len(wanted)]:
        return complete, []
    named = [one for one, names in by_names if names]
    others = [one for one, names in by_names if not names]
    absent = [name for name in wanted if not any(name in names for names in present)]
    every = frozenset[str]().union(*texts)
    missing = [_missing(name, every) for name in absent]
    return named + others[:PASSAGES_WITHOUT_NAME], missing


def _missing(name: str, known: frozenset[str]) -> str:
    """The words of a name that are not known: in a query, names may stand side by side."""
    words = " ".join(word for word in name.split() if not terms_of(word) <= known)
    return f"all of {name}" if not words else name if words == name else f"{words} (of {name})"


def totals(mentions: Sequence[Mentions], shown: Sequence[ChunkFacts[Chunk]]) -> list[str]:
    """Say how many passages have a name, where more of them have it than are shown.

    If all that are shown have all names together, only the number of such passages is said.
    """
    texts = [terms_of(f"{one.chunk.document}\n{one.chunk.text}") for one in shown]
    together = terms_of(mentions[-1].name) if mentions else frozenset()
    parts = (terms_of(one.name) for one in mentions)
    if all(part <= together for part in parts) and all(together <= text for text in texts):
        mentions = mentions[-1:]
    lines = []
    for one in mentions:
        number = sum(terms_of(one.name) <= text for text in texts)
        if one.chunks > number:
            least = "At least " if one.at_least else ""
            verb = "is" if number == 1 else "are"
            passages = "passage has" if one.chunks == 1 else "passages have"
            lines.append(f"{least}{one.chunks} {passages} {one.name}, {number} {verb} shown.")
    return lines


def is_distinctive(name: str) -> bool:
    """Whether a name identifies something: neither a number nor only common words."""
    return any(not (is_common(term) or term.isdigit()) for term in terms_of(name))


def argument_text(action: Action) -> str:
    """The argument of an action with its limit, in one line."""
    within = f"within {action.within}" if action.within.strip() else ""
    return folded(", ".join(filter(None, [action.argument, within])))


def action_text(action: Action) -> str:
    """The action in one line."""
    return f"{action.function}({argument_text(action)})"
