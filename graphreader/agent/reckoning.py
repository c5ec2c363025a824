"""What a run was shown of the documents, reckoned up when it has ended."""

from collections.abc import Sequence
from dataclasses import replace

from graphreader.agent.state import Notes, Seen, add_seen
from graphreader.errors import StoreError
from graphreader.reading import Reading
from graphreader.shown import Shown
from graphreader.store.explorer import GraphExplorer
from graphreader.store.found import ShownChunk


async def with_what_was_shown(
    reading: Reading, paths: Sequence[Notes], explorer: GraphExplorer
) -> Reading:
    """The reading with the documents and facts that its paths were shown, and how much that was.

    Where the database cannot tell it any more, a note says so.
    """
    ordered = sorted(paths, key=lambda notes: notes["path"])
    evidence = "\n\n".join(one["notebook"] for one in ordered if one["notebook"].strip())
    reading = replace(reading, evidence=evidence)
    try:
        texts = await explorer.shown(_chunks(ordered))
    except StoreError as error:
        note = f"How much of the texts was read could not be counted: {error}"
        return replace(reading, notes=(*reading.notes, note))
    shown = Shown()
    facts = tuple(fact for one in texts for fact in one.facts)
    for one in texts:
        if one.text is not None:
            shown.passage(one.document_id, one.start, one.text)
    for fact in facts:
        shown.derived(fact)
    return replace(
        reading,
        documents_read=shown.documents,
        passages_read=shown.passages,
        facts_read=facts,
        tokens_read=shown.tokens,
    )


def _chunks(paths: Sequence[Notes]) -> dict[str, ShownChunk]:
    """What the paths were shown, each chunk once: those read in full first, as they were read."""
    seen: Seen = {}
    for notes in paths:
        seen = add_seen(seen, notes.get("seen", {}))
    read = dict.fromkeys(id_ for notes in paths for id_ in notes.get("read", ()))
    return {
        id_: ShownChunk(id_ in read, seen.get(id_, ())) for id_ in dict.fromkeys((*read, *seen))
    }
