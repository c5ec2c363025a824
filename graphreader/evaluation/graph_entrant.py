"""GraphReader as an entrant: each record's documents become a corpus of their own."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from graphreader.agent.graph import Steps
from graphreader.baselines.sitting import NO_TEXT, Sitting
from graphreader.deciding.offline.sized import SizedOfflineDecider
from graphreader.deciding.passages import Excerpt, PassagesChoiceTask
from graphreader.deciding.prompting import Prompts
from graphreader.documents import Document
from graphreader.errors import DecisionError, ReplyError, UnknownCorpusError, WindowError
from graphreader.evaluation.datasets import Record
from graphreader.evaluation.entrant import Opened
from graphreader.evaluation.metrics.choices import chosen_option
from graphreader.evaluation.record_documents import PREFIX
from graphreader.graph_reader import GraphReader
from graphreader.minds import Minds
from graphreader.reading import Reading
from graphreader.settings import OFFLINE, Settings
from graphreader.usage import Phase, Usage

PHASES: tuple[Phase, ...] = ("extract", "explore", "answer")
"""Those that may have a model of their own, but for that of the raters."""


@dataclass(slots=True)
class _Text:
    """A document as GraphReader takes it; by its id the graph's own document is found again."""

    page_content: str
    metadata: Any
    id: str


class GraphEntrant:
    """GraphReader with some settings and steps.

    Entrants that build alike share their corpora; with `keep` these stay when they are done with,
    else they are those of the `place` alone, and bear its mark.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        steps: Steps | None = None,
        *,
        keep: bool = False,
        place: str = "",
    ) -> None:
        self.name = name
        self.window = settings.window
        self._settings = settings.model_copy(update={"kept_runs": 0})  # the file has them all
        decider = None
        if all(settings.model_for(phase) == OFFLINE for phase in PHASES):
            decider = SizedOfflineDecider(settings.window, Prompts(settings.prompts))
        self._reader = GraphReader(settings=self._settings, steps=steps, decider=decider)
        self._minds = Minds(self._settings, decider)
        self._keep = keep
        self._mark = sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        self._building: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def opened(self, record: Record, documents: Sequence[Document]) -> AsyncIterator[Opened]:
        """Read the documents in, unless they are; of the graph nothing is changed by asking.

        Without documents there is none, and nobody is asked anything.
        """
        if not documents:
            yield Opened(_WithoutText(self.name, self.window, self._minds))
            return
        corpus = self._corpus(documents)
        reader = self._reader.at(corpus)
        texts = [_Text(one.text, {"title": one.title}, one.id) for one in documents]
        async with self._building.setdefault(corpus, asyncio.Lock()):
            report = await reader.aingest(*texts)
        stats = await reader.astats()
        ids = {one.id: one.source for one in report.documents if one.id}
        yield Opened(
            _Asked(self.name, self.window, reader, self._minds, ids),
            report.usage,
            graph=asdict(stats),
        )

    async def forget(self, documents: Sequence[Document]) -> None:
        """Delete the corpus, unless it is to be kept, or there is none."""
        if self._keep or not documents:
            return
        with suppress(UnknownCorpusError):  # another entrant did
            await self._reader.at(self._corpus(documents)).adelete(everything=True)

    async def clear(self) -> None:
        """Delete the corpora that runs at this place left, because they were killed or stopped."""
        ours = re.compile(rf"{PREFIX}[0-9a-f]{{16}}-[0-9a-f]{{8}}-{self._mark}")
        for one in await self._reader.acorpora():
            if ours.fullmatch(one.corpus):
                with suppress(UnknownCorpusError):
                    await self._reader.at(one.corpus).adelete(everything=True)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._reader.aclose()
        await self._minds.aclose()

    def _corpus(self, documents: Sequence[Document]) -> str:
        """The same for all who would build the same graph of these documents."""
        given = self._settings
        made = (
            given.model_for("extract"),
            given.chosen_embeddings,
            given.chunk_tokens,
            given.stages,
            *(one.id for one in documents),
        )
        name = f"{documents[0].corpus}-{sha256(repr(made).encode()).hexdigest()[:8]}"
        return name if self._keep else f"{name}-{self._mark}"


class _WithoutText:
    """GraphReader where there is nothing to be read: every question stays unanswered."""

    def __init__(self, name: str, window: int, minds: Minds) -> None:
        self.name = name
        self.window = window
        self._minds = minds

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Say so."""
        sitting = Sitting(self.name, question, self._minds.asker(self.window))
        return sitting.unanswered(NO_TEXT)


class _Asked:
    """GraphReader behind the protocol of all readers; ids are those of the documents given."""

    def __init__(
        self, name: str, window: int, reader: GraphReader, minds: Minds, ids: Mapping[str, str]
    ) -> None:
        self.name = name
        self.window = window
        self._reader = reader
        self._minds = minds
        self._ids = ids

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Ask, and name the documents as they were given."""
        reading = await self._reader.aask(question, options=options)
        if options and chosen_option(reading.answer, options) is None:
            reading = await self._choose(reading, question, options)
        return replace(
            reading,
            question=question,
            reader=self.name,
            documents_read=tuple(self._ids[id_] for id_ in reading.documents_read),
            passages_read=tuple(
                (self._ids[id_], start, end) for id_, start, end in reading.passages_read
            ),
            citations=tuple(
                replace(one, document_id=self._ids[one.document_id]) for one in reading.citations
            ),
        )

    async def _choose(self, reading: Reading, question: str, options: Sequence[str]) -> Reading:
        """Have one of the options chosen from the notebooks, where the answer names none.

        Where none can be chosen the answer stays, with a note. Raises DecisionError where nobody
        can be asked.
        """
        if not reading.evidence:
            return reading
        notebooks = (Excerpt("Notebooks", reading.evidence, 0),)
        task = PassagesChoiceTask(question, notebooks, tuple(options))
        try:
            decided = await self._minds.asker(self.window).decide(task)
        except (ReplyError, WindowError) as error:
            notes = (*reading.notes, f"No option could be chosen: {error}")
            return replace(reading, usage=reading.usage + error.spent, notes=notes)
        except DecisionError as error:
            error.spent += reading.usage
            raise
        phases = dict(reading.phases)
        phases["answer"] = phases.get("answer", Usage()) + decided.usage
        return replace(
            reading,
            answer=options[decided.decision.option - 1],
            answered=True,
            usage=reading.usage + decided.usage,
            phases=phases,
        )
