"""The tasks of ReadAgent (paper, section 3). Page numbers count from 1, through all documents."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from pydantic import Field

from graphreader.baselines.answering import (
    A,
    Excerpt,
    RefusableAnswer,
    TextAnswer,
    TextChoice,
    answer_by_rule,
    answer_problem,
    choose_by_rule,
)
from graphreader.baselines.read_agent import rules
from graphreader.llm.protocols import Decision, Task, folded, names
from graphreader.offline.evidence import LabelledText
from graphreader.usage import Phase

D = TypeVar("D", bound=Decision)
_RATIONALE = "By word overlap alone: its gist shares most with what is asked."
_PAUSE_TAG = re.compile(r"<(?=\s*\d+\s*>)")
_PAGE_TAG = re.compile(r"<(?=\s*/?\s*(?:page|document)\b)", re.IGNORECASE)


class PausePoint(Decision):
    """The choice of the pause point at which a page ends."""

    rationale: str = Field(
        default="", description="Why reading can pause there, in one short sentence."
    )
    pause: int = Field(description="The number of the tag at which to pause.")


class Gist(Decision):
    """The gist of a page: the page in fewer words."""

    gist: str = Field(description="The shortened passage, and nothing else.")


class LookUp(Decision):
    """The choice of all pages to look up (ReadAgent-P)."""

    rationale: str = Field(
        default="", description="What the gists lack, and why these pages have it, in a sentence."
    )
    pages: list[int] = Field(
        description="The numbers of the pages to read again, the most promising first, as few as "
        "possible. Empty where the gists are enough."
    )


class NextPage(Decision):
    """The choice of the next page to look up, or to stop (ReadAgent-S)."""

    rationale: str = Field(
        default="", description="What is still missing, and why this page has it, in a sentence."
    )
    page: int = Field(description="The number of the one page to read next; 0 to stop.")


@dataclass(frozen=True, slots=True)
class PauseTask(Task[PausePoint]):
    """Choose the pause point at which a page ends (section 3.1); tag n follows `parts[n]`."""

    prompt = "pause"
    decision = PausePoint
    phase = "paginate"
    reply_tokens = 300
    parts: tuple[str, ...]
    after: str = ""

    def values(self) -> Mapping[str, str]:
        """The prompt's values: the text with tags; text that looks like a tag is changed."""
        texts = [_PAUSE_TAG.sub("‹", one).strip() for one in (*self.parts, self.after)]
        tagged = [f"{text}\n<{number}>" for number, text in enumerate(texts[:-1])]
        return {"text": "\n".join([*tagged, texts[-1]]).rstrip()}

    def problem(self, decision: PausePoint) -> str | None:
        """Say why the decision is invalid: the tag is not shown."""
        if not 0 <= decision.pause < len(self.parts):
            last = len(self.parts) - 1
            return f"There is no tag <{decision.pause}>: choose one of <0> to <{last}>."
        return None

    def by_rule(self) -> PausePoint:
        """Choose the pause point whose sides share the fewest words; of equal points the last."""
        return PausePoint(
            rationale="By word overlap alone: here both sides share least.",
            pause=rules.pause_point(self.parts, self.after),
        )


@dataclass(frozen=True, slots=True)
class GistTask(Task[Gist]):
    """Shorten one page to a gist (section 3.1)."""

    prompt = "gist"
    decision = Gist
    phase: ClassVar[Phase] = "gist"
    reply_tokens = 1024
    text: str

    def values(self) -> Mapping[str, str]:
        """The prompt's value: the page."""
        return {"text": self.text}

    def problem(self, decision: Gist) -> str | None:
        """Say why the decision is invalid: the gist is empty."""
        return None if decision.gist.strip() else "The gist is empty: shorten the passage."

    def by_rule(self) -> Gist:
        """Shorten the page to about a fifth."""
        return Gist(gist=rules.gist_of(self.text, ""))


@dataclass(frozen=True, slots=True)
class GistForTask(GistTask):
    """Shorten one page to a gist for one question (the paper's task-aware variant)."""

    prompt = "gist_for_task"
    question: str

    def values(self) -> Mapping[str, str]:
        """The prompt's values: page and question."""
        return {"text": self.text, "question": self.question}

    def by_rule(self) -> Gist:
        """Shorten the page to about a fifth, in which sentences about the question are likelier."""
        return Gist(gist=rules.gist_of(self.text, self.question))


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A page of the gist memory; `title` is the title of a document that begins here, or empty."""

    gist: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class MemoryTask(Task[D]):
    """A task over the gist memory; the pages with numbers in `read` are in full if they fit."""

    ranked: ClassVar[str] = "read"
    question: str
    memory: tuple[MemoryPage, ...]
    read: tuple[int, ...] = field(default=(), kw_only=True)
    options: tuple[str, ...] = field(default=(), kw_only=True)

    def remembered(self) -> str:
        """Format the memory: every page with its tag, in order, in full or as its gist."""
        return "\n\n".join(self._shown(n, page) for n, page in enumerate(self.memory, 1))

    def memory_values(self) -> dict[str, str]:
        """The values that all prompts over the memory have."""
        options = f"\nOptions:\n{names(self.options)}"
        return {
            "memory": self.remembered(),
            "question": self.question + (options if self.options else ""),
        }

    def pages_in_full(self) -> dict[str, str]:
        """The prompt's value `read`: the numbers of pages in full, or without a shorter gist."""
        pages = enumerate(self.memory, 1)
        numbers = [n for n, page in pages if n in self.read or page.gist == page.text]
        return {"read": ", ".join(map(str, numbers)) or "none"}

    def excerpts(self) -> list[Excerpt]:
        """The pages or gists of the memory, with the titles of their documents."""
        title, excerpts = "", []
        for number, page in enumerate(self.memory, 1):
            title = page.title or title
            text = page.text if number in self.read else page.gist
            excerpts.append(Excerpt(title, text, number))
        return excerpts

    def _shown(self, number: int, page: MemoryPage) -> str:
        words = _PAGE_TAG.sub("‹", page.text if number in self.read else page.gist).strip()
        title = f"<Document: {_PAGE_TAG.sub('‹', folded(page.title))}>\n" if page.title else ""
        return f"{title}<Page {number}>\n{words}"


@dataclass(frozen=True, slots=True)
class PageChoiceTask(MemoryTask[D]):
    """The base of tasks that choose pages to look up (section 3.2), at most `most` pages."""

    phase: ClassVar[Phase] = "look_up"
    reply_tokens: ClassVar[int] = 400
    most: int

    def whole_question(self) -> str:
        """The question with its options."""
        return " ".join((self.question, *self.options))

    def labelled(self) -> list[LabelledText]:
        """The pages or gists of the memory, for the rules."""
        return [LabelledText(one.label, one.text) for one in self.excerpts()]


class LookUpTask(PageChoiceTask[LookUp]):
    """Choose all pages to look up, as few as possible."""

    __slots__ = ()
    prompt = "look_up"
    decision = LookUp

    def values(self) -> Mapping[str, str]:
        """The prompt's values: memory, question, and the most pages."""
        return {**self.memory_values(), "most": str(self.most)}

    def by_rule(self) -> LookUp:
        """Choose the pages whose gists cover most of the question, while each adds something."""
        pages = rules.best_pages(self.whole_question(), self.labelled(), self.most)
        return LookUp(rationale=_RATIONALE, pages=pages)


class NextPageTask(PageChoiceTask[NextPage]):
    """Choose one more page to look up, or stop."""

    __slots__ = ()
    prompt = "next_page"
    decision = NextPage

    def values(self) -> Mapping[str, str]:
        """The prompt's values: memory, question, pages in full, and the most further pages."""
        return self.memory_values() | self.pages_in_full() | {"most": str(self.most)}

    def shortcoming(self, decision: NextPage) -> str | None:
        """Object to a page that is unknown or in full; a second such page means to stop."""
        if decision.page in self.read:
            return f"Page {decision.page} stands there in full: name another one, or 0 to stop."
        if not 0 <= decision.page <= len(self.memory):
            return f"There is no page {decision.page}: name one that is there, or 0 to stop."
        return None

    def by_rule(self) -> NextPage:
        """Choose the page whose gist adds most to the pages read; none if these have the answer."""
        known = self.whole_question(), self.labelled(), self.read
        if rules.is_covered(*known):
            return NextPage(rationale="The pages read hold what is asked.", page=0)
        return NextPage(rationale=_RATIONALE, page=rules.next_page(*known))


@dataclass(frozen=True, slots=True)
class FinalMemoryTask(MemoryTask[A]):
    """The base of tasks that answer from the memory, with looked-up pages in place of gists."""

    phase: ClassVar[Phase] = "answer"
    reply_tokens: ClassVar[int] = 1500

    def values(self) -> Mapping[str, str]:
        """The prompt's values: memory, question with options if there are any, pages in full."""
        return self.memory_values() | self.pages_in_full()

    def problem(self, decision: A) -> str | None:
        """Say why the answer is invalid, as `answer_problem` does."""
        return answer_problem(decision, self.options)


class MemoryAnswerTask(FinalMemoryTask[TextAnswer]):
    """Answer a question from the memory in free words."""

    __slots__ = ()
    prompt = "memory_answer"
    decision: ClassVar[type[TextAnswer]] = TextAnswer

    def by_rule(self) -> RefusableAnswer:
        """Answer with the few sentences that together support enough of the question."""
        return answer_by_rule(self.question, self.excerpts())


class RefusableMemoryAnswerTask(MemoryAnswerTask):
    """Answer from the memory, or say that it does not have the answer (ours)."""

    __slots__ = ()
    decision = RefusableAnswer


class MemoryChoiceTask(FinalMemoryTask[TextChoice]):
    """Choose one of the options of a question from the memory."""

    __slots__ = ()
    prompt = "memory_choice"
    decision = TextChoice

    def by_rule(self) -> TextChoice:
        """Choose the option of whose distinctive words a sentence has most."""
        return choose_by_rule(self.question, self.options, self.excerpts())
