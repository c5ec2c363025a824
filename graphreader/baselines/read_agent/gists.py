"""The gist memory: pages are chosen, each is shortened to a gist, and both are kept (section 3.1).

Documents are paginated and pages shortened side by side, each independent of the others. A decision
is kept at once, so that none is paid for twice. Where a decider gives no usable decision, a page
ends at the last point that was shown, and the page itself is its gist; a note says so, and the next
reading tries again.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from graphreader.baselines.read_agent.pages import Pagination, Stretch, paginate, words_in
from graphreader.baselines.read_agent.tasks import GistForTask, GistTask, MemoryPage, PauseTask
from graphreader.baselines.session import QuestionSession, TextPassage
from graphreader.documents import Document
from graphreader.errors import DecisionError, ReplyError, WindowError
from graphreader.files import atomic_write
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import Decider, Decision, Task
from graphreader.sync import bounded_gather
from graphreader.usage import Phase, Usage

_FAILURES: Mapping[Phase, str] = {
    "paginate": "No pause could be chosen for {0:,} of the pages: there it was taken where "
    "the page was full.",
    "gist": "{0:,} of the pages could not be shortened: they stand for their gists.",
}
D = TypeVar("D", bound=Decision)


@dataclass(frozen=True)
class GistMemory:
    """`gists[n]` is that of `pages[n]`; in prompts both are page n + 1, through all documents.

    A gist that would not be shorter than its page is the page itself.
    """

    pages: tuple[TextPassage, ...]
    gists: tuple[str, ...]

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
        return {
            "pages": len(self.pages),
            "words": self.words,
            "gist_words": sum(gist for _, gist in self._words),
            "gists": round(self.compression(), 4),
        }

    def remembered(self) -> tuple[MemoryPage, ...]:
        """The pages as prompts show them, with titles if there are several documents."""
        several = len({page.document.id for page in self.pages}) > 1
        return tuple(
            MemoryPage(gist, page.text, page.document.title if several and not page.index else "")
            for page, gist in self._pairs()
        )

    def pages_without_gist(self) -> list[TextPassage]:
        """The pages that are in the memory themselves, for want of a shorter gist."""
        return [page for page, gist in self._pairs() if page.text == gist]

    @cached_property
    def _words(self) -> list[tuple[int, int]]:
        """The words of each page and of its gist."""
        return [(words_in(page.text), words_in(gist)) for page, gist in self._pairs()]

    def _pairs(self) -> Iterable[tuple[TextPassage, str]]:
        return zip(self.pages, self.gists, strict=True)


class GistCache:
    """Pauses and gists of one text, each in a JSON file of its own in `folder`; None: no cache.

    The folder's name is made of the text, the sizes of pages, the decider, the version of the
    prompt, and the question of a gist for a task. So an edited text gets new gists, and a reading
    that was killed goes on at the next page. A file is whole or missing: two processes that read
    the same text at once may both pay, but neither spoils the other's work.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, name: str, key: str, kind: type[Any]) -> Any:
        """The value under `key` in the file of that name, if it is of that kind; else None."""
        if self._folder is None:
            return None
        try:
            value = json.loads((self._folder / f"{name}.json").read_bytes())[key]
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return value if type(value) is kind else None

    def put(self, name: str, values: dict[str, Any]) -> None:
        """Write a file; it is on the disk when this returns. Raises OSError."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(self._folder / f"{name}.json") as file:
                file.write(json.dumps(values, ensure_ascii=False).encode(errors="surrogatepass"))


class GistBuilder:
    """Makes the pages and gists of documents, each once, with one decider.

    `home` is the folder of the caches; None: nothing is kept on the disk. `building` is the cost of
    all pages and gists so far, also where building failed in the end. The sessions of the methods
    count the cost and get notes about failures.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        decider: Decider,
        pagination: Pagination | None = None,
        home: Path | None = None,
    ) -> None:
        self.building = Usage()
        self._documents = documents
        self._decider = decider
        self._pagination = pagination or Pagination()
        self._home = home
        self._failures: Counter[Phase] = Counter()
        self._pages: tuple[TextPassage, ...] | None = None
        self._memories: dict[str, GistMemory] = {}
        self._lock = asyncio.Lock()

    async def pages(self, session: QuestionSession) -> tuple[TextPassage, ...]:
        """The pages of all documents, in their order. Raises DecisionError."""
        async with self._lock:
            if self._pages is None:
                self._pages = await self._make_pages(session)
        return self._pages

    async def memory(self, session: QuestionSession, question: str = "") -> GistMemory:
        """The pages, each with a gist that is not longer. Raises DecisionError.

        With a question the gists are made for just this (the task-aware variant).
        """
        pages = await self.pages(session)
        async with self._lock:
            if question not in self._memories:
                gists = await self._make_gists(pages, session, question)
                self._memories[question] = GistMemory(pages, gists)
        return self._memories[question]

    async def _make_pages(self, session: QuestionSession) -> tuple[TextPassage, ...]:
        documents = {document.text: document for document in self._documents}
        pages: dict[str, list[TextPassage]] = {}

        async def work(document: Document) -> None:
            cache = self._cache(document.text, PauseTask, "pauses")

            async def choose(stretch: Stretch) -> int:
                return await self._choose_pause(document.text, stretch, cache, session)

            pages[document.text] = await paginate(document, self._pagination, choose)

        self._failures.clear()
        await bounded_gather(documents.values(), work, self._decider.concurrency)
        self._note_failures(session, "paginate")
        return tuple(
            replace(page, document=document)
            for document in self._documents
            for page in pages[document.text]
        )

    async def _choose_pause(
        self, text: str, stretch: Stretch, cache: GistCache, session: QuestionSession
    ) -> int:
        name = f"pause-{stretch.start}"
        kept = cache.get(name, "end", int)
        if kept in stretch.points:
            return int(kept)
        pause = await self._decide(stretch.task(text), session)
        if pause is None:
            return stretch.points[-1]
        end = stretch.points[pause.pause]
        await self._keep(cache, name, {"end": end}, session)
        return end

    async def _make_gists(
        self, pages: Sequence[TextPassage], session: QuestionSession, question: str
    ) -> tuple[str, ...]:
        kind = GistForTask if question else GistTask
        texts = dict.fromkeys(page.document.text for page in pages)
        caches = {text: self._cache(text, kind, "gists", question) for text in texts}
        gists: dict[str, str] = {}

        async def work(page: TextPassage) -> None:
            cache = caches[page.document.text]
            gist = await self._make_gist(page, question, cache, session)
            gists[page.text] = gist if words_in(gist) < words_in(page.text) else page.text

        self._failures.clear()
        distinct: dict[str, TextPassage] = {}
        for page in pages:
            distinct.setdefault(page.text, page)
        await bounded_gather(distinct.values(), work, self._decider.concurrency)
        self._note_failures(session, "gist")
        return tuple(gists[page.text] for page in pages)

    async def _make_gist(
        self, page: TextPassage, question: str, cache: GistCache, session: QuestionSession
    ) -> str:
        name = f"gist-{page.start}-{page.start + len(page.text)}"
        gist = cache.get(name, "gist", str)
        if gist is None:
            task = GistForTask(page.text, question) if question else GistTask(page.text)
            decision = await self._decide(task, session)
            if decision is None:
                return page.text
            gist = decision.gist.strip()
            await self._keep(cache, name, {"gist": gist}, session)
        return str(gist)

    def _cache(self, text: str, task: type[Task[Any]], *kind: str) -> GistCache:
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
        return GistCache(self._home / name[:2] / name)

    async def _keep(
        self, cache: GistCache, name: str, values: dict[str, Any], session: QuestionSession
    ) -> None:
        """Write to the cache; a note says if that fails."""
        try:
            await asyncio.to_thread(cache.put, name, values)
        except OSError as error:
            reason = f"Gists cannot be kept in {self._home} ({error.strerror})"
            if not any(note.startswith(reason) for note in session.notes):
                session.notes.append(f"{reason}: they are made anew next time.")

    async def _decide(self, task: Task[D], session: QuestionSession) -> D | None:
        """The decision; None where the decider gives none that can be used."""
        try:
            result = await self._decider.decide(task, session.budget)
        except WindowError as error:
            raise WindowError(
                f"A page of up to {self._pagination.max_words:,} words does not fit the window: "
                "choose smaller pages, or set GRAPHREADER_LONG_WINDOW higher."
            ) from error
        except DecisionError as error:
            self.building += error.spent
            session.count(error.spent, task.phase)
            if not isinstance(error, ReplyError):
                error.spent = session.usage
                raise
            self._failures[task.phase] += 1
            return None
        self.building += result.usage
        session.count(result.usage, task.phase)
        return result.decision

    def _note_failures(self, session: QuestionSession, phase: Phase) -> None:
        if number := self._failures[phase]:
            session.notes.append(_FAILURES[phase].format(number))
