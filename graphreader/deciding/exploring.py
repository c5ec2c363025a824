"""What is asked while a path is explored: a node's facts, a chunk, a node's neighbors.

Each task knows what the path knows so far. Where a decision leads is not decided here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from graphreader import tokens
from graphreader.deciding.decisions import (
    ChunkDecision,
    Decision,
    FactsDecision,
    NeighborDecision,
)
from graphreader.deciding.tasks import Task, bulleted, folded, names, numbered

D = TypeVar("D", bound=Decision)

NOTEBOOK_TOKENS = 550
"""A path's notebook at most: five of them fit into a window of 4,096 tokens with the quotes."""


@dataclass(frozen=True, slots=True)
class ExploringTask(Task[D]):
    """What every step of a path knows; `actions` are the functions chosen before, in words.

    Its `choices` are the actions, the latest first, and the step's own ones, in turn: neither
    crowds out the other where the window is small. `forgotten` counts actions that are not shown.
    """

    question: str
    plan: str
    actions: tuple[str, ...]
    notebook: str
    node: str
    forgotten: int = field(default=0, kw_only=True)

    def problem(self, decision: D) -> str | None:
        """A notebook so long that those of all paths would not fit into one prompt."""
        length = tokens.count(getattr(decision, "notebook", ""))
        if length > NOTEBOOK_TOKENS:
            return f"The notebook has {length} tokens: write it anew with at most 300 words."
        return None

    @property
    def own_choices(self) -> int:
        """How many ranked things the step shows beside the actions."""
        raise NotImplementedError

    def keeping_own(self, number: int) -> Self:
        """The same task with only the best `number` of the step's own choices."""
        raise NotImplementedError

    @property
    def choices(self) -> int:
        """The actions and the step's own choices."""
        return len(self.actions) + self.own_choices

    def keeping(self, number: int) -> Self:
        """The latest actions and the best of the step's own choices, half of each if there are."""
        kept = max(min(number // 2, len(self.actions)), number - self.own_choices)
        forgotten = self.forgotten + len(self.actions) - kept
        latest = self.actions[len(self.actions) - kept :]
        task = replace(self, actions=latest, forgotten=forgotten)
        return task.keeping_own(number - kept)

    def so_far(self) -> dict[str, str]:
        """What stands in every prompt of a path."""
        forgotten = f"({self.forgotten} earlier actions are not shown.)\n" if self.forgotten else ""
        actions = bulleted(self.actions) if self.actions or not forgotten else ""
        return {
            "question": self.question,
            "plan": self.plan,
            "actions": f"{forgotten}{actions}".rstrip(),
            "notebook": self.notebook or "(empty)",
        }


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts of one node that stand in one chunk; `read` where the chunk was read already.

    `more` counts the facts of the same node and chunk that are not shown.
    """

    label: str
    facts: tuple[str, ...]
    read: bool = False
    more: int = 0

    def shown(self) -> str:
        """One line for the chunk and one for each fact."""
        lines = [f"{folded(self.label)}{' (already read)' if self.read else ''}"]
        lines += [f"- {folded(fact)}" for fact in self.facts]
        if self.more:
            lines.append(f"({self.more} more facts of this node stand in this chunk.)")
        return "\n".join(lines)

    def keeping(self, number: int) -> "FactGroup":
        """The first facts."""
        more = self.more + len(self.facts) - number
        return replace(self, facts=self.facts[:number], more=more)


@dataclass(frozen=True, slots=True)
class FactsTask(ExploringTask[FactsDecision]):
    """Look at a node's atomic facts, grouped by chunk, best group first (figure 9).

    Its own choices are the facts; the last group that is shown may lack some of its own.
    """

    prompt = "atomic_facts"
    decision = FactsDecision
    fewest = 1
    groups: tuple[FactGroup, ...]
    left_out: int = 0

    def values(self) -> Mapping[str, str]:
        """Question, plan, actions, notebook, node and the numbered groups of facts."""
        shown = numbered([group.shown() for group in self.groups])
        if self.left_out:
            shown += f"\n({self.left_out} chunks that seem to matter less are not shown.)"
        return self.so_far() | {"node": folded(self.node), "facts": shown}

    def problem(self, decision: FactsDecision) -> str | None:
        """read_chunk without a chunk that was shown and is not read yet."""
        too_long = ExploringTask.problem(self, decision)
        if too_long or decision.function != "read_chunk":
            return too_long
        unread = [n for n, group in enumerate(self.groups, 1) if not group.read]
        if not set(decision.chunks) & set(unread):
            return (
                f"read_chunk needs the numbers of chunks that are not read yet, out of {unread}."
                if unread
                else "All of these chunks are read already: choose stop_and_read_neighbor."
            )
        return None

    @property
    def own_choices(self) -> int:
        """The facts of all groups."""
        return sum(len(group.facts) for group in self.groups)

    def keeping_own(self, number: int) -> Self:
        """The best groups, with so many facts in all."""
        groups: list[FactGroup] = []
        for group in self.groups:
            if number <= 0:
                break
            kept = min(number, len(group.facts))
            groups.append(group.keeping(kept))
            number -= kept
        out = self.left_out + len(self.groups) - len(groups)
        return replace(self, groups=tuple(groups), left_out=out)


@dataclass(frozen=True, slots=True)
class ChunkTask(ExploringTask[ChunkDecision]):
    """Read one chunk in full (figure 10). `queued` are the labels of the chunks that wait.

    They are its own choices, the next one first; `left_out` counts those that are not shown.
    """

    prompt = "chunk"
    decision = ChunkDecision
    label: str
    text: str
    queued: tuple[str, ...] = ()
    has_previous: bool = True
    has_subsequent: bool = True
    left_out: int = 0

    def values(self) -> Mapping[str, str]:
        """Question, plan, actions, notebook, the chunk, and what lies around it."""
        waiting = [folded(label) for label in self.queued]
        if self.left_out:
            waiting.append(f"{self.left_out} more chunks" if waiting else f"{self.left_out} chunks")
        around = [f"Waiting to be read: {'; '.join(waiting) or 'nothing'}."]
        if not self.has_previous and not self.has_subsequent:
            around.append("This chunk is the whole document.")
        elif not self.has_previous:
            around.append("This is the document's first chunk.")
        elif not self.has_subsequent:
            around.append("This is the document's last chunk.")
        return self.so_far() | {
            "label": folded(self.label),
            "around": " ".join(around),
            "text": self.text,
        }

    @property
    def own_choices(self) -> int:
        """The chunks that wait."""
        return len(self.queued)

    def keeping_own(self, number: int) -> Self:
        """The chunks that are next."""
        out = self.left_out + len(self.queued) - number
        return replace(self, queued=self.queued[:number], left_out=out)


@dataclass(frozen=True, slots=True)
class NeighborTask(ExploringTask[NeighborDecision]):
    """Choose one of the node's neighbors, names ranked best first, or end the path (figure 11)."""

    prompt = "neighbors"
    decision = NeighborDecision
    fewest = 1
    neighbors: tuple[str, ...]
    left_out: int = 0

    def values(self) -> Mapping[str, str]:
        """Question, plan, actions, notebook, node and the numbered neighbors."""
        more = f"\n({self.left_out} further neighbors are not shown.)" if self.left_out else ""
        return self.so_far() | {
            "node": folded(self.node),
            "neighbors": names(self.neighbors) + more,
        }

    def problem(self, decision: NeighborDecision) -> str | None:
        """A neighbor that was not shown."""
        if decision.function == "read_neighbor_node" and not (
            1 <= decision.neighbor <= len(self.neighbors)
        ):
            return f"read_neighbor_node needs the number of a node, 1 to {len(self.neighbors)}."
        return None

    @property
    def own_choices(self) -> int:
        """The neighbors."""
        return len(self.neighbors)

    def keeping_own(self, number: int) -> Self:
        """The best neighbors."""
        out = self.left_out + len(self.neighbors) - number
        return replace(self, neighbors=self.neighbors[:number], left_out=out)
