"""The reading that every reader returns, and the coverage: how much of the texts was shown."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from graphreader.documents import without_surrogates
from graphreader.errors import DecisionError, UsageError
from graphreader.tokens import count as count_tokens
from graphreader.usage import Phase, Usage

OFFLINE = "offline"
"""The name of the decider without a model."""

_TEXTS = ("facts_read", "evidence")
Stopped = Literal["termination", "call_limit", "nothing_left", "budget", "error"]

NOT_IN_THE_TEXTS = {"en": "The texts do not tell.", "zh": "文中没有提到。"}
NO_PASSAGE = {
    "en": "No passage shares enough words with the question.",
    "zh": "没有段落与问题有足够多的共同词语。",
}
"""The refusals of a model, and where there is none."""

Confidence = Literal["stated", "likely", "not in the texts"]
"""The support of an answer by the texts: stated, with one inferred link, or not there."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote that supports the answer, with its document's title and id and its chunk's index.

    `quote` is exactly the slice from `start` to `end` of the document's text; `page`, `heading` and
    `place` ("page 3 (iii)", "sheet Costs, row 7") are where it begins, if known. Without a model
    `score` is the share of the question's words that it has, from 0 to 1, less for a long quote.
    """

    document: str
    document_id: str
    chunk: int
    start: int
    end: int
    quote: str
    page: int | None = None
    heading: str | None = None
    score: float | None = None
    place: str | None = None

    @property
    def place_name(self) -> str:
        """The place, or the page of a citation that an earlier version has kept; "" if unknown."""
        return self.place or (f"page {self.page}" if self.page else "")

    @property
    def where(self) -> str:
        """Document, place and heading in one line: "Report, page 3 (iii), “Costs”"."""
        heading = f"“{self.heading}”" if self.heading else ""
        return ", ".join(filter(None, [self.document, self.place_name, heading]))


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the answer; `citations` are numbers of the reading's citations, from 1."""

    text: str
    citations: tuple[int, ...] = ()

    @property
    def supported(self) -> bool:
        """Whether it has a citation."""
        return bool(self.citations)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A contradiction between documents; `citations`, as of a claim, of all sides."""

    text: str
    citations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A chosen function (paper, section 3.3.2); `at` and `id` name its node or chunk."""

    name: str
    argument: str
    rationale: str
    at: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Path:
    """One exploration from a key element; `calls` is the number of `functions`."""

    initial_node: str
    notebook: str
    calls: int
    stopped: Stopped
    error: str | None = None
    functions: tuple[FunctionCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    node_id: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """An answered question; `notes` are sentences for the user.

    `answer` is the short answer, `explanation` joins the evidence for it in a sentence or two, or
    is empty. `answered` is false if `confidence` is "not in the texts". `citations` has
    each quote of the `claims` and `contradictions` once; if the question is not answered, the
    quotes about it. `usage` is the whole cost, `phases` the same phase by phase. `run` is the id
    under which the run is kept, or empty.

    `documents_read` are the ids of the documents of which a chunk or page was shown in full,
    `passages_read` these slices (the document's id, first character, the one behind the last);
    `facts_read` are the atomic facts that were shown; `tokens_read` counts all of these, each text
    once. `evidence` is the text that the answer was drawn from (paper, appendix E). `compression`
    is the share, from 0 to 1, by which the last prompt's memory was shorter than the texts; it and
    `pages_looked_up` are None for readers that have no pages. `scope` are the terms of the scope
    (`graphreader.scope`) to which the question was limited, if it was.
    """

    question: str
    answer: str
    analysis: str
    answered: bool
    corpus: str
    plan: str
    citations: tuple[Citation, ...] = ()
    paths: tuple[Path, ...] = ()
    usage: Usage = field(default_factory=Usage)
    phases: Mapping[Phase, Usage] = field(default_factory=dict)
    decider: str = ""
    notes: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    run: str = ""
    reader: str = "graphreader"
    documents_read: tuple[str, ...] = ()
    passages_read: tuple[tuple[str, int, int], ...] = ()
    facts_read: tuple[str, ...] = ()
    tokens_read: int = 0
    evidence: str = ""
    pages_looked_up: int | None = None
    compression: float | None = None
    explanation: str = ""
    confidence: Confidence = "stated"
    scope: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Allow "stated" and "likely" only for an answered question."""
        if not self.answered:
            object.__setattr__(self, "confidence", "not in the texts")

    @property
    def kind(self) -> Literal["answer", "passages"]:
        """The kind of the reading: without a model, its citations are passages, best first."""
        return "passages" if self.decider == OFFLINE else "answer"

    @property
    def failure(self) -> DecisionError | None:
        """The first path's error if every path ended with one, so the run has failed; else None."""
        if not self.paths or any(path.stopped != "error" for path in self.paths):
            return None
        error = DecisionError(self.paths[0].error or self.answer)
        error.spent = self.usage
        return error

    def as_dict(self) -> Mapping[str, Any]:
        """Plain JSON types, without `facts_read` and `evidence`, and without an empty `scope`.

        No other key is ever removed.
        """
        claims = [{**asdict(claim), "supported": claim.supported} for claim in self.claims]
        values = {**asdict(self), "claims": claims, "kind": self.kind}
        left_out = _TEXTS if self.scope else (*_TEXTS, "scope")
        return {name: values[name] for name in values if name not in left_out}


class Reader(Protocol):
    """The interface of everything that answers a question about documents."""

    @property
    def name(self) -> str:
        """The name of its kind, for example "rag-bm25-3"."""

    @property
    def window(self) -> int:
        """The largest number of tokens of its prompts."""

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Answer a question; with `options` the answer is one of them, in its own words."""


class Coverage:
    """The texts that the prompts of one question showed, each once.

    Derived texts (such as facts) do not count where a shown passage has them.
    """

    def __init__(self) -> None:
        self._passages: dict[str, dict[int, str]] = {}
        self._derived: dict[str, None] = {}

    def passage(self, document_id: str, start: int, text: str) -> None:
        """Count a slice of a document, from that character on, as shown in full."""
        slices = self._passages.setdefault(document_id, {})
        slices[start] = max(slices.get(start, ""), text, key=len)

    def derived(self, text: str) -> None:
        """Count a shown text that was derived from a document, such as a fact or a gist."""
        self._derived[_folded(text)] = None

    @property
    def documents(self) -> tuple[str, ...]:
        """The ids of the documents of which a passage was shown, by their first passages."""
        return tuple(self._passages)

    @property
    def passages(self) -> tuple[tuple[str, int, int], ...]:
        """The shown passages: document's id, first character, character after the last."""
        return tuple(
            (id_, start, start + len(text))
            for id_, slices in self._passages.items()
            for start, text in slices.items()
        )

    @property
    def tokens(self) -> int:
        """The number of tokens that were shown."""
        once = [_without_overlaps(slices) for slices in self._passages.values()]
        verbatim = "\n".join(_folded(text) for text in once)
        derived = (text for text in self._derived if text not in verbatim)
        return sum(count_tokens(text) for text in (*once, *derived))


def _without_overlaps(slices: dict[int, str]) -> str:
    """The slices of one document in order; overlapping text occurs once."""
    parts, end = [], 0
    for start in sorted(slices):
        text = slices[start]
        parts.append(text[max(0, end - start) :])
        end = max(end, start + len(text))
    return "".join(parts)


def _folded(text: str) -> str:
    return " ".join(text.split())


def check_question(question: object) -> str:
    """Return the question without outer blanks. Raises UsageError if it is empty."""
    if not isinstance(question, str) or not question.strip():
        raise UsageError("The question is empty: ask something.")
    return without_surrogates(question.strip())
