"""Answer reasoning (paper, section 3.4): one answer from all notebooks, and its Reading."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce

from langgraph.runtime import Runtime

from graphreader.agent.citations import (
    NO_CITATIONS,
    cite,
    distinct_quotes,
    ranked,
    with_valid_citations,
)
from graphreader.agent.claim_check import check_claims
from graphreader.agent.context import RunContext, Update, wasted_costs
from graphreader.agent.decisions import Answer
from graphreader.agent.events import AnswerToken
from graphreader.agent.notebook import join
from graphreader.agent.state import (
    READING,
    AgentOutput,
    Costs,
    PathResult,
    RunState,
    Seen,
    add_costs,
    add_seen,
    label,
    total_usage,
)
from graphreader.agent.tasks import AnswerTask, Evidence
from graphreader.documents import Chunk, without_controls
from graphreader.errors import DecisionError, StoreError, WindowError
from graphreader.llm.protocols import TokenCallback
from graphreader.reading import NOT_IN_THE_TEXTS, Citation, Coverage, Reading
from graphreader.store.explorer import GraphExplorer
from graphreader.text.sentences import language_of

BUDGET_USED_UP = {
    "en": "Nothing was found before the budget was used up.",
    "zh": "在预算用完之前没有找到任何内容。",
}


class Answering:
    """The node of the graph that answers after the exploration."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    async def answer_reasoning(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Answer from all notebooks; the majority decides contradictions (figure 12).

        Without a usable decision the output is the notebooks. Raises DecisionError if all
        paths failed.
        """
        stream = AnswerStream(runtime.stream_writer) if self._context.stream_answer else None
        update = await self._answer(state, stream)
        if stream:
            stream.finish(update["answer"])
        return update

    async def _answer(self, state: RunState, on_token: TokenCallback | None) -> Update:
        paths = sorted(state.get("paths", []), key=lambda path: path["path"])
        has_notes = any(path["notebook"].strip() or path["quotes"] for path in paths)
        failure = all_failed_message(paths)
        if failure and not has_notes:
            error = DecisionError(failure)
            error.spent = total_usage(state.get("costs", {}))
            raise error
        notes = _early_end_notes(paths)
        language = language_of(state["question"])
        unanswered = {
            "explanation": "",
            "confidence": "not in the texts",
            "answered": False,
            **NO_CITATIONS,
            "notes": notes,
        }
        if not has_notes:
            in_budget = all(path["stopped"] != "budget" for path in paths)
            answer = (NOT_IN_THE_TEXTS if in_budget else BUDGET_USED_UP)[language]
            analysis = "No path found anything about the question."
            return {"answer": answer, "analysis": analysis, **unanswered}
        quotes = distinct_quotes(paths)
        try:
            decision, task, costs = await self._decide(state, paths, quotes, on_token)
        except DecisionError as error:
            return {
                **unanswered,
                "unjoined": str(error),
                "answer": _all_notebooks(paths),
                "analysis": f"The notebooks stand as they are, no answer was put together: {error}",
                "costs": wasted_costs(error, "answer"),
            }
        decision = with_valid_citations(decision, len(task.evidence))
        update = await checked_answer(self._context, state["question"], decision, quotes)
        return {
            **update,
            "notes": notes + update["notes"],
            "costs": add_costs(costs, update["costs"]),
        }

    async def _decide(
        self,
        state: RunState,
        paths: list[PathResult],
        quotes: list[Citation],
        on_token: TokenCallback | None,
    ) -> tuple[Answer, AnswerTask, Costs]:
        """Request the answer; notebooks that do not fit one prompt are joined first."""
        question, plan = state["question"], state["plan"]
        evidence, earlier = evidence_of(quotes), state.get("earlier", "")
        # Equal notebooks are shown once, with their number of votes.
        times = Counter(path["notebook"] for path in paths)
        notebooks = [f"({n} notebooks) {one}" if n > 1 else one for one, n in times.items()]
        costs: Costs = {}
        while True:
            task = AnswerTask(question, plan, tuple(notebooks), evidence, earlier)
            try:
                decision, shown, cost = await self._context.decide(task, on_token)
                return decision, shown, add_costs(costs, cost)
            except WindowError as error:
                costs = add_costs(costs, wasted_costs(error, "answer"))
                if len(notebooks) < 2:
                    error.spent = total_usage(costs)
                    raise
            except DecisionError as error:
                error.spent += total_usage(costs)
                raise
            notebooks, costs = await join(self._context, question, plan, notebooks, costs)


def evidence_of(quotes: Iterable[Citation]) -> tuple[Evidence, ...]:
    """Convert quotes to the form of prompts, with the headings above them."""
    return tuple(
        Evidence(
            label(one.document, one.chunk) + (f", “{one.heading}”" if one.heading else ""),
            one.quote,
        )
        for one in quotes
    )


async def checked_answer(
    context: RunContext, question: str, decision: Answer, quotes: Sequence[Citation]
) -> Update:
    """Make the output of a run from an answer, after a check of its doubtful claims."""
    decision, costs = await check_claims(context, question, decision, quotes)
    citations, notes = cite(decision, quotes)
    return {
        "answer": decision.answer.strip() or NOT_IN_THE_TEXTS[language_of(question)],
        "analysis": decision.analysis,
        "explanation": decision.explanation.strip(),
        "confidence": decision.confidence,
        "answered": decision.answered,
        **citations,
        "notes": notes,
        "costs": costs,
    }


class AnswerStream:
    """A callback that streams an answer as events while it is written."""

    def __init__(self, write: Callable[[AnswerToken], None]) -> None:
        self._write = write
        self._text = ""

    def __call__(self, piece: str, begins: bool) -> None:
        """Stream a piece; if it `begins` an answer, earlier pieces are void."""
        begins, piece = begins or not self._text, without_controls(piece)
        self._text = piece if begins else self._text + piece
        self._write(AnswerToken(piece, begins))

    def finish(self, answer: str) -> None:
        """Stream the missing rest of the answer, or all of it if another answer was streamed."""
        if not self._text or not answer.startswith(self._text):
            self(answer, True)
        elif rest := answer.removeprefix(self._text):
            self(rest, False)


def all_failed_message(paths: Sequence[PathResult]) -> str:
    """Return a sentence if every path ended with an error, else an empty string."""
    if not paths or any(path["stopped"] != "error" for path in paths):
        return ""
    error = next((path["error"] for path in paths if path["error"]), "no reason is known.")
    return f"Every path failed, the first one so: {error}"


def _all_notebooks(paths: Sequence[PathResult]) -> str:
    return "\n\n".join(path["notebook"] for path in paths if path["notebook"].strip())


def _early_end_notes(paths: list[PathResult]) -> list[str]:
    early = [
        f"Path {path['path']} stopped early: {path['error']}"
        for path in paths
        if path["stopped"] == "error"
    ]
    over = [path["error"] for path in paths if path["stopped"] == "budget"]
    if over:
        early.append(f"{len(over)} of {len(paths)} paths stopped early: {over[0]}")
    return early


async def reading_of(
    question: str, result: AgentOutput, context: RunContext, seconds: float
) -> Reading:
    """Make the reading of a finished run, which took `seconds`; notes of the context are first."""
    paths = sorted(result.get("paths", []), key=lambda path: path["path"])
    reading = READING.validate_python(
        {
            **result,
            "question": question,
            "corpus": context.explorer.corpus,
            "scope": context.explorer.scope.terms,
            "paths": [
                {**one, "calls": len(one["functions"]), "usage": total_usage(one["costs"])}
                for one in paths
            ],
            "usage": replace(total_usage(result["costs"]), seconds=round(seconds, 3)),
            "phases": result["costs"],
            "decider": context.decider.name,
            "evidence": _all_notebooks(paths),
        }
    )
    reading = replace(reading, notes=(*context.notes, *reading.notes))
    return await _with_coverage(ranked(reading), paths, context.explorer)


async def _with_coverage(
    reading: Reading, paths: Sequence[PathResult], explorer: GraphExplorer
) -> Reading:
    """Add the documents, passages and facts that were shown to the paths, and their tokens."""
    try:
        read = dict.fromkeys(id_ for path in paths for id_ in path["read"])
        seen: Seen = reduce(add_seen, (path["seen"] for path in paths), {})
        shown = await explorer.shown_texts(read, seen)
    except StoreError as error:
        note = f"How much of the texts was read could not be counted: {error}"
        return replace(reading, notes=(*reading.notes, note))
    coverage = Coverage()
    facts = tuple(fact.text for one in shown for fact in one.facts)
    for chunk in (one.chunk for one in shown):
        if isinstance(chunk, Chunk):
            coverage.passage(chunk.document_id, chunk.start, chunk.text)
    for fact in facts:
        coverage.derived(fact)
    return replace(
        reading,
        documents_read=coverage.documents,
        passages_read=coverage.passages,
        facts_read=facts,
        tokens_read=coverage.tokens,
    )
