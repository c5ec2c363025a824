"""Asking: one question or many, watched or not, and the runs that are kept of it."""

from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any, Literal, TypeVar, overload

from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphreader.agent.events import Event
from graphreader.agent.state import Answered, Question, Run
from graphreader.background import Background
from graphreader.graphs import Home, agent_graph
from graphreader.kept_runs import KeptRun, KeptRuns
from graphreader.preparing import with_options
from graphreader.questions import Outcome, Questions, last
from graphreader.reading import Reading
from graphreader.runs.register import RunSummary
from graphreader.runs.training import TrainingReport
from graphreader.session import Session
from graphreader.settings import Mode
from graphreader.tool import TOOL_DESCRIPTION, TOOL_NAME, as_tool

T = TypeVar("T")


class Asker:
    """Whoever can be asked.

    Each question is a run with an id, its own or the one that is given as `run`. What it decides is
    kept (GRAPHREADER_KEPT_RUNS), so that a run that broke off can be gone on with, by `resume` or
    by asking the same with the same id: nothing that was decided is asked again. `mode` is another
    one than that of the settings; with `keep_run` the run is written into the graph when it ends,
    where Neo4j Browser shows the way it went.
    """

    def __init__(self, session: Session, background: Background, corpus: str) -> None:
        self._session = session
        self._background = background
        self._questions = Questions(session, corpus)
        self._kept_runs = KeptRuns(session)

    @property
    def name(self) -> str:
        """What kind of reader it is (see `Reader`)."""
        return "graphreader"

    @property
    def window(self) -> int:
        """How many tokens each prompt may have."""
        return self._session.settings.window

    @property
    def home(self) -> Home:
        """Where the steps of a graph of one's own are taken (`graphs.agent_graph`)."""
        return Home(self._session, self._background, self._questions.corpus)

    def as_graph(self) -> CompiledStateGraph[Run, Any, Question, Answered]:
        """The agent as a compiled graph, for instance as a node of another graph.

        It takes `question` and gives `answer`, `citations`, `paths` and more (`agent.state`). It
        asks the corpus of this moment, in any event loop, by `ainvoke` and `astream`. What happens
        goes to the custom stream as plain JSON types. The run is not among those that are kept:
        its checkpoints are those of the graph around it.
        """
        home = self.home

        async def here(_: Runtime[Any]) -> Home:
            return home

        return agent_graph(here)

    def as_tool(self, name: str = TOOL_NAME, description: str = TOOL_DESCRIPTION) -> BaseTool:
        """A tool for any LangChain agent that asks this reader; see `tool.as_tool`."""
        return as_tool(self, name, description)

    async def aask(
        self,
        question: str,
        *,
        run: str | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
        options: Sequence[str] = (),
    ) -> Reading:
        """Explore the corpus and answer. It never changes what was read in.

        With `options` it is to answer with the words of one of them.
        """
        question = with_options(question, options)
        events = self._questions.explore(question, run, mode=mode, keep_run=keep_run)
        return await self._background.arun(last(events))

    def ask(
        self,
        question: str,
        *,
        run: str | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
        options: Sequence[str] = (),
    ) -> Reading:
        """Do the same as `aask`."""
        question = with_options(question, options)
        events = self._questions.explore(question, run, mode=mode, keep_run=keep_run)
        return self._background.run(last(events))

    def astream(
        self,
        question: str,
        *,
        run: str | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
    ) -> AsyncGenerator[Event]:
        """Answer and show what happens on the way.

        The first event is RunBegan, with the id to resume by; the last one QuestionAnswered.
        """
        return self._background.aiterate(
            self._questions.explore(question, run, mode=mode, keep_run=keep_run, tokens=True)
        )

    def stream(
        self,
        question: str,
        *,
        run: str | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
    ) -> Generator[Event]:
        """Do the same as `astream`."""
        return self._background.iterate(
            self._questions.explore(question, run, mode=mode, keep_run=keep_run, tokens=True)
        )

    async def aresume(self, run: str, *, step: int | None = None) -> Reading:
        """Go on with a kept run, named by its id or a unique beginning of it.

        It goes on in its own corpus, with what its budget has left. A finished one gives its
        reading back. With `step` (1 rational plan, 2 initial nodes, 3 paths, 4 answer) a new run
        begins before that step of it, and takes the later decisions anew.
        """
        return await self._background.arun(last(self._questions.resume(run, step)))

    def resume(self, run: str, *, step: int | None = None) -> Reading:
        """Do the same as `aresume`."""
        return self._background.run(last(self._questions.resume(run, step)))

    def astream_resume(self, run: str, *, step: int | None = None) -> AsyncGenerator[Event]:
        """Do the same as `aresume` and show it; what is known already is told first."""
        return self._background.aiterate(self._questions.resume(run, step, tokens=True))

    def stream_resume(self, run: str, *, step: int | None = None) -> Generator[Event]:
        """Do the same as `astream_resume`."""
        return self._background.iterate(self._questions.resume(run, step, tokens=True))

    def abatch_as_completed(
        self,
        questions: Sequence[str],
        *,
        runs: Sequence[str] | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        """Answer many questions side by side; `runs` are their ids.

        Yields the place of each in `questions`, from 0, with its reading, or with the
        GraphReaderError that ended it and no other one. At most GRAPHREADER_CONCURRENCY are under
        way at once; all of them share the one limit of requests.
        """
        return self._background.aiterate(
            self._questions.batch(questions, runs, mode=mode, keep_run=keep_run)
        )

    def batch_as_completed(
        self,
        questions: Sequence[str],
        *,
        runs: Sequence[str] | None = None,
        mode: Mode | None = None,
        keep_run: bool = False,
    ) -> Generator[tuple[int, Outcome]]:
        """Do the same as `abatch_as_completed`."""
        return self._background.iterate(
            self._questions.batch(questions, runs, mode=mode, keep_run=keep_run)
        )

    @overload
    async def abatch(
        self, questions: Sequence[str], *, return_exceptions: Literal[False] = False
    ) -> list[Reading]: ...
    @overload
    async def abatch(
        self, questions: Sequence[str], *, return_exceptions: Literal[True]
    ) -> list[Outcome]: ...
    async def abatch(
        self, questions: Sequence[str], *, return_exceptions: bool = False
    ) -> list[Reading] | list[Outcome]:
        """Answer many questions side by side; the readings are in the order of the questions.

        All are brought to their end. Then the first failure is raised, or, if asked for, each
        failure stands in the place of its reading.
        """
        outcomes = [one async for one in self.abatch_as_completed(questions)]
        return _in_order(outcomes, return_exceptions)

    @overload
    def batch(
        self, questions: Sequence[str], *, return_exceptions: Literal[False] = False
    ) -> list[Reading]: ...
    @overload
    def batch(
        self, questions: Sequence[str], *, return_exceptions: Literal[True]
    ) -> list[Outcome]: ...
    def batch(
        self, questions: Sequence[str], *, return_exceptions: bool = False
    ) -> list[Reading] | list[Outcome]:
        """Do the same as `abatch`."""
        return _in_order(list(self.batch_as_completed(questions)), return_exceptions)

    def runs(self, corpus: str | None = None) -> list[RunSummary]:
        """List the kept runs, of one corpus or of all, newest first."""
        return self._background.run(self._kept_runs.summaries(corpus))

    def run(self, run: str) -> KeptRun:
        """All that is known of a kept run, named by its id or a unique beginning of it."""
        return self._background.run(self._kept_runs.show(run))

    def delete_runs(self, *runs: str, everything: bool = False, before: float | None = None) -> int:
        """Take kept runs out: those named, all, or those that rest since `before`.

        `before` is in seconds of the epoch. Returns how many are gone; runs under way stay.
        """
        return self._background.run(
            self._kept_runs.delete(runs, everything=everything, before=before)
        )

    def training_lines(
        self, *runs: str, corpus: str | None = None, report: TrainingReport | None = None
    ) -> Generator[str]:
        """Decisions as prompt and reply, a line of JSON each, in the order in which they came.

        Of the named runs, or of all finished ones (of one corpus). `report` is filled meanwhile.
        """
        return self._background.iterate(
            self._kept_runs.training(report or TrainingReport(), runs, corpus)
        )


def _in_order(
    outcomes: list[tuple[int, Outcome]], with_failures: bool
) -> list[Reading] | list[Outcome]:
    """What came of the questions, in their order. Raises the first failure unless it is wanted."""
    ordered = [outcome for _, outcome in sorted(outcomes, key=lambda one: one[0])]
    for outcome in () if with_failures else ordered:
        if isinstance(outcome, Exception):
            raise outcome
    return ordered
