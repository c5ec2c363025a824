"""The decider that needs no model, no network and no key.

The offline decider inside a window: it is shown what a model would have been sent, no more.

Vectors without a model: hashed words, stems and parts of words.

The rational plan of a reader without a model: what to look for, in words.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, singledispatchmethod
from typing import Any, TypeVar, cast
from zlib import crc32

from graphreader.agent.decisions import (
    Answer,
    ChunkDecision,
    Condensed,
    FactsDecision,
    InitialNodes,
    NeighborDecision,
    RationalPlan,
)
from graphreader.agent.tasks import (
    AnswerTask,
    ChunkTask,
    CondenseTask,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
    PlanTask,
)
from graphreader.baselines.chunk_reading import (
    ChunkReadDecision,
    ChunkReadTask,
    NotesReadDecision,
    NotesReadTask,
)
from graphreader.baselines.read_agent.tasks import (
    Gist,
    GistTask,
    LookUp,
    LookUpTask,
    MemoryAnswerTask,
    MemoryChoiceTask,
    NextPage,
    NextPageTask,
    PausePoint,
    PauseTask,
)
from graphreader.baselines.search_agent import SearchStep, SearchStepTask
from graphreader.baselines.tasks import TextAnswer, TextAnswerTask, TextChoice, TextChoiceTask
from graphreader.errors import UsageError
from graphreader.ingestion.extraction import Extraction, ExtractionTask
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Budget, Decision, DecisionResult, Task, TokenCallback
from graphreader.llm.window import RenderedPrompt, fit
from graphreader.offline import answering, read_agent, scoring
from graphreader.offline.facts import facts_of
from graphreader.offline.question import Question, understand
from graphreader.offline.scoring import condense
from graphreader.text.words import HAN_RUN, fold, han_pairs, is_stop_word, stem, words_of
from graphreader.usage import Usage

_KINDS = {
    "en": {"time": "a date or a year", "number": "a number", "name": "a name"},
    "zh": {"time": "日期或年份", "number": "数字", "name": "名称"},
}


def plan(question: str) -> RationalPlan:
    """What is looked for, about what, and how to get from one to the other; as asked.

    The names are needs of their own; what is asked about them is one more, or in Chinese, where
    names hardly show, each piece of it.
    """
    asked = understand(question)
    is_chinese = asked.language == "zh"
    in_words = _in_chinese if is_chinese else _in_english
    about = asked.asked if is_chinese else (" ".join(asked.asked),)
    needs = [need for need in dict.fromkeys([*asked.names, *about]) if need]
    return RationalPlan(plan=in_words(asked, question.strip()), needs=needs)


def _in_english(asked: Question, question: str) -> str:
    steps = [f"Find what the texts say about {', '.join(asked.names)}."] if asked.names else []
    if asked.asked:
        steps.append(f"Look there for these words or near ones: {', '.join(asked.asked)}.")
    if kind := _KINDS["en"].get(asked.kind):
        steps.append(f"The answer should hold {kind}.")
    steps.append("Where a sentence leads to another name, follow it.")
    return " ".join(steps) if asked.needs else f"Find sentences that answer: {question}"


def _in_chinese(asked: Question, question: str) -> str:
    words = "、".join((*asked.names, *asked.asked))
    kind = _KINDS["zh"].get(asked.kind)
    steps = [f"在文中查找：{words or question}。"]
    steps += [f"答案应包含{kind}。"] if kind else []
    return "".join([*steps, "若句子提到其他名称，则继续查找该名称。"])


D = TypeVar("D", bound=Decision)


class OfflineDecider:
    """Decides by weighted word overlap and by following names; answers by quoting.

    A real reader of modest means: it finds and quotes sentences, and says so when they do not
    hold what is asked. It does not draw conclusions, calculate, or understand a paraphrase beyond
    a short list of near synonyms. The same task always gets the same decision.
    """

    name = "offline"
    prompts = "offline-1"
    notice = (
        "No language model is in use: answers are sentences picked by word overlap "
        "(set OPENAI_API_KEY or GRAPHREADER_MODEL for a real reader)."
    )
    concurrency = 2  # it computes and never waits, so more would gain nothing

    async def decide(
        self, task: Task[D], budget: Budget | None = None, heard: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Take one decision; it is always valid for the task. Costs a call and no tokens."""
        if budget:
            budget.take(0, task.phase)
        if isinstance(task, FactsTask):
            task = cast(Task[D], scoring.promising(task))
        return DecisionResult(cast(D, self._decision(task)), task, Usage(calls=1))

    def measure(self, task: Task[Any]) -> int:
        """No prompt, no tokens."""
        return 0

    async def aclose(self) -> None:
        """There is nothing to let go of."""

    @singledispatchmethod
    def _decision(self, task: Any) -> Decision:
        if task.phase == "rate":
            raise UsageError(
                "Only a language model can rate answers: set GRAPHREADER_RATER_MODEL, or rate by "
                "exact match and F1 alone."
            )
        raise TypeError(f"{type(task).__name__} is no task that can be decided")

    @_decision.register
    def _(self, task: ExtractionTask) -> Extraction:
        return Extraction(facts=facts_of(task.text))

    @_decision.register
    def _(self, task: PlanTask) -> RationalPlan:
        return plan(task.question)

    @_decision.register
    def _(self, task: InitialNodesTask) -> InitialNodes:
        return scoring.choose_initial_nodes(task)

    @_decision.register
    def _(self, task: FactsTask) -> FactsDecision:
        return scoring.choose_chunks(task)

    @_decision.register
    def _(self, task: ChunkTask) -> ChunkDecision:
        return scoring.read_chunk(task)

    @_decision.register
    def _(self, task: NeighborTask) -> NeighborDecision:
        return scoring.choose_neighbor(task)

    @_decision.register
    def _(self, task: CondenseTask) -> Condensed:
        return condense(task)

    @_decision.register
    def _(self, task: AnswerTask) -> Answer:
        return answering.answer_from_notebooks(task)

    @_decision.register
    def _(self, task: TextAnswerTask) -> TextAnswer:
        return answering.answer_from(task.question, task.excerpts)

    @_decision.register
    def _(self, task: TextChoiceTask) -> TextChoice:
        return answering.choose_from(task.question, task.options, task.excerpts)

    @_decision.register
    def _(self, task: ChunkReadTask) -> ChunkReadDecision:
        return answering.read_alone(task)

    @_decision.register
    def _(self, task: NotesReadTask) -> NotesReadDecision:
        return answering.read_with_notes(task)

    @_decision.register
    def _(self, task: SearchStepTask) -> SearchStep:
        return answering.next_step(task)

    @_decision.register
    def _(self, task: PauseTask) -> PausePoint:
        return read_agent.pause(task)

    @_decision.register
    def _(self, task: GistTask) -> Gist:
        return read_agent.gist(task)

    @_decision.register
    def _(self, task: LookUpTask) -> LookUp:
        return read_agent.look_up(task)

    @_decision.register
    def _(self, task: NextPageTask) -> NextPage:
        return read_agent.next_page(task)

    @_decision.register
    def _(self, task: MemoryAnswerTask) -> TextAnswer:
        return read_agent.answer(task)

    @_decision.register
    def _(self, task: MemoryChoiceTask) -> TextChoice:
        return read_agent.choose(task)


class SizedOfflineDecider(OfflineDecider):
    """Decides over what of a task fits into `window`, and counts the prompt.

    Usage has its tokens as `input_tokens`, marked as estimated. For measuring readers against each
    other; a budget in tokens does not see them.
    """

    def __init__(self, window: int, prompts: Prompts) -> None:
        self._window = window
        self._prompts_shown = prompts

    def measure(self, task: Task[Any]) -> int:
        """How many tokens the task's prompt has. Raises WindowError."""
        return self._fit(task).tokens

    async def decide(
        self, task: Task[D], budget: Budget | None = None, heard: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Take one decision. Raises WindowError for a prompt that does not fit."""
        fitted = self._fit(task)
        decided = await super().decide(fitted.task, budget, heard)
        usage = replace(decided.usage, input_tokens=fitted.tokens, estimated=1)
        return replace(decided, usage=usage)

    def _fit(self, task: Task[D]) -> RenderedPrompt[D]:
        return fit(task, "schema", self._window, prompts=self._prompts_shown)


DIMENSION = 256
WORD, STEM, PART = 1.0, 2.0, 0.5  # weights


class OfflineEmbedder:
    """Vectors that are near where texts share words, stems or parts of words.

    Meaning counts only as far as spelling shows it: "Canada" is near "Canadian", "car" is not
    near "automobile". The same on every machine; length 1; never all zeros, also for "".
    """

    name = "offline-1"
    dimension = DIMENSION

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in the same order."""
        return [embedding_of(text) for text in texts]

    async def aclose(self) -> None:
        """Nothing to let go of."""


def embedding_of(text: str) -> list[float]:
    """The vector of one text."""
    vector = [0.0] * DIMENSION
    for place, value in _signs_of(text):
        vector[place] += value
    length = math.sqrt(sum(value * value for value in vector))
    if not length:
        # Nothing to compare by, or all of it cancelled out: a place of its own for each such text.
        vector[crc32(text.encode("utf-8", "surrogatepass")) % DIMENSION] = length = 1.0
    return [value / length for value in vector]


def _signs_of(text: str) -> Iterator[tuple[int, float]]:
    for word in words_of(text):
        yield from _signs_of_word(word)
    for pair in han_pairs(text):
        yield _place(f"={pair}", STEM)
    for run in HAN_RUN.findall(text):
        yield from (_place(f"#{sign}", PART) for sign in run)


@lru_cache(maxsize=32768)
def _signs_of_word(word: str) -> tuple[tuple[int, float], ...]:
    """Where a word, its stem and its runs of three and four letters fall."""
    folded = fold(word)
    if not folded:
        return ()
    if is_stop_word(word):
        return (_place(f"={folded}", PART),)
    around = f"<{folded}>"
    parts = {around[i : i + size] for size in (3, 4) for i in range(len(around) - size + 1)}
    return (
        _place(f"={folded}", WORD),
        _place(f"~{stem(folded)}", STEM),
        *(_place(f"#{part}", PART) for part in sorted(parts)),
    )


def _place(sign: str, weight: float) -> tuple[int, float]:
    """A place and a signed weight, from a hash that is the same in every process."""
    code = crc32(sign.encode("utf-8", "surrogatepass"))
    return code % DIMENSION, weight if code & 0x10000 else -weight
