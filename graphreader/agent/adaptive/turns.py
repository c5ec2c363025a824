"""The nodes of mode `adaptive`: a search, turns of a decision and its actions, the answer."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from itertools import chain

from langgraph.runtime import Runtime

from graphreader import tokens
from graphreader.agent.adaptive.actions import (
    NOTHING,
    PASSAGES_AT_FIRST,
    ActionRunner,
    action_text,
    argument_text,
    totals,
)
from graphreader.agent.adaptive.evidence import shown_facts, verified_findings
from graphreader.agent.adaptive.notebook import (
    KeptFinding,
    is_long,
    put_together,
    quotes_of,
    room_of,
)
from graphreader.agent.adaptive.outcomes import Outcome
from graphreader.agent.adaptive.results import ResultWriter, listed_facts
from graphreader.agent.adaptive.state import (
    OWN_PATH,
    AdaptiveState,
    first_state,
    notebook_of,
)
from graphreader.agent.adaptive.sweep import Sweep
from graphreader.agent.adaptive.tasks import (
    MAX_ACTIONS,
    Action,
    LastTurnTask,
    Result,
    ShownPassage,
    Turn,
    TurnTask,
)
from graphreader.agent.answering import AnswerStream, checked_answer
from graphreader.agent.context import Limits, RunContext, Update, wasted_costs
from graphreader.agent.decisions import Answer, CitedClaim, CitedContradiction
from graphreader.agent.events import (
    ChunkRead,
    FactsRead,
    FunctionChosen,
    NodesChosen,
    NoteTaken,
    PathEnded,
    PlanMade,
)
from graphreader.agent.follow_up import exchange_texts
from graphreader.agent.ranking import fuse_rankings
from graphreader.agent.state import (
    CALLS,
    CITATIONS,
    Costs,
    Plain,
    add_costs,
    path_result,
)
from graphreader.documents import ChunkFacts, KeyElementRef
from graphreader.errors import BudgetError, DecisionError, ReplyError
from graphreader.llm.protocols import folded
from graphreader.outline import shortened
from graphreader.reading import FunctionCall, Stopped
from graphreader.settings import OFFLINE
from graphreader.store.search import SearchResult
from graphreader.text.question import asked_names, asks_about_whole
from graphreader.text.words import terms_of

SEARCHES = ("search", "read_node", "read_neighbor_node", "count", "list", "sweep")
MOST_NAMES = 4  # names of an unanswered question that are sought
STALLED = 2  # turns in a row without a finding, after which paths explore
FEWEST_PATHS = 2
PATHS_NEED = 2  # turns that must be left so that paths pay
MOST_COUNTED = 5_000  # chunks that are counted for the size of the texts
BESIDE_RESULTS = 1_300  # tokens of a prompt without notebook and results
SUMMARY = 80  # characters of the outcome of an earlier action
NODES_A_NEED = 10  # key elements that are searched for each need


class AdaptiveNodes:
    """The node functions of mode `adaptive`; `agent.exploration` has the nodes of its paths."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    async def search(self, state: AdaptiveState, runtime: Runtime[None]) -> Update:
        """Search for the question itself; where the corpus is one document, outline it, too.

        Of a question about the whole no word is sought: the documents are listed. If the run always
        sweeps, the sweep is the next action.
        """
        has_model = self._context.decider.name != OFFLINE  # without one words are all there is
        is_about_whole = has_model and asks_about_whole(state["question"])
        listing = Action(function="list", argument="documents")
        update = first_state(listing if is_about_whole else _search(state["question"]))
        runner, writer = ActionRunner(self._context), ResultWriter([], (), {})
        followed = " ".join(exchange_texts(state.get("earlier", ""))[:2])  # question and answer
        queries = [one for one in ("" if is_about_whole else state["question"], followed) if one]
        explorer = self._context.explorer
        found, document, note, size = await asyncio.gather(
            runner.search(queries, PASSAGES_AT_FIRST),
            explorer.only_document(),
            explorer.search_note(),
            explorer.size(MOST_COUNTED),
        )
        results = [
            writer.result(action_text(_search(query)), _outcome(one), is_search=True)
            for query, one in zip(queries, found, strict=True)
        ]
        if is_about_whole:
            (outcome,) = await runner.run([listing])
            results.append(writer.result(action_text(listing), outcome, is_search=False))
        if document:
            writer.number(document, 0)
            text = await ActionRunner(self._context, writer.documents).outline(1)
            results.append({"action": "outline(1)", "passages": [], "text": text})
        (call,) = CALLS.validate_python(update["functions"])
        runtime.stream_writer(NodesChosen((call.at,)))
        runtime.stream_writer(FunctionChosen(OWN_PATH, call.at, call))
        always = self._context.limits.sweep == "always"
        sweep = Action(function="sweep", argument=state["question"])
        return {
            **update,
            "documents": writer.documents,
            "results": results,
            "notes": [note] if note else [],
            "texts": _size_sentence(size, self._context.limits),
            "pending": [sweep.model_dump()] if always else [],
        }

    async def turn(self, state: AdaptiveState, runtime: Runtime[None]) -> Update:
        """Take the decision of a turn: update the notebook, then act or answer."""
        decision, task, costs, stopped, error = await self._decide(state, runtime)
        shown = [passage for result in task.results for passage in result["passages"]]
        self._announce(shown, runtime)
        passages = state["passages"] | {one["number"]: one["chunk"] for one in shown}
        kept = [one for n, one in enumerate(state["findings"], 1) if n not in {*decision.struck}]
        seen = shown_facts(state["seen"], shown)
        given, findings, quotes = await verified_findings(
            self._context, state, decision, passages, seen
        )
        number = state["turn"] + 1
        # The first search is none of the decision's actions.
        latest = map(_summary, state["results"], task.results) if number > 1 else ()
        is_last = decision.is_final or not task.turns
        # Chunks come first: in full, they need the room most.
        chosen = [] if is_last else sorted(decision.actions[:MAX_ACTIONS], key=_reads_no_chunk)
        at = f"turn {number}"
        calls = [FunctionCall(one.function, argument_text(one), "", at) for one in chosen]
        for call in calls:
            runtime.stream_writer(FunctionChosen(OWN_PATH, call.at, call))
        noted: AdaptiveState = {
            "needs": decision.needs,
            "absent": list(dict.fromkeys([*state["absent"], *decision.absent])),
            "findings": [*kept, *findings],
            "quotes": quotes,
            "thoughts": decision.notes,
        }
        notebook = notebook_of({**state, **noted}, self._context.limits.window).shown()
        if number == 1 and decision.needs:
            runtime.stream_writer(PlanMade("; ".join(decision.needs), tuple(decision.needs)))
        if notebook != state["notebook"]:
            runtime.stream_writer(NoteTaken(OWN_PATH, notebook))
        update: AdaptiveState = {
            **noted,
            "notebook": notebook,
            "passages": passages,
            "read": list(dict.fromkeys([*state["read"], *_whole(shown)])),
            "seen": seen,
            "functions": [*state["functions"], *map(asdict, calls)],
            "pending": [action.model_dump() for action in chosen],
            "results": [],
            "actions": [*state["actions"], *latest],
            "turn": number,
            "stalled": 0 if _is_progress(state, decision, findings) else state["stalled"] + 1,
            "turns_left": task.turns,
            "costs": costs,
            "own_costs": add_costs(state["own_costs"], costs),
            "plan": "; ".join(decision.needs) if number == 1 else state["plan"],
        }
        if chosen:
            return update
        if self._is_first_try(state, decision, task):
            answer = folded(f"{decision.answer} {decision.explanation}")
            first = f"first answer, likely: {answer}"
            return {**update, "first_answer": first, "actions": [*update["actions"], first]}
        numbered = [*state["findings"], *given]  # as the decision numbers them
        places = {id(one): place for place, one in enumerate(noted["findings"])}

        def named(numbers: Sequence[int]) -> list[int]:
            valid = (numbered[n - 1] for n in numbers if 1 <= n <= len(numbered))
            return [places[id(one)] for one in valid if id(one) in places]

        draft = decision.model_dump(include={"answer", "explanation", "confidence", "notes"})
        draft["rests_on"] = named(decision.rests_on)
        draft["conflicts"] = [[one.about, named(one.findings)] for one in decision.conflicts]
        return {**update, "draft": draft, "stopped": stopped, "error": error}

    async def act(self, state: AdaptiveState, runtime: Runtime[None]) -> Update:
        """Carry out the actions of the latest turn concurrently, then its sweeps.

        If the notebook has become too long, findings about one thing are put together.
        """
        actions = [Action(**one) for one in state["pending"]]
        runner = ActionRunner(self._context, state["documents"], state["read"])
        outcomes = iter(await runner.run([one for one in actions if one.function != "sweep"]))
        writer = ResultWriter(state["documents"], state["read"], state["seen"])
        findings, quotes, read = state["findings"], state["quotes"], state["read"]
        swept, passages, costs = state.get("swept", []), {**state["passages"]}, Costs()
        notes, results, ids = list[str](), list[Result](state["results"]), list[str]()
        window = self._context.limits.window
        for action in actions:
            text = action_text(action)
            if action.function != "sweep":
                outcome = next(outcomes)
                is_search = action.function == "search"
                results.append(writer.result(text, outcome, is_search=is_search))
                ids.append(outcome.id)
                continue
            sweep = Sweep(
                self._context,
                state["question"],
                writer.documents,
                writer.number,
                runtime.stream_writer,
            )
            room = room_of(window, swept=True)
            known = [state["question"], state.get("earlier", ""), state["notebook"]]
            spare = room - tokens.count("\n".join([*known, *state["actions"]]))
            result = await sweep.run(action, quotes, room, spare if len(actions) == 1 else 0)
            results = [] if result.texts else results  # all that a search has shown is among them
            hits = [ChunkFacts(one) for one in result.texts]
            outcome = Outcome(hits, result.coverage, in_full=True)
            results.append(writer.result(text, outcome, is_search=False))
            passages |= result.read
            ids.append("")
            costs = add_costs(costs, result.costs)
            notes.append(f"Sweep for “{folded(action.argument)}”: {result.coverage}")
            if result.read:
                swept = [*swept, result.coverage]
                findings = [*findings, *result.findings]
                quotes, read = result.quotes or quotes, [*read, *result.read.values()]
        room = room_of(window, swept=bool(swept))
        if not costs and is_long(findings, room):
            findings, costs = await put_together(self._context, state["question"], findings, room)
        chosen = state["functions"][-len(actions) :]
        functions = [
            *state["functions"][: -len(actions)],
            *({**one, "id": id_} for one, id_ in zip(chosen, ids, strict=True)),
        ]
        return {
            "documents": writer.documents,
            "functions": functions,
            "results": results,
            "pending": [],
            "findings": findings,
            "quotes": quotes,
            "passages": passages,
            "read": list(dict.fromkeys(read)),
            "swept": swept,
            "notes": notes,
            "costs": costs,
            "own_costs": add_costs(state["own_costs"], costs),
        }

    async def choose_nodes(self, state: AdaptiveState, runtime: Runtime[None]) -> Update:
        """Choose the initial nodes of paths for the open needs, each need in turn."""
        needs = state["needs"] or [state["question"]]
        by_words = await self._context.explorer.matching(needs, NODES_A_NEED)
        by_meaning: list[list[KeyElementRef]] = []
        with suppress(DecisionError):  # words alone bring most
            vectors = await self._context.vectors.vectors(needs)
            by_meaning = await self._context.explorer.nearest(vectors, NODES_A_NEED)
        number = min(self._context.limits.initial_nodes, max(FEWEST_PATHS, len(needs)))
        ranked = fuse_rankings([*by_words, *by_meaning], lambda node: node.id)
        in_turn = (nodes[at] for at in range(NODES_A_NEED) for nodes in by_words if at < len(nodes))
        found = list(dict.fromkeys([*in_turn, *ranked]))
        names = terms_of(" ".join(asked_names(" ".join([state["question"], *needs]))))
        named = [node for node in found if terms_of(node.name) & names]  # not "located"
        nodes = (named or found)[:number]
        runtime.stream_writer(NodesChosen(tuple(node.name for node in nodes)))
        return {"nodes": [{"id": node.id, "name": node.name} for node in nodes], "stalled": 0}

    async def join_paths(self, state: AdaptiveState, runtime: Runtime[None]) -> Update:
        """Pass the notes and quotes of the paths to the next turn, after the latest results."""
        paths = sorted(state["paths"], key=lambda path: path["path"])
        new = [[one for one in path["quotes"] if one not in state["quotes"]] for path in paths]
        quotes = list(chain.from_iterable(new))
        places = [(quote["document_id"], quote["chunk"]) for quote in quotes]
        chunks = {
            (one.document_id, one.index): one.id
            for one in await self._context.explorer.chunks(places)
        }
        writer = ResultWriter(state["documents"], state["read"], state["seen"])
        results = list[Result](state["results"])
        known = {"", *state["notebook"].splitlines()}  # with which the paths began
        for path, own in zip(paths, new, strict=True):
            passages = [
                _quoted(writer, quote, chunk)
                for quote in own
                if (chunk := chunks.get((quote["document_id"], quote["chunk"])))
            ]
            action = f"exploration from {path['initial_node']}"
            notes = [one for one in path["notebook"].splitlines() if one not in known]
            results.append({"action": action, "passages": passages, "text": "\n".join(notes)})
        read = [chunk for path in paths for chunk in path["read"]]
        return {
            "documents": writer.documents,
            "results": results,
            "pending": [],
            "read": list(dict.fromkeys([*state["read"], *read])),
        }

    async def answer(self, state: AdaptiveState, runtime: Runtime[None]) -> Update:
        """Cite the findings that the answer rests on, and give it."""
        draft, findings = state["draft"], state["findings"]
        quotes = CITATIONS.validate_python(state["quotes"])
        chosen = [findings[place] for place in draft["rests_on"]] or findings
        claims = [CitedClaim(claim=one["text"], citations=_citations(one)) for one in chosen]
        contradictions = [
            CitedContradiction(
                about=about, citations=[n for place in sides for n in _citations(findings[place])]
            )
            for about, sides in draft.get("conflicts", [])
        ]
        confidence = draft["confidence"] if draft["answer"].strip() else "not in the texts"
        if confidence == "stated" and chosen and not any(map(quotes_of, chosen)):
            confidence = "likely"  # nothing that it rests on was found in the texts
        decision = Answer(
            analysis=draft["notes"],
            answer=draft["answer"],
            explanation=draft["explanation"],
            confidence=confidence,
            claims=claims,
            contradictions=contradictions,
        )
        update = await checked_answer(self._context, state["question"], decision, quotes)
        if not decision.answered:
            update = {**update, "notes": [*update["notes"], await self._absence(state)]}
        path = path_result(state, state["own_costs"])
        runtime.stream_writer(PathEnded(OWN_PATH, path["stopped"], state["notebook"], None))
        if self._context.stream_answer:
            AnswerStream(runtime.stream_writer).finish(update["answer"])
        return {**update, "paths": [path]}

    async def _absence(self, state: AdaptiveState) -> str:
        """A sentence on the searches that found no answer, and on names that the texts lack."""
        searches = [one for one in state["functions"] if one["name"] in SEARCHES]
        times = "once" if len(searches) == 1 else f"{len(searches)} times"
        names = asked_names(state["question"])[:MOST_NAMES]
        found = await asyncio.gather(
            *(self._context.explorer.chunks_with([name], limit=1) for name in names)
        )
        missing = [name for name, chunks in zip(names, found, strict=True) if not chunks]
        lacking = f" The texts do not have: {', '.join(missing)}." if missing else ""
        return f"Searched {times} without an answer.{lacking}"

    async def _decide(
        self, state: AdaptiveState, runtime: Runtime[None]
    ) -> tuple[Turn, TurnTask, Costs, Stopped, str | None]:
        """The decision, its task as shown, the cost, the reason to stop if it is final, the error.

        Where the budget is used up, or no reply can be used, one more decision must answer.
        """
        on_token = AnswerStream(runtime.stream_writer) if self._context.stream_answer else None
        task, costs = self._task(state), Costs()
        stopped: Stopped = "termination" if task.turns else "call_limit"
        decision: Turn
        problem: str | None = None
        try:
            decision, task, costs = await self._context.decide(task, on_token)
        except (BudgetError, ReplyError) as error:
            if not task.turns:
                raise
            stopped = "budget" if isinstance(error, BudgetError) else "error"
            problem = str(error)
            costs = wasted_costs(error, task.phase)
            values = {one.name: getattr(task, one.name) for one in fields(task)}
            last = LastTurnTask(**{**values, "turns": 0})
            decision, task, more = await self._context.decide(last, on_token)
            costs = add_costs(costs, more)
        return decision, task, costs, stopped, problem

    def _is_first_try(self, state: AdaptiveState, decision: Turn, task: TurnTask) -> bool:
        """Whether an answer is likely, and paths may explore before it is given."""
        is_first = not state["nodes"] and not state.get("first_answer")
        may_try = self._context.limits.second_try and task.turns >= PATHS_NEED
        return may_try and is_first and decision.confidence == "likely"

    def _task(self, state: AdaptiveState) -> TurnTask:
        left = self._context.limits.calls - state["turn"] - 1
        window = self._context.limits.window
        notebook = notebook_of(state, window)
        return (TurnTask if left > 0 else LastTurnTask)(
            question=state["question"],
            notebook=notebook,
            actions=tuple(state["actions"]),
            results=tuple(state["results"]),
            turns=max(0, left),
            earlier=state.get("earlier", ""),
            texts="" if state["turn"] else state.get("texts", ""),
            room=max(0, window - BESIDE_RESULTS - tokens.count(notebook.shown())),
        )

    def _announce(self, shown: Sequence[ShownPassage], runtime: Runtime[None]) -> None:
        """Stream events for the texts in the prompt: chunks in full, and facts."""
        for one in shown:
            if one["whole"]:
                place = one["title"], one["document_id"], one["index"]
                runtime.stream_writer(ChunkRead(OWN_PATH, "question", *place))
        parts = [one for one in shown if one["facts"]]
        if parts:
            facts = [(one, index) for one in parts for index in one["facts"]]
            places = tuple((one["document_id"], one["index"], index) for one, index in facts)
            labels = tuple(f"{one['title']}, chunk {one['index']}" for one in parts)
            texts = tuple(chain.from_iterable(map(listed_facts, parts)))
            runtime.stream_writer(FactsRead(OWN_PATH, "question", texts, labels, places))


def _outcome(found: SearchResult) -> Outcome:
    """The outcome of the search for a question, with all chunks."""
    hits = [hit.item for hit in found.hits]
    return Outcome(hits, " ".join(totals(found.mentions, hits)) if hits else NOTHING)


def _size_sentence(size: tuple[int, int, int], limits: Limits) -> str:
    """A sentence about the size of the texts, and how much of them a sweep may read."""
    documents, chunks, tokens = size
    least = "more than " if chunks >= MOST_COUNTED else ""
    one = (
        f"The texts: {documents:,} documents, {least}{chunks:,} passages, {least}{tokens:,} tokens."
    )
    if limits.sweep == "never":
        return f"{one} No sweep is allowed."
    return f"{one} A sweep may read up to {limits.sweep_tokens:,} tokens."


def _is_progress(state: AdaptiveState, decision: Turn, findings: Sequence[KeptFinding]) -> bool:
    """Whether a turn had findings, and met or replaced a need of the turn before, if it had any."""
    if not findings:
        return False
    before = set(map(folded, state["needs"]))
    return not before or not before <= set(map(folded, decision.needs))


def _reads_no_chunk(action: Action) -> bool:
    return not action.function.endswith("_chunk")


def _citations(finding: KeptFinding) -> list[int]:
    """The numbers of the quotes of a finding, from 1."""
    return [place + 1 for place in quotes_of(finding)]


def _search(query: str) -> Action:
    return Action(function="search", argument=query)


def _whole(shown: Sequence[ShownPassage]) -> list[str]:
    return [one["chunk"] for one in shown if one["whole"]]


def _summary(result: Result, shown: Result) -> str:
    """The action with the numbers of the passages of its result that were shown."""
    numbers = " ".join(f"[{one['number']}]" for one in shown["passages"])
    nothing = "no room was left" if result["passages"] else shortened(result["text"], SUMMARY)
    return f"{result['action']}: {numbers or nothing or 'nothing new'}"


def _quoted(writer: ResultWriter, quote: Plain, chunk: str) -> ShownPassage:
    """A quote of a path as a passage."""
    return {
        "number": writer.number(quote["document_id"], quote["chunk"]),
        "title": quote["document"],
        "text": quote["quote"],
        "chunk": chunk,
        "document_id": quote["document_id"],
        "index": quote["chunk"],
        "whole": False,
        "facts": [],
    }
