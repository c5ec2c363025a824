"""What normalization made of a corpus."""

from dataclasses import dataclass, replace
from typing import Any

from graphreader.ingestion.normalization.merging import Merge


@dataclass(frozen=True, slots=True)
class Hub:
    """A key element that is named too often to lead anywhere."""

    id: str
    name: str
    facts: int


@dataclass(frozen=True, slots=True)
class NormalizationReport:
    """What was done, and what holds now. After a dry run: what would be done, and would hold.

    `merges` and `hubs` are all that hold; `merged`, `parted`, `flagged` and `unflagged` are the ids
    of key elements that changed. `compared` counts those that were compared with all others for
    the first time, `moved` those that were merged already and had new facts, `linked` and
    `unlinked` the links of facts that came and went.
    """

    corpus: str
    stages: tuple[str, ...]
    dry_run: bool = False
    compared: int = 0
    merges: tuple[Merge, ...] = ()
    merged: frozenset[str] = frozenset()
    parted: frozenset[str] = frozenset()
    moved: int = 0
    hubs: tuple[Hub, ...] = ()
    flagged: frozenset[str] = frozenset()
    unflagged: frozenset[str] = frozenset()
    linked: int = 0
    unlinked: int = 0

    @property
    def changed(self) -> bool:
        """Whether anything in the graph is (or would be) another than before."""
        elements = (self.merged, self.parted, self.flagged, self.unflagged)
        return any(elements) or bool(self.moved or self.linked or self.unlinked)

    def and_then(self, later: "NormalizationReport") -> "NormalizationReport":
        """Both reports as one, where `later` is of another look at the same corpus."""
        hold = {one.element.id for one in later.merges}
        hubs = {one.id for one in later.hubs}
        return replace(
            later,
            compared=self.compared + later.compared,
            merged=(self.merged | later.merged) & hold,
            parted=(self.parted | later.parted) - hold,
            moved=self.moved + later.moved,
            flagged=(self.flagged | later.flagged) & hubs,
            unflagged=(self.unflagged | later.unflagged) - hubs,
            linked=self.linked + later.linked,
            unlinked=self.unlinked + later.unlinked,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types. Keys may be added in later versions; none is ever removed."""
        return {
            "corpus": self.corpus,
            "stages": list(self.stages),
            "dry_run": self.dry_run,
            "changed": self.changed,
            "compared": self.compared,
            "merges": [
                {
                    "id": one.element.id,
                    "name": one.element.name,
                    "facts": one.element.facts,
                    "into": one.into.id,
                    "into_name": one.into.name,
                    "stage": one.stage,
                    "score": round(one.score, 4),
                    "new": one.element.id in self.merged,
                }
                for one in self.merges
            ],
            "parted": sorted(self.parted),
            "moved": self.moved,
            "hubs": [
                {
                    "id": one.id,
                    "name": one.name,
                    "facts": one.facts,
                    "new": one.id in self.flagged,
                }
                for one in self.hubs
            ],
            "unflagged": sorted(self.unflagged),
            "linked": self.linked,
            "unlinked": self.unlinked,
        }
