"""What a fact needs beside it to be understood: its heading, and where it is thin what goes before.

Facts are to stand alone, pronouns replaced; some do not ("The original score was rejected.": of
which film?). Then the fact right before it in the chunk mostly tells.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from graphreader.agent.paging import GroupedFacts
from graphreader.agent.state import label
from graphreader.deciding.exploring import FactGroup
from graphreader.store.explorer import GraphExplorer
from graphreader.store.found import Context

_POINTING = re.compile(
    r"(?i)\A(?:he|she|it|they|his|her|its|their|this|that|these|those|there|then|both|the latter"
    r"|the former|the (?:original|same|other|second|first|next|last|following|previous)|another"
    r"|such)\b|\A[他她它其该此这那两后]"
)
_TELLING = re.compile(r"(?<=\s)[^\W\d_a-z]|\d|[\"“«「《]")  # a name, a number, a title
_LONG = 12  # words that tell enough without any of these
_HAN = re.compile(r"[\u3400-\u9fff]")
_LONG_HAN = 12  # characters


def is_thin(fact: str) -> bool:
    """Whether a fact alone may leave open what it is about."""
    if _POINTING.match(fact):
        return True
    if _HAN.search(fact):
        return len(fact) < _LONG_HAN
    return not _TELLING.search(fact) and len(fact.split()) < _LONG


async def in_context(
    explorer: GraphExplorer, groups: Sequence[GroupedFacts], read: Collection[str]
) -> tuple[FactGroup, ...]:
    """The facts as they are shown: under the name of their chunk, thin ones with what precedes."""
    wanted: dict[str, list[int]] = {}
    for group in groups:
        thin = [fact.index for fact in group.facts if is_thin(fact.text)]
        if thin or group.headed:
            wanted.setdefault(group.chunk, []).extend(thin)
    found = await explorer.contexts(wanted) if wanted else {}
    return tuple(_shown(group, found.get(group.chunk), group.chunk in read) for group in groups)


def _shown(group: GroupedFacts, context: Context | None, read: bool) -> FactGroup:
    name = label(group.document, group.index)
    facts = tuple(fact.text for fact in group.facts)
    shown = FactGroup(
        name, facts, read, group.more, holds=group.holds, promise=0.0 if read else group.promise
    )
    if context is None:
        return shown
    listed = {fact.index for fact in group.facts}
    before = tuple(
        "" if fact.index - 1 in listed else context.before.get(fact.index, "")
        for fact in group.facts
    )
    return replace(shown, heading=context.heading or "", before=before)
