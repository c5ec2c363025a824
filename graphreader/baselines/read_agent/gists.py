"""The gist memory (section 3.1): a text is cut into pages, and each page is shortened to a gist.

A prompt shows up to `max_words` words, with a tag at the end of each paragraph from `min_words` on,
or of each sentence if no paragraph ends there. The decider chooses one tag as the pause point. A
Chinese or Japanese character is a word. Without a valid decision a page ends where it is full, or
is its own gist, with a note.
"""

import asyncio
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, TypeVar

from graphreader import tokens
from graphreader.baselines.read_agent.tasks import GistForTask, GistTask, MemoryPage, PauseTask
from graphreader.baselines.session import QuestionSession, TextPassage
from graphreader.documents import Document
from graphreader.errors import DecisionError, ReplyError, WindowError
from graphreader.files import atomic_write
from graphreader.ingestion.chunking import in_grapheme
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import Decider, Decision, Task
from graphreader.sync import bounded_gather
from graphreader.text.lines import line_spans
from graphreader.text.scripts import FULL_WIDTH_SIGNS, HAN, KANA
from graphreader.text.sentences import sentence_spans
from graphreader.usage import Phase, Usage

LONGEST_WORD = 40  # characters
_CJK = f"{KANA}{HAN}"
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}{FULL_WIDTH_SIGNS}]{{1,{LONGEST_WORD}}}")


def words_in(text: str) -> int:
    """Count the words of a text; a Chinese or Japanese character is a word."""
    return sum(1 for _ in _WORD.finditer(text))


@dataclass(frozen=True, slots=True)
class Pagination:
    """The sizes of pages: least and most words; the last page of a document may be shorter."""

    min_words: int = 280
    max_words: int = 600

    @classmethod
    def of(cls, words: str | None) -> "Pagination | None":
        """Parse a setting such as "280-600"; None if it is not set."""
        return cls(*map(int, words.split("-"))) if words else None


@dataclass(frozen=True, slots=True)
class PauseOptions:
    """The text from `start` to `end` in which the next page must end, and its pause points."""

    start: int
    end: int
    points: tuple[int, ...]

    def task(self, text: str) -> PauseTask:
        """Make the task that chooses one of the pause points of `text`."""
        parts = tuple(text[a:b] for a, b in pairwise((self.start, *self.points)))
        return PauseTask(parts, text[self.points[-1] : self.end])


class Paginator:
    """The rules for pause points in a text by the sizes of pages, never within a grapheme."""

    def __init__(self, text: str, pagination: Pagination) -> None:
        self._text = text
        self._pagination = pagination
        self._paragraphs = [start for start, _ in line_spans(text)]

    def options_after(self, start: int) -> PauseOptions:
        """List the pause points of a page that begins at `start`, at least its longest end."""
        most = self._pagination.max_words
        words = [word.start() for word in islice(_WORD.finditer(self._text, start), most + 1)]
        if len(words) <= most:
            return PauseOptions(start, len(self._text), (len(self._text),))
        end = next((at for at in words[:0:-1] if not in_grapheme(self._text, at)), words[-1])
        points = self._between(self._paragraphs, words, end)
        points = points or self._between(self._sentences(start, end), words, end)
        return PauseOptions(start, end, points or (end,))

    def _between(self, places: list[int], words: list[int], end: int) -> tuple[int, ...]:
        """The places up to `end` at which a page has enough words to end."""
        least = words[self._pagination.min_words - 1] + 1
        return tuple(places[bisect_left(places, least) : bisect_right(places, end)])

    def _sentences(self, start: int, end: int) -> list[int]:
        """The starts of the sentences before `end`, in the paragraph that contains it."""
        paragraph = self._paragraphs[max(0, bisect_right(self._paragraphs, end) - 1)]
        begin = max(start, paragraph)
        return [begin + at for at, _ in islice(sentence_spans(self._text[begin:end]), 1, None)]


async def paginate(
    document: Document, pagination: Pagination, choose: Callable[[PauseOptions], Awaitable[int]]
) -> list[TextPassage]:
    """Cut a document into pages; `choose` returns one of several pause points."""
    text = document.text
    if not text.strip():
        return []
    paginator = Paginator(text, pagination)
    pages: list[TextPassage] = []
    start = 0
    while start < len(text):
        options = paginator.options_after(start)
        points = options.points
        end = points[0] if len(points) == 1 else await choose(options)
        page = text[start:end]
        pages.append(TextPassage(document, len(pages), start, page, tokens.count(page)))
        start = end
    return pages


_SHORTEST_LV_EVAL = 12_000  # tokens; contexts built for 16k can be shorter than 16k
_ABOVE_64K = 96_000  # tokens
_SUBSETS: Mapping[str, Pagination] = {
    "book": Pagination(500, 3_000),
    "script": Pagination(600, 1_000),
}


def preset_for(length: int | None, subset: str = "") -> Pagination:
    """The sizes of pages in the papers for a context of `length` tokens (appendix D).

    None is a text of a dataset in its own length. NarrativeQA's books and scripts have sizes of
    their own (docs/evaluation.md).
    """
    if subset in _SUBSETS:
        return _SUBSETS[subset]
    if length is None or length < _SHORTEST_LV_EVAL:
        return Pagination(280, 600)
    return Pagination(1_000, 5_000) if length < _ABOVE_64K else Pagination(2_000, 10_000)


_FAILURES: Mapping[Phase, str] = {
    "paginate": "Some pauses could not be chosen: there a page ends where it is full.",
    "gist": "Some pages could not be shortened: they stand for their gists.",
}
D = TypeVar("D", bound=Decision)


@dataclass(frozen=True)
class GistMemory:
    """Pages and their gists; where a gist would not be shorter, it is the page itself."""

    pages: tuple[TextPassage, ...]
    gists: tuple[str, ...]

    @property
    def words(self) -> int:
        """The number of words of all pages."""
        return sum(page for page, _ in self._words)

    def compression(self, looked_up: Collection[int] = ()) -> float:
        """The share of words saved by gists, from 0 to 1, if pages `looked_up` are in full."""
        kept = sum(words[n not in looked_up] for n, words in enumerate(self._words, 1))
        return 1 - kept / self.words if self.words else 0.0

    def sizes(self) -> Mapping[str, float]:
        """The number of pages, words of pages and of gists, and the compression by gists alone."""
        return {
            "pages": len(self.pages),
            "words": self.words,
            "gist_words": sum(gist for _, gist in self._words),
            "gists": round(self.compression(), 4),
        }

    def remembered(self) -> tuple[MemoryPage, ...]:
        """The pages and gists for prompts, with titles if there are several documents."""
        several = len({page.document.id for page in self.pages}) > 1
        return tuple(
            MemoryPage(gist, page.text, page.document.title if several and not page.index else "")
            for page, gist in self._pairs()
        )

    def pages_without_gist(self) -> list[TextPassage]:
        """The pages that stand for themselves, as they have no shorter gist."""
        return [page for page, gist in self._pairs() if page.text == gist]

    @cached_property
    def _words(self) -> list[tuple[int, int]]:
        return [(words_in(page.text), words_in(gist)) for page, gist in self._pairs()]

    def _pairs(self) -> Iterable[tuple[TextPassage, str]]:
        return zip(self.pages, self.gists, strict=True)


def _read_kept(folder: Path | None, name: str, key: str) -> Any:
    """Read the value of `key` in the file of a decision; None without a readable file."""
    try:
        return json.loads((folder / f"{name}.json").read_bytes()).get(key) if folder else None
    except (OSError, ValueError):
        return None


def _write_kept(folder: Path | None, name: str, values: Mapping[str, Any]) -> None:
    """Write the file of a decision and wait until it is on disk. Raises OSError."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / f"{name}.json") as file:
            file.write(json.dumps(values).encode())


class GistBuilder:
    """The builder of pages and gists: it makes each once, with one decider.

    `home` is the folder of stored decisions. `built` is the cost so far by phases; the sessions
    count it as well.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        decider: Decider,
        pagination: Pagination | None = None,
        home: Path | None = None,
    ) -> None:
        self.built: dict[Phase, Usage] = {}
        self._documents = documents
        self._decider = decider
        self._pagination = pagination or Pagination()
        self._home = home
        self._pages: tuple[TextPassage, ...] | None = None
        self._memories: dict[str, GistMemory] = {}
        self._lock = asyncio.Lock()

    async def pages(self, session: QuestionSession) -> tuple[TextPassage, ...]:
        """Make the pages of all documents, in their order. Raises DecisionError."""
        async with self._lock:
            if self._pages is None:
                self._pages = await self._make_pages(session)
        return self._pages

    async def memory(self, session: QuestionSession, question: str = "") -> GistMemory:
        """Make the gist memory, for one question or for all questions. Raises DecisionError."""
        pages = await self.pages(session)
        async with self._lock:
            if question not in self._memories:
                gists = await self._make_gists(pages, session, question)
                self._memories[question] = GistMemory(pages, gists)
        return self._memories[question]

    async def _make_pages(self, session: QuestionSession) -> tuple[TextPassage, ...]:
        pages: dict[str, list[TextPassage]] = {}

        async def work(document: Document) -> None:
            folder = self._folder(document.text, PauseTask, "pauses")

            async def choose(options: PauseOptions) -> int:
                return await self._choose_pause(document.text, options, folder, session)

            pages[document.id] = await paginate(document, self._pagination, choose)

        await bounded_gather(self._documents, work, self._decider.concurrency)
        return tuple(page for document in self._documents for page in pages[document.id])

    async def _choose_pause(
        self, text: str, options: PauseOptions, folder: Path | None, session: QuestionSession
    ) -> int:
        name = f"pause-{options.start}"
        if (kept := _read_kept(folder, name, "end")) in options.points:
            return int(kept)
        pause = await self._decide(options.task(text), session)
        if pause is None:
            return options.points[-1]
        end = options.points[pause.pause]
        await self._keep(folder, name, {"end": end}, session)
        return end

    async def _make_gists(
        self, pages: Sequence[TextPassage], session: QuestionSession, question: str
    ) -> tuple[str, ...]:
        kind = GistForTask if question else GistTask
        texts = {page.document.text for page in pages}
        folders = {text: self._folder(text, kind, "gists", question) for text in texts}
        gists: dict[str, str] = {}

        async def work(page: TextPassage) -> None:
            folder = folders[page.document.text]
            gist = await self._make_gist(page, question, folder, session)
            gists[page.text] = gist if words_in(gist) < words_in(page.text) else page.text

        distinct = {page.text: page for page in pages}
        await bounded_gather(distinct.values(), work, self._decider.concurrency)
        return tuple(gists[page.text] for page in pages)

    async def _make_gist(
        self, page: TextPassage, question: str, folder: Path | None, session: QuestionSession
    ) -> str:
        name = f"gist-{page.start}-{page.start + len(page.text)}"
        if (gist := _read_kept(folder, name, "gist")) is None:
            task = GistForTask(page.text, question) if question else GistTask(page.text)
            decision = await self._decide(task, session)
            if decision is None:
                return page.text
            gist = decision.gist.strip()
            await self._keep(folder, name, {"gist": gist}, session)
        return str(gist)

    async def _keep(
        self, folder: Path | None, name: str, values: Mapping[str, Any], session: QuestionSession
    ) -> None:
        """Store a decision in its file; a disk error becomes a note of the reading."""
        try:
            await asyncio.to_thread(_write_kept, folder, name, values)
        except OSError as error:
            note = (
                f"Gists cannot be kept in {self._home} ({error.strerror or error}): another "
                "reading makes them again."
            )
            if note not in session.notes:
                session.notes.append(note)

    def _folder(self, text: str, task: type[Task[Any]], *kind: str) -> Path | None:
        """The folder of the decisions of a task on a text; None if decisions are not stored.

        The name is a hash of all that shapes them: text, sizes, decider, prompt version, question.
        """
        if self._home is None:
            return None
        decider, prompts = self._decider, self._decider.prompts
        if isinstance(decider, LanguageModelDecider):
            prompts = decider.prompts_of(task)
        sha = sha256(text.encode(errors="surrogatepass")).hexdigest()
        sizes = (self._pagination.min_words, self._pagination.max_words)
        parts = (sha, *sizes, decider.name, prompts, *kind)
        name = sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()[:32]
        return self._home / name[:2] / name

    async def _decide(self, task: Task[D], session: QuestionSession) -> D | None:
        """Take a decision; None, with a note, if the decider gives no valid decision."""
        try:
            result = await self._decider.decide(task, session.budget)
        except WindowError as error:
            raise WindowError(
                f"A page of up to {self._pagination.max_words:,} words does not fit the window: "
                "set GRAPHREADER_PAGE_WORDS to smaller pages, or GRAPHREADER_LONG_WINDOW higher."
            ) from error
        except DecisionError as error:
            self._count(error.spent, task.phase, session)
            if not isinstance(error, ReplyError):
                error.spent = session.usage
                raise
            if _FAILURES[task.phase] not in session.notes:
                session.notes.append(_FAILURES[task.phase])
            return None
        self._count(result.usage, task.phase, session)
        return result.decision

    def _count(self, usage: Usage, phase: Phase, session: QuestionSession) -> None:
        self.built[phase] = self.built.get(phase, Usage()) + usage
        session.count(usage, phase)
