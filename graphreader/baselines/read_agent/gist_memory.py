"""The gist memory: the gists of all pages in their order, with what they were made from."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from graphreader.baselines.passages import Passage
from graphreader.baselines.read_agent.words import words_in
from graphreader.deciding.episodes import MemoryPage


@dataclass(frozen=True)
class GistMemory:
    """`gists[n]` is that of `pages[n]`; in prompts both are page n + 1, through all documents.

    A gist that would not be shorter than its page is the page itself. `notes` say what a person
    should know of how it was made.
    """

    pages: tuple[Passage, ...]
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

    def _pairs(self) -> Iterable[tuple[Passage, str]]:
        return zip(self.pages, self.gists, strict=True)
