"""The decision which names mean one person, organization or work within one document: joins.

"Soames" means Enoch Soames in one document and may be another person elsewhere, so a join holds for
one document, unlike a merge. The rules of `text.document_names` decide, over the document's text
and the names in its facts; a model may be asked about the names that they leave.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from graphreader.ingestion.normalization.merging import is_counted, is_name
from graphreader.ingestion.normalization.rules import normalize
from graphreader.llm.protocols import Decision, Task, folded, numbered
from graphreader.store.joins import BY_PERSON, DocumentName, Join
from graphreader.text.document_names import document_names, resolved
from graphreader.text.person_names import may_mean


def joins_by_rules(names: Sequence[DocumentName], text: str) -> list[Join]:
    """Return the joins of a document's names by rules, with chains followed to their ends.

    A key element is joined only if all of its wordings in the document mean the same other one.
    """
    frequency = {surface: facts for one in names for surface, facts in one.surfaces.items()}
    meanings = document_names(text, frequency)
    short = {normalize(wording): normalize(full) for wording, full in meanings.items()}
    meaning: dict[str, str] = {}  # of key elements, by id: the key of the fullest name
    for one in names:
        found = {_meaning(surface, meanings, short) or one.key for surface in one.surfaces}
        if len(found) == 1 and not any(is_counted(surface, one.key) for surface in one.surfaces):
            (meaning[one.id],) = found
    groups: dict[str, list[DocumentName]] = defaultdict(list)
    for one in names:
        if one.id in meaning:
            groups[meaning[one.id]].append(one)
    into: dict[str, str] = {}
    for key, group in groups.items():
        # The fullest name of the text may stand in no fact.
        head = max(group, key=lambda one: (one.key == key, len(one.key), one.key))
        into |= {one.id: head.id for one in group if one is not head}
    return [Join(id_, end) for id_, end in sorted(resolved(into).items())]


def _meaning(surface: str, meanings: Mapping[str, str], short: Mapping[str, str]) -> str:
    """The key of what a wording means: by itself, or by its key, as "the CPS"."""
    if surface in meanings:
        return normalize(meanings[surface])
    key = normalize(surface)
    return short.get(key, "") if surface != surface.lower() else ""


def with_decided(by_rules: Iterable[Join], decided: Iterable[Join]) -> list[Join]:
    """Add joins that a model decided to the joins by rules, with chains followed to their ends.

    A name that a person took out of a join means itself. Of two records of a name the later counts.
    """
    joins = {one.id: one for one in (*by_rules, *decided)}
    own = [one for one in joins.values() if one.by == BY_PERSON]
    ends = resolved({one.id: one.into for one in joins.values() if one not in own})
    return sorted([*own, *(Join(id_, end, joins[id_].by) for id_, end in ends.items())])


MOST_NAMES = 150
"""Largest number of names in one request, those with the most facts: about 1,500 tokens."""


class NamePair(Decision):
    """A name, and the fullest name that it means, by their numbers in the list."""

    name: int = Field(description="The number of the shorter or rarer name.")
    means: int = Field(description="The number of the fullest name of the same person or thing.")


class NamesDecision(Decision):
    """The pairs of names of one document that mean one person, organization, place or work."""

    pairs: list[NamePair] = Field(description="The pairs; empty if there are none.")


@dataclass(frozen=True, slots=True)
class NamesTask(Task[NamesDecision]):
    """The task to find the names of one document that mean one thing; (name, facts) each."""

    prompt = "names"
    decision = NamesDecision
    phase = "extract"
    ranked = "names"
    title: str
    names: tuple[tuple[str, int], ...]

    @property
    def reply_tokens(self) -> int:
        """Room for a pair of each name."""
        return 100 + 12 * min(MOST_NAMES, len(self.names))

    @property
    def fewest(self) -> int:
        """Two names are needed for a pair."""
        return 2

    def values(self) -> Mapping[str, str]:
        """The title and the numbered names."""
        return {
            "title": folded(self.title),
            "names": numbered([f"{folded(name)} ({facts})" for name, facts in self.names]),
        }

    def problem(self, decision: NamesDecision) -> str | None:
        """Return a sentence about numbers that are not in the list."""
        numbers = {number for pair in decision.pairs for number in (pair.name, pair.means)}
        wrong = sorted(numbers - set(range(1, len(self.names) + 1)))
        if not wrong:
            return None
        return f"There are no names {wrong[:5]}: give numbers from 1 to {len(self.names)}."

    def by_rule(self) -> NamesDecision:
        """Find no pairs: the rules have decided already."""
        return NamesDecision(pairs=[])


def names_to_ask(names: Sequence[DocumentName], joins: Iterable[Join]) -> list[DocumentName]:
    """The unjoined proper names, for a model: the most frequent first, then the longest."""
    joined = {one.id for one in joins}
    open_ = [
        one
        for one in names
        if one.id not in joined and is_name(one.name) and not is_counted(one.name, one.key)
    ]
    return sorted(open_, key=lambda one: (-one.facts, -len(one.key), one.key))[:MOST_NAMES]


def joins_by_model(
    names: Sequence[DocumentName], decision: NamesDecision, model: str
) -> list[Join]:
    """Return a model's pairs that the rules do not forbid.

    Two full names of persons that do not fit, and a name that is a part of several full ones, are
    not joined.
    """
    forms = [one.name for one in names]
    into: dict[str, str] = {}
    for pair in decision.pairs:
        one, other = names[pair.name - 1], names[pair.means - 1]
        if one.id != other.id and one.id not in into and may_mean(one.name, other.name, forms):
            into[one.id] = other.id
    return [Join(id_, other, model) for id_, other in into.items()]
