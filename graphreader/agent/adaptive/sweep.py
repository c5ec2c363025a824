"""A sweep of mode `adaptive`: every passage in scope is read once, for lists, counts, summaries.

The passages are read side by side, a window each, by decisions that collect entries with quotes.
Entries about one thing are put together afterwards (`notebook`). The coverage says which passages
were read, which were left out, and why.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import ClassVar

from graphreader.agent.adaptive.notebook import KeptFinding, is_long, may_be_one, put_together
from graphreader.agent.adaptive.state import OWN_PATH
from graphreader.agent.adaptive.tasks import Action, passage_number
from graphreader.agent.adaptive.within import part_of
from graphreader.agent.citations import add_quotes
from graphreader.agent.context import RunContext, wasted_costs
from graphreader.agent.events import SweepProgress, SweepRefused
from graphreader.agent.notebook import batches
from graphreader.agent.state import Costs, Plain, add_costs
from graphreader.documents import ChunkInDocument
from graphreader.errors import BudgetError, CutOffError, DecisionError, WindowError
from graphreader.llm.protocols import Decision, Task, folded
from graphreader.store.records import ChunkPlace, CorpusPart
from graphreader.text.sentences import sentence_spans
from graphreader.tokens import count
from graphreader.usage import Phase

MOST_PLACES = 50_000  # chunks that a sweep looks at: 100 million tokens of the longest
MOST_WITH = 10_000  # facts and passages that are found for one word of a scope
PROMPT_TOKENS = 800  # of one decision, without the passages
TEXTS_AT_ONCE = 50  # texts that are requested from the graph at once
NAMED = 10  # passages that the coverage names
LEAST_POINTS = 3  # points of a summary that one decision gives
POINT_TOKENS, TOKENS_A_POINT = 45, 150  # the length of a point, and of the text that it stands for
TITLE_TOKENS = 60  # of the title of a passage, with its headings
MOST_IN_FULL = 16_000  # tokens of passages that a run may read itself, in one prompt
MOST_AT_ONCE = 6_000  # tokens of passages in one decision: in a longer text a model overlooks more

_OR = re.compile(r"\s+or\s+|\s*[,;|/，；、]\s*|\s*或者?\s*", re.IGNORECASE)


class Entry(Decision):
    """A thing that a passage has, with the words that bear it out."""

    item: str
    text: str
    passage: str
    quote: str


class Collected(Decision):
    """All entries of the passages of one decision."""

    entries: list[Entry]


@dataclass(frozen=True, slots=True)
class SweptPassage:
    """A passage, or a part of one, as a prompt shows it."""

    number: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CollectTask(Task[Collected]):
    """Collect what the question asks for from passages in full."""

    prompt = "collect"
    decision = Collected
    phase: ClassVar[Phase] = "explore"
    divisible = True
    reply_tokens = 3000
    question: str
    what: str
    passages: tuple[SweptPassage, ...]
    points: int = 8

    def values(self) -> dict[str, str]:
        """The question, what to collect, the points of a summary, and the passages with titles."""
        passages = (f"[{one.number}] {folded(one.title)}\n{one.text}" for one in self.passages)
        return {
            "question": self.question,
            "what": folded(self.what),
            "points": str(self.points),
            "passages": "\n\n".join(passages),
        }


@dataclass(slots=True)
class SweepResult:
    """The outcome of a sweep: findings, the run's quotes, a sentence on its coverage, the cost.

    `read` has the ids of the chunks that were read, by number. `texts` are chunks that were not
    read here, since they fit the next prompt of the run.
    """

    coverage: str
    texts: list[ChunkInDocument] = field(default_factory=list)
    findings: list[KeptFinding] = field(default_factory=list)
    quotes: list[Plain] = field(default_factory=list)
    read: dict[str, str] = field(default_factory=dict)
    costs: Costs = field(default_factory=lambda: Costs())


class Sweep:
    """A sweep for a question; `number` gives the number of a passage by document and index.

    Each reading is announced to `announce`.
    """

    def __init__(
        self,
        context: RunContext,
        question: str,
        documents: Sequence[str],
        number: Callable[[str, int], str],
        announce: Callable[[SweepProgress | SweepRefused], None],
    ) -> None:
        self._context = context
        self._question = question
        self._documents = documents
        self._number = number
        self._announce = announce
        self._chunks: dict[str, ChunkInDocument] = {}  # by number
        self._done = self._total = self._entries = self._points = 0

    async def run(
        self, action: Action, quotes: Sequence[Plain], room: int, spare: int = 0
    ) -> SweepResult:
        """Read every passage in the scope of the action; findings shall fit `room` tokens.

        Passages of at most `spare` tokens in all are returned instead, for the run's next prompt.
        """
        limits = self._context.limits
        places, scope = await self._scope(action.within)
        windows = list(batches(places, tokens_at_once(limits.window), lambda one: one.tokens))
        size = sum(one.tokens for one in places)
        if not places:
            return SweepResult(f"Nothing to read{scope}.")
        if limits.sweep == "never":
            return SweepResult("This run may not sweep.")
        if size > limits.sweep_tokens:
            refused = SweepRefused(OWN_PATH, action.argument, len(places), size, len(windows))
            self._announce(refused)
            return SweepResult(
                f"No sweep: it would read {len(places):,} passages, {size:,} tokens, by "
                f"{len(windows):,} calls. More than {limits.sweep_tokens:,} tokens must be "
                f"allowed: --sweep-tokens {size}."
            )
        if size + TITLE_TOKENS * len(places) <= min(spare, MOST_IN_FULL):
            await self._texts(places)
            coverage = f"All {len(self._chunks):,} passages{scope}, in full."
            return SweepResult(coverage, list(self._chunks.values()))
        self._total = len(places)
        self._points = room // POINT_TOKENS // len(windows)
        # All texts come first: decisions that are requested in one order are kept by it.
        await self._texts(places)
        outcomes = await asyncio.gather(*(self._read(action.argument, one) for one in windows))
        outcome = reduce(_Outcome.joined, outcomes)
        findings, kept = _verified(outcome.entries, self._chunks, quotes)
        things, costs = findings, outcome.costs
        if len(windows) > 1 and (may_be_one(findings) or is_long(findings, room)):
            things, cost = await put_together(self._context, self._question, findings, room)
            costs = add_costs(costs, cost)
        ids = {self._number(one.document_id, one.index): one.id for one in places}
        read = {number: id_ for number, id_ in ids.items() if number not in outcome.failed}
        parts = [
            f"{len(read):,} of {len(places):,} passages read{scope}, {size:,} tokens",
            f"{len(findings)} entries about {len(things)} things",
        ]
        if without := sum(one["quote"] is None for one in findings):
            parts.append(f"{without} entries without a quote that stands in its passage")
        if failed := list(outcome.failed):
            more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
            reason = outcome.failed[failed[0]].rstrip(".")
            parts.append(f"not read: {', '.join(failed[:NAMED])}{more} ({reason})")
        return SweepResult(f"{'; '.join(parts)}.", [], things, kept, read, costs)

    async def _scope(self, within: str) -> tuple[list[ChunkPlace], str]:
        """Return the places in a scope, and a phrase about it: documents and parts, or words."""
        explorer = self._context.explorer
        wanted = [one for one in _OR.split(within.strip()) if one]
        part = part_of(within, self._documents)
        if isinstance(part, CorpusPart):
            places = await explorer.places(MOST_PLACES, part)
            if places or not part.has_days:  # else the date may stand in the texts as a word
                return places, f" of {folded(within)}" if wanted else ""
        places = await explorer.places(MOST_PLACES)
        ids = await explorer.chunks_with(wanted, MOST_WITH)
        chosen = [one for one in places if one.id in ids]
        left = len(places) - len(chosen)
        return chosen, f" with {' or '.join(wanted)} ({left:,} others have no such name or word)"

    async def _texts(self, places: Sequence[ChunkPlace]) -> None:
        """Read the texts of the places; chunks that are deleted meanwhile are left out."""
        for at in range(0, len(places), TEXTS_AT_ONCE):
            ids = [one.id for one in places[at : at + TEXTS_AT_ONCE]]
            for chunk in await asyncio.gather(*map(self._context.explorer.chunk, ids)):
                if chunk:
                    self._chunks[self._number(chunk.document_id, chunk.index)] = chunk

    async def _read(self, what: str, places: Sequence[ChunkPlace]) -> "_Outcome":
        """Collect the entries of a window of places."""
        numbers = [self._number(one.document_id, one.index) for one in places]
        chunks = {number: self._chunks[number] for number in numbers if number in self._chunks}
        passages = tuple(
            SweptPassage(number, _title(one), one.text) for number, one in chunks.items()
        )
        outcome = await self._collect(what, passages) if passages else _Outcome([], {}, {})
        self._done += len(places)
        self._entries += len(outcome.entries)
        self._announce(SweepProgress(OWN_PATH, what, self._done, self._total, self._entries))
        return outcome

    async def _collect(self, what: str, passages: tuple[SweptPassage, ...]) -> "_Outcome":
        """Collect the entries of a window, in halves if it is long; a failure is tried again."""
        size = sum(count(one.text) for one in passages)
        points = max(LEAST_POINTS, min(self._points, size // TOKENS_A_POINT))
        task = CollectTask(self._question, what, passages, points)
        costs = Costs()
        for is_last in (False, True):
            try:
                decision, _, cost = await self._context.decide(task)
            except (CutOffError, WindowError) as error:
                costs = add_costs(costs, wasted_costs(error, task.phase))
                halves = _halves(passages)
                if len(halves) < 2:
                    return _Outcome([], _failed(passages, error), costs)
                parts = await asyncio.gather(*(self._collect(what, one) for one in halves))
                return reduce(_Outcome.joined, parts, _Outcome([], {}, costs))
            except DecisionError as error:
                costs = add_costs(costs, wasted_costs(error, task.phase))
                if is_last or isinstance(error, BudgetError):
                    return _Outcome([], _failed(passages, error), costs)
            else:
                break
        numbers = {one.number for one in passages}
        entries = [
            (number if (number := passage_number(one.passage)) in numbers else min(numbers), one)
            for one in decision.entries
            if one.text.strip()
        ]
        return _Outcome(entries, {}, add_costs(costs, cost))


def tokens_at_once(window: int) -> int:
    """The tokens of passages in one decision of a sweep."""
    return min(window - PROMPT_TOKENS, MOST_AT_ONCE)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The entries of a window with their passages' numbers; passages that failed, and why."""

    entries: list[tuple[str, Entry]]
    failed: dict[str, str]
    costs: Costs

    def joined(self, other: "_Outcome") -> "_Outcome":
        """Join it with the outcome of what follows."""
        return _Outcome(
            [*self.entries, *other.entries],
            {**self.failed, **other.failed},
            add_costs(self.costs, other.costs),
        )


def _title(chunk: ChunkInDocument) -> str:
    end = "" if chunk.subsequent else "(end of the document)"
    return " › ".join(filter(None, [chunk.document, *chunk.heading_path, end]))


def _failed(passages: Sequence[SweptPassage], error: Exception) -> dict[str, str]:
    return {one.number: str(error) for one in passages}


def _halves(passages: tuple[SweptPassage, ...]) -> list[tuple[SweptPassage, ...]]:
    """Divide a window between passages; a single passage between sentences."""
    if len(passages) > 1:
        half = len(passages) // 2
        return [passages[:half], passages[half:]]
    (passage,) = passages
    starts = [start for start, _ in sentence_spans(passage.text)]
    if len(starts) < 2:
        return [passages]
    middle = min(starts[1:], key=lambda start: abs(start - len(passage.text) / 2))
    texts = passage.text[:middle], passage.text[middle:]
    return [(replace(passage, text=text),) for text in texts]


def _verified(
    entries: Sequence[tuple[str, Entry]],
    chunks: Mapping[str, ChunkInDocument],
    quotes: Sequence[Plain],
) -> tuple[list[KeptFinding], list[Plain]]:
    """The entries as findings, each once, and the run's quotes with their verified quotes."""
    kept = list(quotes)
    findings: dict[tuple[str, str], KeptFinding] = {}
    for number, entry in entries:
        located = add_quotes([], chunks[number], [entry.quote])
        kept += [quote for quote in located if quote not in kept]
        places = [kept.index(quote) for quote in located]
        findings.setdefault(
            (folded(entry.text), number),
            {
                "text": folded(entry.text),
                "passage": number,
                "quote": places[0] if places else None,
                "more": places[1:],
                "item": folded(entry.item),
            },
        )
    return list(findings.values()), kept
