"""The notebook of mode `adaptive`: findings with their quotes, and how a long one is made shorter.

A finding never vanishes: findings about one thing are put together by decisions, and what a prompt
has no room for is shown by its name and places, or named by its numbers.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, NotRequired

from typing_extensions import TypedDict

from graphreader.agent.context import RunContext, wasted_costs
from graphreader.agent.notebook import batches
from graphreader.agent.state import Costs, Plain, add_costs
from graphreader.errors import CutOffError, DecisionError, WindowError
from graphreader.llm.protocols import Decision, Task, bulleted, folded, numbered
from graphreader.text.names import names_of
from graphreader.text.words import fold, terms_of
from graphreader.tokens import count
from graphreader.usage import Phase

LEAST_ROOM = 900  # tokens of findings that every prompt has room for
BESIDE_FINDINGS = 1_400  # tokens of a turn's prompt without notebook and results
NUMBER = 4  # tokens of the number before a finding
BESIDE_GROUPS = 900  # tokens of a prompt that puts findings together, without these
MOST_ROUNDS = 3  # rounds in which a list of findings is put together
MOST_AT_ONCE = 3000  # tokens of findings that one decision puts together


class KeptFinding(TypedDict):
    """A finding. `quote` and `more` are the indexes of its verified quotes in the run's quotes.

    `passage` names its passages ("3.12, 3.14"); `item` is the name of its thing, if it has one.
    """

    text: str
    passage: str
    quote: int | None
    more: NotRequired[list[int]]
    item: NotRequired[str]


def quotes_of(finding: KeptFinding) -> list[int]:
    """The indexes of the quotes of a finding in the run's quotes."""
    first = [] if finding["quote"] is None else [finding["quote"]]
    return [*first, *finding.get("more", [])]


@dataclass(frozen=True, slots=True)
class Notebook:
    """The notes of a run: needs, findings with the passages and quotes that support them, notes.

    Findings are lines in order; findings before `first` are not shown.
    """

    needs: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    notes: str = ""
    first: int = 0

    def shown(self) -> str:
        """The parts that are not empty; findings are numbered."""
        numbers = range(self.first + 1, len(self.findings) + 1)
        findings = [f"[{n}] {folded(self.findings[n - 1])}" for n in numbers]
        if self.first:
            findings.insert(0, f"([1] to [{self.first}] are kept, but there is no room for them.)")
        parts = {
            "Missing": bulleted(self.needs) if self.needs else "",
            "Not in the texts": bulleted(self.absent) if self.absent else "",
            "Findings": "\n".join(findings),
            "Notes": self.notes.strip(),
        }
        return "\n".join(f"{name}:\n{text}" for name, text in parts.items() if text) or "(empty)"


def room_of(window: int, *, swept: bool = False) -> int:
    """The tokens of findings in a prompt; after a sweep they have most of the window."""
    return max(LEAST_ROOM, window - BESIDE_FINDINGS if swept else window // 4)


def finding_lines(
    findings: Sequence[KeptFinding], quotes: Sequence[Plain], room: int, *, swept: bool = False
) -> tuple[list[str], int]:
    """Write findings in at most `room` tokens; returns the lines, and how many have no room.

    The many of a sweep, or of a long notebook, have no quotes; if they are still too long, things
    that have a name only this and their places.
    """
    lines, sizes = list[str](), list[int]()
    for line in (_with_places, _named) if swept else (_with_quote, _with_places, _named):
        lines = [line(one, quotes) for one in findings]
        sizes = [count(line) + NUMBER for line in lines]
        if sum(sizes) <= room:
            return lines, 0
    first, size = 0, sum(sizes)
    while size > room and first < len(lines) - 1:
        size -= sizes[first]
        first += 1
    return lines, first


def may_be_one(findings: Sequence[KeptFinding]) -> bool:
    """Whether the items of two findings are one, or have names that share a word."""
    items = [one.get("item", "") for one in findings]
    words = [{fold(one)} | terms_of(_names_in(one)) for one in items]
    return any(n > 1 for n in Counter(chain.from_iterable(words)).values()) or not all(items)


def _names_in(item: str) -> str:
    """The names in an item; all of it in a script without capitals, such as Chinese."""
    return item if item.lower() == item.upper() else " ".join(names_of(item))


def is_long(findings: Sequence[KeptFinding], room: int) -> bool:
    """Whether findings have no room even without their quotes."""
    return sum(count(_with_places(one, ())) + NUMBER for one in findings) > room


def _with_quote(finding: KeptFinding, quotes: Sequence[Plain]) -> str:
    texts = [quotes[place]["quote"] for place in quotes_of(finding)]
    terms = terms_of(finding["text"]) if len(texts) > 1 else frozenset()
    best = max(texts, key=lambda text: len(terms & terms_of(text)), default="")
    quote = f": “{best}”" if best else ": no quote"
    return f"{finding['text']} [{finding['passage']}{quote}]"


def _with_places(finding: KeptFinding, _: Sequence[Plain]) -> str:
    lacks = "" if quotes_of(finding) else ": no quote"
    return f"{finding['text']} [{finding['passage'] or '?'}{lacks}]"


def _named(finding: KeptFinding, quotes: Sequence[Plain]) -> str:
    item = finding.get("item")
    return f"{item} [{finding['passage']}]" if item else _with_places(finding, quotes)


class Group(Decision):
    """Findings about one thing, by number, and one sentence in their place."""

    findings: list[int]
    item: str
    text: str


class Grouped(Decision):
    """The groups of findings that are put together."""

    groups: list[Group]


@dataclass(frozen=True, slots=True)
class GroupTask(Task[Grouped]):
    """Put findings about one thing together; with `room`, a number of tokens, by larger topics."""

    prompt = "group"
    decision = Grouped
    phase: ClassVar[Phase] = "explore"
    reply_tokens = 3000
    question: str
    findings: tuple[str, ...]
    room: int = 0

    def values(self) -> dict[str, str]:
        """The question, the findings with numbers, and the room if it is short."""
        room = (
            f"\n\nThere is room for about {self.room * 3 // 4} words in all. For a summary put "
            "what belongs together into one finding by topic, until it fits; for a list keep "
            "each item, in as few words as possible."
        )
        return {
            "question": self.question,
            "findings": numbered([folded(one) for one in self.findings]),
            "room": room if self.room else "",
        }

    def by_rule(self) -> Grouped:
        """Put nothing together."""
        return Grouped(groups=[])


_Placed = tuple[int, KeptFinding]
"""A finding with its place in the order of all."""


async def put_together(
    context: RunContext, question: str, findings: Sequence[KeptFinding], room: int
) -> tuple[list[KeptFinding], Costs]:
    """Put findings about one thing together, side by side, until they fit `room` or stay apart.

    No finding is lost: what no decision names, or a failed decision was to put together, stays as
    it is. Returns the findings in their order, and the cost.
    """
    kept, costs = list(enumerate(findings)), Costs()
    for number in range(MOST_ROUNDS):
        before = len(kept)
        most = min(context.limits.window - BESIDE_GROUPS, MOST_AT_ONCE)
        parts = list(batches(kept, most, _size))
        if len(parts) > 1:  # what may be one thing comes together
            alike = sorted(kept, key=lambda pair: fold(pair[1].get("item", "")))
            parts = list(batches(alike, most, _size))
        short = room // len(parts) if is_long([one for _, one in kept], room) else 0
        results = await asyncio.gather(
            *(_grouped(context, question, part, short) for part in parts)
        )
        kept = [one for own, _ in results for one in own]
        for _, cost in results:
            costs = add_costs(costs, cost)
        fits = not is_long([one for _, one in kept], room)
        if (fits and len(parts) == 1) or (number and len(kept) == before):
            break
    return [one for _, one in sorted(kept, key=lambda pair: pair[0])], costs


async def _grouped(
    context: RunContext, question: str, findings: Sequence[_Placed], room: int
) -> tuple[list[_Placed], Costs]:
    """Put findings together by one decision, or by two if its reply or prompt is too long."""
    lines = tuple(_numbered_line(one) for _, one in findings)
    task = GroupTask(question, lines, room)
    if len(findings) < 2:
        return list(findings), {}
    try:
        decision, _, costs = await context.decide(task)
    except (CutOffError, WindowError) as error:
        half, costs = len(findings) // 2, wasted_costs(error, task.phase)
        parts = [
            await _grouped(context, question, part, room // 2)
            for part in (findings[:half], findings[half:])
        ]
        for _, cost in parts:
            costs = add_costs(costs, cost)
        return [one for own, _ in parts for one in own], costs
    except DecisionError as error:
        return list(findings), wasted_costs(error, task.phase)
    together: list[_Placed] = []
    taken = set[int]()
    for group in decision.groups:
        numbers = [n for n in dict.fromkeys(group.findings) if 1 <= n <= len(findings)]
        members = [findings[n - 1] for n in numbers if n not in taken]
        if members:
            taken.update(numbers)
            together.append((min(at for at, _ in members), _joined(group, members)))
    rest = [one for n, one in enumerate(findings, 1) if n not in taken]
    return [*together, *rest], costs


def _joined(group: Group, members: Sequence[_Placed]) -> KeptFinding:
    """One finding with the places and quotes of all members."""
    first = members[0][1]
    passages = dict.fromkeys(
        place for _, one in members for place in one["passage"].split(", ") if place
    )
    quotes = list(dict.fromkeys(chain.from_iterable(quotes_of(one) for _, one in members)))
    joined: KeptFinding = {
        "text": folded(group.text) or first["text"],
        "passage": ", ".join(passages),
        "quote": quotes[0] if quotes else None,
        "more": quotes[1:],
    }
    if item := folded(group.item) or first.get("item", ""):
        joined["item"] = item
    return joined


def _size(placed: _Placed) -> int:
    return count(_numbered_line(placed[1])) + 4


def _numbered_line(finding: KeptFinding) -> str:
    item = finding.get("item")
    text = finding["text"]
    return f"{item}: {text}" if item and item not in text else text
