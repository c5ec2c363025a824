"""The gist memory: pages are chosen, each is shortened to a gist, and both are kept (section 3.1).

Documents are paginated and pages shortened side by side, each independent of the others. A decision
is kept at once, so that nothing is asked twice. Where a decider gives no usable decision, a page
ends at the last point that was shown, and the page itself is its gist; a note says so, and the next
reading asks again.
"""

import asyncio
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

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
_FAILURES: Mapping[Phase, str] = {
    "paginate": "No pause could be chosen for {0:,} of the pages: there it was taken where "
    "the page was full.",
    "gist": "{0:,} of the pages could not be shortened: they stand for their gists.",
}
D = TypeVar("D", bound=Decision)


class GistCache:
    """Pauses and gists of one text, each in a file of its own in `folder`; None: nothing is kept.

    The folder's name is made of the text, the sizes of pages, the decider, the version of the
    prompt, and the question of a gist for a task. So an edited text gets new gists, and a reading
    that was killed goes on at the next page. A file is whole or missing: two processes that read
    the same text at once may both pay, but neither spoils the other's work.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._values = _read_values(folder) if folder else {}

    def get(self, name: str, key: str, kind: type) -> Any:
        """The value kept under that name, if it is of that kind; else None."""
        value = self._values.get(name, {}).get(key)
        return value if isinstance(value, kind) and not isinstance(value, bool) else None

    def put(self, name: str, value: dict[str, Any]) -> None:
        """Write a value; it is on the disk when this returns. Raises OSError."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(self._folder / f"{name}{_ENDING}") as file:
                file.write(json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"))


def _read_values(folder: Path) -> dict[str, dict[str, Any]]:
    """The values of all files that can be read."""
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


@dataclass(slots=True)
class BuildReport:
    """What building the memory cost this time, and notes about it; `budget` is what it may cost."""

    budget: Budget | None = None
    usage: dict[Phase, Usage] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    failures: dict[Phase, int] = field(default_factory=dict)

    def add_notes(self, phase: Phase, trouble: str) -> None:
        """Add a sentence for the decisions of a phase that failed, and one about the cache."""
        if number := self.failures.get(phase):
            self.notes[_FAILURES[phase].format(number)] = None
        if trouble:
            self.notes[trouble] = None


class GistBuilder:
    """Makes the pages and gists of documents, each once, with one decider.

    `home` is the folder of the caches. `building` is the cost of all that was made, also where it
    failed in the end.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        decider: Decider,
        pagination: Pagination,
        home: Path | None = None,
    ) -> None:
        self.building = Usage()
        self._documents = documents
        self._decider = decider
        self._pagination = pagination
        self._home = home
        self._trouble = ""
        self._pages: tuple[TextPassage, ...] | None = None
        self._gists: dict[str, tuple[str, ...]] = {}
        self._lock = asyncio.Lock()

    async def pages(self, report: BuildReport | None = None) -> tuple[TextPassage, ...]:
        """The pages of all documents, in their order. Raises DecisionError."""
        report = report or BuildReport()
        async with self._lock:
            if self._pages is None:
                self._pages = await self._make_pages(report)
        report.add_notes("paginate", self._trouble)
        return self._pages

    async def gists(
        self,
        pages: Sequence[TextPassage],
        question: str = "",
        report: BuildReport | None = None,
    ) -> tuple[str, ...]:
        """The gist of each page, none longer than the page. Raises DecisionError.

        With a question they are made for just this (the task-aware variant).
        """
        report = report or BuildReport()
        async with self._lock:
            if question not in self._gists:
                self._gists[question] = await self._make_gists(pages, question, report)
        report.add_notes("gist", self._trouble)
        return self._gists[question]

    async def _make_pages(self, report: BuildReport) -> tuple[TextPassage, ...]:
        documents = {document.text: document for document in self._documents}
        pages: dict[str, list[TextPassage]] = {}

        async def work(document: Document) -> None:
            pages[document.text] = await self._paginate(document, report)

        await bounded_gather(documents.values(), work, self._decider.concurrency)
        return tuple(
            replace(page, document=document)
            for document in self._documents
            for page in pages[document.text]
        )

    async def _make_gists(
        self, pages: Sequence[TextPassage], question: str, report: BuildReport
    ) -> tuple[str, ...]:
        task = GistForTask if question else GistTask
        caches = {
            text: await self._cache(text, task, "gists", question)
            for text in dict.fromkeys(page.document.text for page in pages)
        }
        distinct: dict[str, TextPassage] = {}
        for page in pages:
            distinct.setdefault(page.text, page)
        gists: dict[str, str] = {}

        async def work(page: TextPassage) -> None:
            cache = caches[page.document.text]
            gists[page.text] = await self._gist(page, question, cache, report)

        await bounded_gather(distinct.values(), work, self._decider.concurrency)
        return tuple(gists[page.text] for page in pages)

    async def _cache(self, text: str, task: type[Task[Any]], *kind: str) -> GistCache:
        """The cache of decisions of that task about the text, as long as its prompt is the same.

        A changed prompt of another task, such as that of the answer, leaves it valid.
        """
        if self._home is None:
            return GistCache(None)
        decider, prompts = self._decider, self._decider.prompts
        if isinstance(decider, LanguageModelDecider):
            prompts = decider.prompts_of(task)
        sha = sha256(text.encode(errors="surrogatepass")).hexdigest()
        sizes = (self._pagination.min_words, self._pagination.max_words)
        parts = (sha, *sizes, decider.name, prompts, *kind)
        name = sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()[:32]
        return await asyncio.to_thread(GistCache, self._home / name[:2] / name)

    async def _keep(self, cache: GistCache, name: str, value: dict[str, Any]) -> None:
        """Write to the cache; after the first failure nothing more is written."""
        if self._trouble:
            return
        try:
            await asyncio.to_thread(cache.put, name, value)
        except OSError as error:
            self._trouble = (
                f"Gists cannot be kept in {self._home} ({error.strerror}): they are made anew "
                "next time."
            )

    async def _paginate(self, document: Document, report: BuildReport) -> list[TextPassage]:
        cache = await self._cache(document.text, PauseTask, "pauses")

        async def choose(stretch: Stretch) -> int:
            name = f"pause-{stretch.start}"
            kept = cache.get(name, "end", int)
            if kept in stretch.points:
                return int(kept)
            pause = await self._decide(stretch.task(document.text), report)
            if pause is None:
                return stretch.points[-1]
            end = stretch.points[pause.pause]
            await self._keep(cache, name, {"end": end})
            return end

        return await paginate(document, self._pagination, choose)

    async def _gist(
        self, page: TextPassage, question: str, cache: GistCache, report: BuildReport
    ) -> str:
        name = f"gist-{page.start}-{page.start + len(page.text)}"
        gist = cache.get(name, "gist", str)
        if gist is None:
            task = GistForTask(page.text, question) if question else GistTask(page.text)
            decision = await self._decide(task, report)
            if decision is None:
                return page.text
            gist = decision.gist.strip()
            await self._keep(cache, name, {"gist": gist})
        return str(gist) if words_in(gist) < words_in(page.text) else page.text

    async def _decide(self, task: Task[D], report: BuildReport) -> D | None:
        """The decision; None where the decider gives none that can be used."""
        try:
            result = await self._decider.decide(task, report.budget)
        except WindowError as error:
            raise WindowError(
                f"A page of up to {self._pagination.max_words:,} words does not fit the window: "
                "choose smaller pages, or set GRAPHREADER_LONG_WINDOW higher."
            ) from error
        except DecisionError as error:
            self._count(error.spent, task.phase, report)
            if not isinstance(error, ReplyError):
                raise
            report.failures[task.phase] = report.failures.get(task.phase, 0) + 1
            return None
        self._count(result.usage, task.phase, report)
        return result.decision

    def _count(self, usage: Usage, phase: Phase, report: BuildReport) -> None:
        self.building += usage
        report.usage[phase] = report.usage.get(phase, Usage()) + usage


@dataclass(frozen=True)
class GistMemory:
    """`gists[n]` is that of `pages[n]`; in prompts both are page n + 1, through all documents.

    A gist that would not be shorter than its page is the page itself. `notes` are sentences about
    how it was made.
    """

    pages: tuple[TextPassage, ...]
    gists: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """The number of words of the texts."""
        return sum(page for page, _ in self._words)

    def compression(self, looked_up: Collection[int] = ()) -> float:
        """The share by which the memory is shorter than the texts, from 0 to 1 (section 4).

        The pages of these numbers are in the places of their gists, as at the final query. Words
        are counted, without page tags. The paper gives it in percent.
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
        """The pages as prompts show them, with titles if there are several documents."""
        several = len({page.document.id for page in self.pages}) > 1
        return tuple(
            MemoryPage(gist, page.text, page.document.title if several and not page.index else "")
            for page, gist in self._pairs()
        )

    def is_whole(self, number: int) -> bool:
        """Whether the page of that number is in the memory itself, for want of a gist."""
        return self.gists[number - 1] == self.pages[number - 1].text

    @cached_property
    def _words(self) -> list[tuple[int, int]]:
        """The words of each page and of its gist."""
        return [(words_in(page.text), words_in(gist)) for page, gist in self._pairs()]

    def _pairs(self) -> Iterable[tuple[TextPassage, str]]:
        return zip(self.pages, self.gists, strict=True)
