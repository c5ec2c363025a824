"""Making the gist memory: pauses are asked for, then a gist of every page (section 3.1).

Documents are paginated side by side and pages gisted side by side, each independent of the others.
What was decided is kept at once, so that nothing is asked twice. Where a decider gives nothing
usable, a page ends at the last point that was shown, and the page itself stands for its gist; both
are told and not kept, so that the next reading asks again.

The gist memory: the gists of all pages in their order, with what they were made from.

Pauses and gists that were paid for, kept in a folder: each is a file of its own.

What is kept is found by what it was made from and by whom: the text, the size of pages, the
decider and the version of the prompt, the question of a gist for a task. So nothing becomes wrong
when a text changes, and a reading that was killed goes on at the next page. A file is whole or not
there: processes that read the same text at once may both pay, but none spoils the other's work.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from graphreader.agent.dependencies import costs_of
from graphreader.agent.state import Costs, add_costs
from graphreader.baselines.read_agent.pages import Pagination, Stretch, paginate, words_in
from graphreader.baselines.read_agent.tasks import GistForTask, GistTask, MemoryPage, PauseTask
from graphreader.baselines.session import TextPassage
from graphreader.documents import Document
from graphreader.errors import DecisionError, ReplyError, WindowError
from graphreader.files import atomic_write
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import Budget, Decider, Decision, Task
from graphreader.sync import bounded_gather
from graphreader.usage import Phase, Usage

_ENDING = ".json"


class KeptEpisodes:
    """What is kept under `home`; without a home nothing is.

    `trouble` is a sentence about a folder that cannot be used, or empty: reading goes on without.
    """

    def __init__(self, home: Path | None) -> None:
        self.trouble = ""
        self._home = home

    async def of(self, *about: object) -> "Shelf":
        """What is kept about just this."""
        if self._home is None:
            return Shelf(self, None, {})
        name = sha256(json.dumps([str(one) for one in about]).encode()).hexdigest()[:32]
        folder = self._home / name[:2] / name
        return Shelf(self, folder, await asyncio.to_thread(_read, folder))


class Shelf:
    """What is kept about one text: values by name, plain JSON."""

    def __init__(
        self, kept: KeptEpisodes, folder: Path | None, values: dict[str, dict[str, Any]]
    ) -> None:
        self._kept = kept
        self._folder = folder
        self._values = values

    def get(self, name: str, key: str, kind: type) -> Any:
        """What was kept under that name, if it is of that kind; else None."""
        value = self._values.get(name, {}).get(key)
        return value if isinstance(value, kind) and not isinstance(value, bool) else None

    async def put(self, name: str, value: dict[str, Any]) -> None:
        """Keep it. On the disk when this returns, if it can be written at all."""
        self._values[name] = value
        if self._folder is None or self._kept.trouble:
            return
        try:
            await asyncio.to_thread(_write, self._folder, name, value)
        except OSError as error:
            self._kept.trouble = (
                f"Gists cannot be kept in {self._folder.parent.parent} ({error.strerror}): they "
                "are made anew next time."
            )


def name_of(kind: str, *places: int) -> str:
    """The name of what was decided at these places of a text."""
    return "-".join((kind, *map(str, places)))


def _read(folder: Path) -> dict[str, dict[str, Any]]:
    """All that is there; what cannot be read is not there."""
    try:
        files: Sequence[Path] = sorted(folder.glob(f"[!.]*{_ENDING}"))
    except OSError:
        return {}
    values = {}
    for file in files:
        try:
            value = json.loads(file.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(value, dict):
            values[file.stem] = value
    return values


def _write(folder: Path, name: str, value: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / f"{name}{_ENDING}") as file:
        file.write(json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"))


D = TypeVar("D", bound=Decision)


@dataclass(slots=True)
class Making:
    """What making it has cost this time, and what a person should know of it."""

    costs: Costs = field(default_factory=dict)
    failed: dict[Phase, int] = field(default_factory=dict)
    trouble: str = ""

    def count(self, usage: Usage, phase: Phase) -> None:
        """Count what a decision cost."""
        self.costs = add_costs(self.costs, costs_of(usage, phase))

    def notes(self) -> list[str]:
        """A sentence for each kind of decision that could not be had, and one for the folder."""
        told: dict[Phase, str] = {
            "paginate": "No pause could be chosen for {0:,} of the pages: there it was taken where "
            "the page was full.",
            "gist": "{0:,} of the pages could not be shortened: they stand for their gists.",
        }
        notes = [told[phase].format(number) for phase, number in self.failed.items()]
        return [*notes, self.trouble] if self.trouble else notes


class Gisting:
    """Makes the pages and gists of documents, each once.

    `building` is what it has cost in all, also where it failed in the end.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        decider: Decider,
        pagination: Pagination,
        home: Path | None = None,
    ) -> None:
        self.building: Costs = {}
        self._documents = documents
        self._decider = decider
        self._pagination = pagination
        self._kept = KeptEpisodes(home)
        self._pages: tuple[TextPassage, ...] | None = None
        self._gists: dict[str, tuple[str, ...]] = {}
        self._turn = asyncio.Lock()

    async def pages(self, budget: Budget | None = None) -> tuple[tuple[TextPassage, ...], Making]:
        """The pages of all documents, in their order, and what it took. Raises DecisionError."""
        async with self._turn, self._making() as making:
            if self._pages is None:
                self._pages = await self._made_pages(making, budget)
            return self._pages, making

    async def gists(
        self, pages: Sequence[TextPassage], question: str = "", budget: Budget | None = None
    ) -> tuple[tuple[str, ...], Making]:
        """The gist of each page, none longer than the page, and what it took.

        With a question, gists for just this (the task-aware variant). Raises DecisionError.
        """
        async with self._turn, self._making() as making:
            if question not in self._gists:
                self._gists[question] = await self._made_gists(pages, question, making, budget)
            return self._gists[question], making

    @asynccontextmanager
    async def _making(self) -> AsyncIterator[Making]:
        making = Making()
        try:
            yield making
        finally:
            self.building = add_costs(self.building, making.costs)
            making.trouble = self._kept.trouble

    async def _made_pages(self, making: Making, budget: Budget | None) -> tuple[TextPassage, ...]:
        texts = {document.text: document for document in self._documents}
        found: dict[str, list[TextPassage]] = {}

        async def work(document: Document) -> None:
            found[document.text] = await self._paginated(document, making, budget)

        await bounded_gather(texts.values(), work, self._decider.concurrency)
        return tuple(
            replace(page, document=document)
            for document in self._documents
            for page in found[document.text]
        )

    async def _made_gists(
        self, pages: Sequence[TextPassage], question: str, making: Making, budget: Budget | None
    ) -> tuple[str, ...]:
        documents = {page.document.text: page.document for page in pages}
        kind = GistForTask if question else GistTask
        shelves = {
            text: await self._shelf(document, kind, "gists", question)
            for text, document in documents.items()
        }
        texts: dict[str, TextPassage] = {}
        for page in pages:
            texts.setdefault(page.text, page)
        found: dict[str, str] = {}

        async def work(page: TextPassage) -> None:
            shelf = shelves[page.document.text]
            task = GistForTask(page.text, question) if question else GistTask(page.text)
            found[page.text] = await self._gist(page, task, shelf, making, budget)

        await bounded_gather(texts.values(), work, self._decider.concurrency)
        return tuple(found[page.text] for page in pages)

    async def _shelf(self, document: Document, task: type[Task[Any]], *kind: str) -> Shelf:
        """Where decisions of that task about the text are kept, as long as its prompt is the same.

        Another prompt of another task, such as that of the answer, changes nothing of them.
        """
        sizes = (self._pagination.min_words, self._pagination.max_words)
        decider, prompts = self._decider, self._decider.prompts
        if isinstance(decider, LanguageModelDecider):
            prompts = decider.prompts_of(task)
        text = sha256(document.text.encode(errors="surrogatepass")).hexdigest()
        return await self._kept.of(text, *sizes, decider.name, prompts, *kind)

    async def _paginated(
        self, document: Document, making: Making, budget: Budget | None
    ) -> list[TextPassage]:
        shelf = await self._shelf(document, PauseTask, "pauses")

        async def choose(stretch: Stretch) -> int:
            name = name_of("pause", stretch.start)
            kept = shelf.get(name, "end", int)
            if kept in stretch.points:
                return int(kept)
            decided = await self._decided(stretch.task(document.text), making, budget)
            if decided is None:
                return stretch.points[-1]
            end = stretch.points[decided.pause]
            await shelf.put(name, {"end": end})
            return end

        return await paginate(document, self._pagination, choose)

    async def _gist(
        self, page: TextPassage, task: GistTask, shelf: Shelf, making: Making, budget: Budget | None
    ) -> str:
        name = name_of("gist", page.start, page.start + len(page.text))
        gist = shelf.get(name, "gist", str)
        if gist is None:
            decided = await self._decided(task, making, budget)
            if decided is None:
                return page.text
            gist = decided.gist.strip()
            await shelf.put(name, {"gist": gist})
        return str(gist) if words_in(gist) < words_in(page.text) else page.text

    async def _decided(self, task: Task[D], making: Making, budget: Budget | None) -> D | None:
        """The decision; None where the decider gives none that can be used."""
        try:
            decided = await self._decider.decide(task, budget)
        except ReplyError as error:
            making.count(error.spent, task.phase)
            making.failed[task.phase] = making.failed.get(task.phase, 0) + 1
            return None
        except WindowError as error:
            raise WindowError(
                f"A page of up to {self._pagination.max_words:,} words does not fit the window: "
                "choose smaller pages, or set GRAPHREADER_LONG_WINDOW higher."
            ) from error
        except DecisionError as error:
            making.count(error.spent, task.phase)
            raise
        making.count(decided.usage, task.phase)
        return decided.decision


@dataclass(frozen=True)
class GistMemory:
    """`gists[n]` is that of `pages[n]`; in prompts both are page n + 1, through all documents.

    A gist that would not be shorter than its page is the page itself. `notes` say what a person
    should know of how it was made.
    """

    pages: tuple[TextPassage, ...]
    gists: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """How many words the texts have."""
        return sum(page for page, _ in self._words)

    def compression(self, looked_up: Collection[int] = ()) -> float:
        """By which part of them the memory is shorter than the texts, up to 1 (section 4).

        With the pages of these numbers in the places of their gists, as at the final query. Words
        are counted; page tags are not. The paper tells it in percent.
        """
        kept = sum(words[n not in looked_up] for n, words in enumerate(self._words, 1))
        return 1 - kept / self.words if self.words else 0.0

    def sizes(self) -> Mapping[str, float]:
        """Pages, words of the texts and of the gists, and the compression of the gists alone."""
        gists = sum(gist for _, gist in self._words)
        return {
            "pages": len(self.pages),
            "words": self.words,
            "gist_words": gists,
            "gists": round(self.compression(), 4),
        }

    def remembered(self) -> tuple[MemoryPage, ...]:
        """The pages as prompts show them, with titles where there are several documents."""
        several = len({page.document.id for page in self.pages}) > 1
        return tuple(
            MemoryPage(gist, page.text, page.document.title if several and not page.index else "")
            for page, gist in self._pairs()
        )

    def is_whole(self, number: int) -> bool:
        """Whether the page of that number stands in the memory itself, for want of a gist."""
        return self.gists[number - 1] == self.pages[number - 1].text

    @cached_property
    def _words(self) -> list[tuple[int, int]]:
        """Those of each page and its gist."""
        return [(words_in(page.text), words_in(gist)) for page, gist in self._pairs()]

    def _pairs(self) -> Iterable[tuple[TextPassage, str]]:
        return zip(self.pages, self.gists, strict=True)
