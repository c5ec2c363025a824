"""The results of actions as prompts show them: numbered passages, without repetitions.

A short chunk is shown whole, a long one by its best facts. A chunk that was shown whole before, or
further up in the same turn, is only named, the best chunks with the fact that matched, unless an
action named it by its number.
"""

from collections.abc import Collection, Sequence

from graphreader.agent.adaptive.outcomes import Outcome
from graphreader.agent.adaptive.tasks import Result, ShownPassage
from graphreader.agent.state import Seen
from graphreader.agent.tasks import BULLET, fact_lines
from graphreader.documents import Chunk, ChunkFacts, ChunkRef
from graphreader.llm.protocols import folded

WHOLE_TOKENS = 300  # tokens of a chunk that a search shows whole
BEST_TOKENS = 800  # ... and of its best chunks, where a line between the facts may count
BEST = 2
FACTS_OF_BEST, FACTS_A_PASSAGE = 10, 4  # facts by which a search shows a longer chunk


class ResultWriter:
    """A writer of action outcomes for prompts, which numbers the documents of a run.

    `documents` are document ids in the order of their numbers; new documents are added. `read` are
    the chunks that were shown whole, `seen` the facts that were shown of other chunks.
    """

    def __init__(self, documents: Sequence[str], read: Collection[str], seen: Seen) -> None:
        self.documents = list(documents)
        self._whole = set(read)
        self._seen = {chunk: set(facts) for chunk, facts in seen.items()}

    def number(self, document_id: str, index: int) -> str:
        """The number of a passage; a document that is new gets the next number."""
        return f"{self._document(document_id)}.{index}"

    def _document(self, id_: str) -> int:
        if id_ not in self.documents:
            self.documents.append(id_)
        return self.documents.index(id_) + 1

    def result(self, action: str, outcome: Outcome, *, is_search: bool) -> Result:
        """The result of an action; a search only names the passages that were shown before."""
        passages: list[ShownPassage] = []
        before: list[str] = []
        for rank, hit in enumerate(outcome.hits):
            passage = self._passage(hit, rank, is_search=is_search, in_full=outcome.in_full)
            if passage["text"]:
                passages.append(passage)
            else:
                fact = hit.facts[0].text if hit.facts and rank < BEST else ""
                name = f"[{passage['number']}] {folded(hit.chunk.document)}"
                before.append(f"{name}: “{folded(fact)}”" if fact else name)
        named = f"Shown before: {'; '.join(before)}." if before else ""
        lines = [f"[{self._document(id_)}] {one}" if id_ else one for id_, one in outcome.lines]
        text = "\n".join(filter(None, (named, *lines, outcome.text)))
        return {"action": action, "passages": passages, "text": text}

    def _passage(
        self, hit: ChunkFacts[ChunkRef], rank: int, *, is_search: bool, in_full: bool
    ) -> ShownPassage:
        """Return a passage; a passage without text has nothing new to a search."""
        chunk = hit.chunk
        number = self.number(chunk.document_id, chunk.index)
        title = " › ".join(filter(None, [chunk.document, chunk.section]))
        if isinstance(chunk, Chunk) and chunk.places:
            title += f", {chunk.places}"
        was_whole = chunk.id in self._whole
        passage: ShownPassage = {
            "number": number,
            "title": title,
            "text": "",
            "chunk": chunk.id,
            "document_id": chunk.document_id,
            "index": chunk.index,
            "whole": False,
            "facts": [],
        }
        limit = BEST_TOKENS if rank < BEST else WHOLE_TOKENS
        tokens, text = (chunk.tokens, chunk.text) if isinstance(chunk, Chunk) else (0, "")
        if text and (in_full or (is_search and tokens <= limit)):
            if was_whole and not in_full:
                return passage
            self._whole.add(chunk.id)
            return {**passage, "text": text, "whole": True}
        facts = {fact.index: fact for fact in hit.facts}
        if is_search:
            seen = self._seen.setdefault(chunk.id, set())
            most = FACTS_A_PASSAGE if rank else FACTS_OF_BEST
            new = [one for one in hit.facts if one.index not in seen][:most]
            facts = {} if was_whole else {one.index: one for one in new}
            seen.update(facts)
        mark = " (read before)" if was_whole else ""
        shown = [facts[index] for index in sorted(facts)]
        lines = fact_lines((one.heading, folded(one.attributed)) for one in shown)
        if lines and is_search:
            lines.append(f"({tokens} tokens: read_chunk shows it whole.)")
        return {
            **passage,
            "title": title + mark,
            "text": "\n".join(lines),
            "facts": sorted(facts),
        }


def listed_facts(passage: ShownPassage) -> list[str]:
    """Return the facts that a passage shows, in order."""
    lines = passage["text"].splitlines() if passage["facts"] else []
    return [one.removeprefix(BULLET) for one in lines if one.startswith(BULLET)]
