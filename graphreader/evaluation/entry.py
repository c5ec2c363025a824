"""A reader that takes part in an evaluation, and what its lines are about."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphreader.baselines.golden import Golden
from graphreader.evaluation.datasets import Record
from graphreader.evaluation.entrant import Entrant
from graphreader.evaluation.lines_file import Line
from graphreader.evaluation.plan import Group, Plan
from graphreader.evaluation.readings_file import Key, ReadingsFile
from graphreader.evaluation.record_documents import digest_of
from graphreader.settings import Settings


@dataclass(frozen=True, slots=True)
class Entry:
    """A reader with the settings that it was made of, asked for the n-th time (from 0)."""

    entrant: Entrant
    settings: Settings
    repeat: int = 0

    @property
    def model(self) -> str:
        """Who explores and answers; both, where these are two."""
        models = dict.fromkeys(self.settings.model_for(one) for one in ("explore", "answer"))
        return ", ".join(models)

    @property
    def is_given_evidence(self) -> bool:
        """Whether it is opened with what one record names as evidence, and for that one alone."""
        return self.entrant.name == Golden.name

    def asked(self, group: Group) -> list[Record]:
        """The records of a group that it is asked about; golden only where evidence is named."""
        return [one for one in group.records if one.supporting or not self.is_given_evidence]

    def missing(self, group: Group, file: ReadingsFile) -> list[Record]:
        """Those of them that are not read yet. Raises UsageError where they were others then."""
        return [
            record
            for record in self.asked(group)
            if not file.is_done(self.key(group, record), digest_of(record))
        ]

    def unrated(self, group: Group, file: ReadingsFile) -> list[tuple[Record, Line]]:
        """Its readings that are to be judged still, because a rater failed."""
        lines = ((one, file.unrated(self.key(group, one))) for one in self.asked(group))
        return [(record, line) for record, line in lines if line is not None]

    def key(self, group: Group, record: Record) -> Key:
        """What the line of this reading is about."""
        name = self.entrant.name
        return Key(group.dataset, record.id, group.length, name, self.model, self.repeat)


def keys(plan: Plan, entries: Sequence[Entry]) -> Iterator[Key]:
    """Those of all readings of a plan."""
    for group in plan.groups:
        for entry in entries:
            yield from (entry.key(group, record) for record in entry.asked(group))
