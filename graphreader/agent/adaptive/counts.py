"""The actions `count` and `list`: exact numbers, and whole lists a page at a time.

A search shows the best passages; these say how many there are, and page through all of them.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from graphreader.agent.adaptive.outcomes import ListPage, Outcome, number_of
from graphreader.documents import KeyElement
from graphreader.llm.protocols import folded
from graphreader.outline import LONGEST_SUMMARY, shortened
from graphreader.store.inventory import MOST_FACTS, MOST_NAMES, Inventory
from graphreader.store.names import NamedElements
from graphreader.store.records import (
    CorpusPart,
    DocumentCount,
    FactList,
    ListedDocument,
    WordCount,
)

FACTS_A_PAGE = 40
VALUES_A_PAGE = 60  # names, speakers or times, which stand in one line
DOCUMENTS_A_PAGE = 30
WORDINGS = 5  # other wordings of a name that are listed with its count
SIMILAR = 10  # similar names that are listed
CONTENTS, LEAST_CONTENTS = 2_400, 60  # characters about the contents of all documents, and of one
LISTS = (
    "list takes names, facts, documents, speakers or times; with words only those that have them: "
    "names veteran."
)
PLACES = 12  # passages that are named with a count of words
_MOST_DOCUMENTS = 10_000  # documents whose facts are counted one by one

_KINDS = {
    kind: wordings[0]
    for wordings in (
        ("names", "name", "key elements"),
        ("facts", "fact"),
        ("documents", "document", "texts"),
        ("speakers", "speaker"),
        ("times", "time", "days", "dates", "when"),
    )
    for kind in wordings
}


class Counts:
    """A reader of exact counts and whole lists for prompts."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    async def count(self, argument: str, named: NamedElements, part: CorpusPart) -> Outcome:
        """Count the facts with a name and the words in the texts, also in each document."""
        words, page = ListPage.of(argument, DOCUMENTS_A_PAGE)
        words = words.strip(" \"'“”‘’")
        (elements, facts), texts = await asyncio.gather(
            self.facts(named, part, documents=_MOST_DOCUMENTS),
            self._inventory.words(words, part),
        )
        lines = _by_document(facts, texts)
        text = [_counted_facts(words, elements, facts)]
        if texts.total or len(elements) < 2:
            text.append(_counted_words(words, texts, part))
        more = page.more("count", words, len(lines))
        if not facts.facts and not texts.total:
            more = await self.what_fits(part)
        similar = named.elements[len(elements) :] + named.similar
        head = [("", " ".join(text))]
        return Outcome(
            lines=[*head, *lines[page.skip : page.skip + page.size]],
            text=" ".join(filter(None, [more, similar_names(similar, "not counted")])),
            id=elements[0].id if len(elements) == 1 else "",
        )

    async def facts(
        self,
        named: NamedElements,
        part: CorpusPart,
        page: ListPage | None = None,
        documents: int = 0,
    ) -> tuple[tuple[KeyElement, ...], FactList]:
        """Return the elements of a name and the facts that name all; if none does, of the first."""
        elements = named.elements
        if not elements:
            return (), FactList((), 0, 0, 0, ())
        ids = [one.id for one in elements]
        found = await self._inventory.facts(
            ids,
            part=part,
            skip=page.skip if page else 0,
            limit=page.size if page else 0,
            documents=documents,
        )
        if found.facts or len(ids) == 1:
            return elements, found
        first = replace(named, elements=elements[:1])
        return await self.facts(first, part, page, documents)

    async def list(self, argument: str, part: CorpusPart) -> Outcome:
        """List names, facts, documents, speakers or times, a page at a time, with their numbers."""
        given, _ = ListPage.of(argument, 1)
        kind, words = next(
            (
                (of, given[len(kind) :].strip(" ,:"))
                for kind, of in _KINDS.items()
                if given.casefold() == kind or given.casefold().startswith((kind + " ", kind + ","))
            ),
            ("names", given) if given else ("", ""),
        )
        words = words.strip("\"'“”‘’")
        match kind:
            case "names":
                outcome = await self._names(argument, words, part)
            case "facts":
                outcome = await self._facts(argument, words, part)
            case "documents":
                outcome = await self._documents(argument, words, part)
            case "speakers" | "times":
                outcome = await self._values(argument, kind, part)
            case _:
                return Outcome(text=LISTS)
        if outcome.hits or outcome.lines:
            return outcome
        if words == given:  # no list of that kind, and no names with these words
            return replace(outcome, text=f"{outcome.text} {LISTS}")
        return replace(outcome, text=f"{outcome.text} {await self.what_fits(part)}".strip())

    async def what_fits(self, part: CorpusPart) -> str:
        """Say what the texts have instead, if nothing is in a part of them; else nothing."""
        if part == CorpusPart():
            return ""
        if (await self._inventory.facts(part=part)).facts:
            return ""
        if part.has_days:
            days = await self._inventory.values("when", replace(part, since="", until=""), 0, 0)
            if not days.total:
                return "No fact there has a time: leave the days out."
            span = f"{days.facts} of {days.of} facts have a time, from {days.first} to {days.last}"
            return f"No fact is of these days: {span}."
        _, documents = await self._inventory.documents("", CorpusPart(part.documents), 0, SIMILAR)
        sizes = "; ".join(f"{folded(one.title)}: 0 to {one.chunks - 1}" for one in documents)
        return f"No such passages. The passages of {sizes}."

    async def _names(self, argument: str, words: str, part: CorpusPart) -> Outcome:
        _, page = ListPage.of(argument, VALUES_A_PAGE)
        total, rows = await self._inventory.names(words, part, page.skip, page.size)
        having = f" with “{folded(words)}”" if words else ""
        head = f"{number_of(total, 'name', MOST_NAMES)}{having}"
        values = [f"{folded(name)} {facts}" for name, facts in rows]
        more = page.more("list", f"names {words}".strip(), total)
        return _line(head, "by their facts", page.range(total), values, more)

    async def _values(self, argument: str, kind: str, part: CorpusPart) -> Outcome:
        _, page = ListPage.of(argument, VALUES_A_PAGE)
        stored = "speaker" if kind == "speakers" else "when"
        found = await self._inventory.values(stored, part, page.skip, page.size)
        head = f"{number_of(found.total, kind[:-1])} in {found.facts} of {found.of} facts"
        values = [f"{folded(value)} {facts}" for value, facts, _ in found.rows]
        order = "by their facts" if kind == "speakers" else "in order, with their facts"
        return _line(
            head, order, page.range(found.total), values, page.more("list", kind, found.total)
        )

    async def _documents(self, argument: str, words: str, part: CorpusPart) -> Outcome:
        _, page = ListPage.of(argument, DOCUMENTS_A_PAGE)
        total, rows = await self._inventory.documents(words, part, page.skip, page.size)
        having = f" with “{folded(words)}” in the title" if words else ""
        head = ", ".join(filter(None, [number_of(total, "document") + having, page.range(total)]))
        lines = [
            (
                one.id,
                f"{folded(one.title)}: {number_of(one.chunks, 'passage')}, "
                f"{number_of(one.tokens, 'token')}{_contents(one, len(rows))}",
            )
            for one in rows
        ]
        more = page.more("list", f"documents {words}".strip(), total)
        return Outcome(lines=[("", f"{head}:"), *lines], text=more) if lines else Outcome(text=head)

    async def _facts(self, argument: str, words: str, part: CorpusPart) -> Outcome:
        _, page = ListPage.of(argument, FACTS_A_PAGE)
        found = await self._inventory.facts(words=words, part=part, skip=page.skip, limit=page.size)
        having = f" with “{folded(words)}”" if words else ""
        order = "in order of time" if part.has_days else "in the order of the texts"
        text = [
            f"{number_of(found.facts, 'fact', MOST_FACTS)}{having} in "
            f"{number_of(found.chunks, 'passage')} of {number_of(found.documents, 'document')}",
            order,
            page.range(found.facts),
        ]
        more = page.more("list", f"facts {words}".strip(), found.facts)
        return Outcome(found.groups, f"{', '.join(filter(None, text))}. {more}".strip())


def similar_names(elements: Sequence[KeyElement], note: str = "") -> str:
    """Name key elements with a similar wording and the number of their facts."""
    names = [f"{one.name} ({one.facts})" for one in elements[:SIMILAR]]
    noted = f", {note}" if note else ""
    return f"Similar names{noted}: {'; '.join(names)}." if names else ""


def _contents(document: ListedDocument, listed: int) -> str:
    """Say what a document has, by its headings or its first sentence, in its share of the room."""
    width = min(LONGEST_SUMMARY, max(LEAST_CONTENTS, CONTENTS // listed))
    text = "; ".join(map(folded, document.headings)) or folded(document.summary)
    return f": {shortened(text, width)}" if text else ""


def _line(head: str, order: str, shown: str, values: Sequence[str], more: str) -> Outcome:
    """The outcome of a list whose values stand in one line."""
    if not values:
        return Outcome(text=f"{', '.join(filter(None, [head, shown]))}.")
    title = ", ".join(filter(None, [head, order, shown]))
    return Outcome(lines=[("", f"{title}: {'; '.join(values)}.")], text=more)


def _counted_facts(words: str, elements: Sequence[KeyElement], facts: FactList) -> str:
    if not elements:
        return f"No key element is named “{folded(words)}”."
    (first, *others) = elements
    wordings = [one for one in first.aliases if one != first.name][:WORDINGS]
    also = f" (also {', '.join(wordings)})" if wordings and not others else ""
    names = " and ".join(one.name for one in elements)
    noun = "names" if others else "name"
    return (
        f"{number_of(facts.facts, 'fact', MOST_FACTS).capitalize()} with the {noun} {names}{also}, "
        f"in {number_of(facts.chunks, 'passage')} of {number_of(facts.documents, 'document')}."
    )


def _counted_words(words: str, texts: WordCount, part: CorpusPart) -> str:
    where = "texts" if part == CorpusPart() else "texts within this limit"
    if not texts.total:
        return f"The {where} do not have the words “{folded(words)}”."
    least = "at least " if texts.at_least else ""
    forms = [f"{form} {number}" for form, number in texts.forms]
    listed = f": {', '.join(forms[:SIMILAR])}" if len(forms) > 1 else ""
    return (
        f"In the {where} “{folded(words)}” occurs {least}{number_of(texts.total, 'time')}, in "
        f"{number_of(texts.chunks, 'passage')} of "
        f"{number_of(len(texts.by_document), 'document')}{listed}."
    )


def _places(count: DocumentCount) -> str:
    """Name the passages of a document that have words, by the ends of their numbers."""
    named = " ".join(f".{index}" for index in count.indexes[:PLACES])
    more = " ..." if len(count.indexes) > PLACES else ""
    return f"{number_of(count.chunks, 'passage')} ({named}{more})"


def _by_document(facts: FactList, texts: WordCount) -> list[tuple[str, str]]:
    """Lines with the numbers of facts and of words in each document, most first."""
    titles = {one.id: one.title for one in (*texts.by_document, *facts.by_document)}
    named = {one.id: one for one in facts.by_document}
    written = {one.id: one for one in texts.by_document}

    def line(id_: str) -> str:
        of, at = named.get(id_), written.get(id_)
        parts = [
            f"{number_of(of.number, 'fact')} in {number_of(of.chunks, 'passage')}" if of else "",
            f"{number_of(at.number, 'time')} in {_places(at)}" if at else "",
        ]
        return f"{folded(titles[id_])}: {', '.join(filter(None, parts))}"

    return [(id_, line(id_)) for id_ in dict.fromkeys([*named, *written])]
