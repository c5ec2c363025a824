"""Mode `adaptive`: what a turn is shown, what its actions bring, and how a run ends."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.adaptive import results
from graphreader.agent.adaptive.notebook import Notebook
from graphreader.agent.adaptive.tasks import Action, Conflict, Finding, LastTurnTask, Turn, TurnTask
from graphreader.agent.events import ChunkRead, FactsRead, FunctionChosen, NoteTaken, RunBegan
from graphreader.agent.tasks import ChunkTask, ClaimCheckTask
from graphreader.errors import BudgetError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import world
from tests.runs.test_resume import broken_off

QUESTION = "Who was with Alpha?"
QUOTE = "Alpha met Beta here."


def turn(*actions: tuple[str, str], **fields: Any) -> Turn:
    chosen = [Action(function=name, argument=argument) for name, argument in actions]  # type: ignore[arg-type]
    return Turn(**{"findings": [], "actions": chosen, **fields})


def finding(passage: str, quote: str = QUOTE, text: str = "Alpha met Beta.") -> Finding:
    return Finding(finding=text, passage=passage, quote=quote)


def answer(*findings: Finding, text: str = "Beta", **fields: Any) -> Turn:
    return turn(answer=text, findings=list(findings), explanation="It says so.", **fields)


class Run:
    """One question, with the turns that a script gives in order; the last one stays."""

    def __init__(
        self,
        given: Settings,
        corpus: str,
        turns: Sequence[Any],
        chunk: Callable[[ChunkTask], Any] | None = None,
        question: str = QUESTION,
        **changes: Any,
    ) -> None:
        def take(task: TurnTask) -> Turn:
            self.tasks.append(task)
            chosen = turns[min(len(self.tasks), len(turns)) - 1]
            return chosen(task) if callable(chosen) else chosen

        self.tasks: list[TurnTask] = []
        script: dict[Any, Any] = {TurnTask: take, LastTurnTask: take}
        script |= {ChunkTask: chunk} if chunk else {}
        settings = world.settings(given, mode="adaptive", **changes)
        self.decider = world.scripted(world.RING_FACTS, script)
        with GraphReader(corpus, settings=settings, decider=self.decider) as reader:
            self.events = list(reader.stream(question))
        self.reading: Reading = self.events[-1].reading

    def results(self, turn: int) -> str:
        return self.tasks[turn].values()["results"]


Ask = Callable[..., Run]


@pytest.fixture
def ask(neo4j: Settings, ring: str) -> Ask:
    return lambda *turns, **changes: Run(neo4j, ring, turns, **changes)


def number_of(task: TurnTask, words: str) -> str:
    """The number under which the results show the passage with these words."""
    passages = [one for result in task.results for one in result["passages"]]
    return next(one["number"] for one in passages if words in one["text"])


# A question that the first search answers takes one call: the search itself takes none. The answer
# has the finding as its claim, with the verified quote.
def test_one_turn(ask: Ask) -> None:
    run = ask(lambda task: answer(finding(number_of(task, QUOTE))))
    reading = run.reading

    assert (reading.answer, reading.answered, reading.usage.calls) == ("Beta", True, 1)
    assert [(one.text, one.supported) for one in reading.claims] == [("Alpha met Beta.", True)]
    assert [one.quote for one in reading.citations] == [QUOTE]
    assert [call.name for call in reading.paths[0].functions] == ["search"]
    assert {ChunkRead, NoteTaken, FunctionChosen} <= {type(one) for one in run.events}
    assert reading.documents_read


# A question that only asks to sum up is no search: the first turn sees what the documents have.
def test_about_the_whole(ask: Ask) -> None:
    run = ask(answer(text="They met."), question="Summarize the whole text.")
    first = run.tasks[0].results

    assert [one["action"] for one in first] == ["list(documents)", "outline(1)"]
    assert "[1] ring: 7 passages" in first[0]["text"]
    assert [call.name for call in run.reading.paths[0].functions] == ["list"]


# The actions of a turn are carried out together, and each says what it brought.
def test_actions(ask: Ask) -> None:
    def act(task: TurnTask) -> Turn:
        place = number_of(task, QUOTE)
        return turn(
            ("search", "Delta Epsilon"),
            ("read_node", "gamma"),
            ("read_subsequent_chunk", place),
            ("read_chunk", f"{place}, 9.9"),
            ("outline", place.partition(".")[0]),
        )

    run = ask(act, answer())
    subsequent, chunk, search, node, outline = run.tasks[1].results  # chunks come first

    assert "Delta met Epsilon here." in search["passages"][0]["text"]
    assert [one["text"] for one in node["passages"]] == [
        "- Beta met Gamma here.",
        "- Gamma met Delta here.",
    ]
    assert node["text"].startswith("Gamma: 2 facts in 2 passages.")
    assert "Beta met Gamma here." in subsequent["passages"][0]["text"]
    assert (QUOTE in chunk["passages"][0]["text"], chunk["text"]) == (
        True,
        "No passage has the number 9.9.",
    )
    assert "Eta met Alpha" in outline["text"]
    assert run.reading.usage.calls == 2


# Of a search for names only passages with all of them are shown, if there are any; else it is said
# which name is missing.
def test_search_for_names(ask: Ask) -> None:
    run = ask(turn(("search", "Gamma and Delta"), ("search", "Epsilon, Omega met")), answer())
    both, one = run.tasks[1].results

    assert ["Gamma met Delta here." in passage["text"] for passage in both["passages"]] == [True]
    assert both["text"] == ""
    assert one["text"].endswith("None of these passages has Omega.")


# A search only names what was shown whole before; a chunk that is asked for is printed again.
def test_nothing_twice_unasked(ask: Ask) -> None:
    run = ask(
        lambda task: turn(("search", QUESTION), ("read_chunk", number_of(task, QUOTE))), answer()
    )
    read, again = run.tasks[1].results  # chunks come first

    assert not again["passages"]
    assert again["text"].startswith("Shown before: [")
    assert f"“{QUOTE}”" in again["text"]
    assert QUOTE in read["passages"][0]["text"]


# A passage for which no room was left is not among those that an action is said to have shown.
def test_left_out(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    decide = ScriptedDecider.decide

    async def narrow(self: ScriptedDecider, task: Any, *rest: Any) -> Any:
        return await decide(self, task.keeping(2) if isinstance(task, TurnTask) else task, *rest)

    monkeypatch.setattr(ScriptedDecider, "decide", narrow)
    run = ask(turn(("read_chunk", "1.0-6")), turn(("search", "Omega")), answer())
    second, third = run.tasks[1:]
    shown = [one["number"] for one in second.results[0]["passages"]]

    assert (len(shown), second.actions) == (2, ())
    assert (
        second.results[0]["text"] == "No room for 1.2, 1.3, 1.4, 1.5, 1.6: ask for fewer at once."
    )
    assert third.actions[0].partition(": ")[2] == " ".join(f"[{number}]" for number in shown)


# Findings stay with their quotes, needs and notes are those of the latest turn, and a finding
# without a verified quote, or of a passage that was not shown, is kept without one.
def test_notebook(ask: Ask) -> None:
    run = ask(
        lambda task: turn(
            ("search", "Zeta"),
            findings=[
                finding(number_of(task, QUOTE)),
                finding(number_of(task, QUOTE), "Alpha met Omega.", "Alpha met Omega."),
                finding("7.7", QUOTE, "Somebody met somebody."),
            ],
            needs=["where they met"],
            notes="Perhaps Beta.",
        ),
        turn(("search", "Eta"), absent=["where they met"]),
        answer(rests_on=[1, 2, 3, 99]),
    )
    second, third = (task.values()["notebook"] for task in run.tasks[1:])

    assert f"[1] Alpha met Beta. [1.0: “{QUOTE}”]" in second
    assert (
        "[2] Alpha met Omega. [1.0: no quote]\n[3] Somebody met somebody. [7.7: no quote]" in second
    )
    assert "Missing:\n- where they met" in second
    assert "Perhaps Beta." in second
    assert "search(Zeta): [" in third
    assert "Not in the texts:\n- where they met" in third
    assert "Missing" not in third
    assert [one.supported for one in run.reading.claims] == [True, False, False]


# The answer rests on the findings that it names, of the last turn, too; on all if it names none.
def test_rests_on(ask: Ask) -> None:
    first = turn(("search", "Zeta"), findings=[finding("1.0", text="First.")])
    last = [finding("1.0", text="Second."), finding("1.0", text="Third.")]

    for numbers, claims in (([2], ["Second."]), ([1, 3], ["First.", "Third."]), ([], ["First."])):
        run = ask(first, answer(*last, rests_on=numbers))
        assert [one.text for one in run.reading.claims][: len(claims)] == claims
        assert len(run.reading.claims) == (len(numbers) or 3)


# A model words facts in its own way: a quote from a fact that was shown cites the sentence behind
# it; one that stands neither in a fact nor in the text cites nothing.
def test_quotes_of_facts(
    neo4j: Settings, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("WHOLE_TOKENS", "BEST_TOKENS"):
        monkeypatch.setattr(results, limit, 1)
    fact = "Beta was met by Alpha."
    script = {ExtractionTask: lambda task: world.extraction_of({fact: ["Alpha", "Beta"]})}
    texts = world.write_files(tmp_path, {"ring": [QUOTE]})
    with world.reader(neo4j, corpus, world.scripted({}, script)) as reader:
        reader.ingest(texts)
        last = answer(finding("1.0", fact), finding("1.0", "Here Alpha fled."))
        run = Run(neo4j, corpus, [last])
        later = Run(neo4j, corpus, [turn(("search", "Omega")), last])  # of an earlier turn
        reader.delete(everything=True)

    assert f"- {fact}" in run.results(0)
    assert fact not in later.results(1)
    for one in (run, later):
        assert [citation.quote for citation in one.reading.citations] == [QUOTE]


# The last turn says so, and must answer; so must one after the budget is used up.
def test_calls_end(ask: Ask) -> None:
    run = ask(lambda task: turn(("search", "Zeta")) if task.turns else answer(), calls=2)

    assert [task.turns for task in run.tasks] == [1, 0]
    assert isinstance(run.tasks[1], LastTurnTask)
    assert "last turn" in run.tasks[1].values()["outlook"]
    assert run.tasks[1].problem(turn(("search", "Zeta")))
    assert (run.reading.answer, run.reading.paths[0].stopped) == ("Beta", "call_limit")


def test_budget_ends(ask: Ask) -> None:
    run = ask(lambda task: turn(("search", "Zeta")) if task.turns else answer(), max_calls=2)

    assert run.reading.usage.calls == 2
    assert (run.reading.answer, run.reading.paths[0].stopped) == ("Beta", "budget")
    with pytest.raises(BudgetError):
        ask(answer(), max_calls=0)


# Where two turns bring no finding, paths explore from nodes for what is missing, once, with what is
# known; their notes and quotes are results of the next turn.
def test_paths_where_turns_stall(ask: Ask) -> None:
    stalled = turn(("search", "Omega"), needs=["whom Delta met", "whom Zeta met"])
    quote = "Delta met Epsilon here."
    read: list[ChunkTask] = []

    def chunk(task: ChunkTask) -> Any:
        read.append(task)
        if quote in task.values()["text"]:
            return world.chunk("termination", "Delta met Epsilon.", [quote])
        return world.chunk("search_more", task.notebook)

    run = ask(*[stalled] * 4, answer(), chunk=chunk)
    paths, explored = run.reading.paths, run.tasks[2].results

    assert len(run.tasks) == 5
    assert {one.initial_node for one in paths} >= {"question", "Delta", "Zeta"}
    assert read[0].notebook == run.tasks[2].notebook.shown()
    assert explored[0]["action"] == "search(Omega)"  # the actions of the turn are carried out, too
    assert "Delta met Epsilon." in [one["text"] for one in explored]
    assert quote in [one["text"] for result in explored for one in result["passages"]]
    assert len(paths) == 3


# Paths start also where each turn has findings, but the same needs stay open for two turns.
def test_paths_where_needs_stay_open(ask: Ask) -> None:
    def act(task: TurnTask) -> Turn:
        found = finding("1.0", QUOTE, f"Alpha met Beta: {'abcdefgh'[task.turns]}.")
        return turn(("search", "Omega"), needs=["whom Delta met"], findings=[found])

    run = ask(act, act, act, answer())

    assert len(run.tasks) == 4
    assert {one.initial_node for one in run.reading.paths} >= {"question", "Delta"}
    explored = [one for one in run.tasks[3].results if "exploration from" in one["action"]]
    assert explored
    assert not any("Alpha met Beta: " in one["text"] for one in explored)  # as the turns know it


# A second try explores without the notes before a likely answer; the answer of the turn after it
# counts, likely or not. Without the setting, or where the answer is stated, there is none.
def test_second_try(ask: Ask) -> None:
    likely = answer(finding("1.0"), confidence="likely", needs=["whom Delta met"])
    read: list[ChunkTask] = []

    def chunk(task: ChunkTask) -> Any:
        read.append(task)
        return world.chunk("termination", "Delta met Epsilon.", [])

    tried = ask(likely, likely, chunk=chunk, second_try=True)
    usual, sure = ask(likely), ask(answer(finding("1.0")), second_try=True)

    assert [len(one.tasks) for one in (tried, usual, sure)] == [2, 1, 1]
    assert read[0].notebook == ""
    assert "first answer, likely: Beta It says so." in tried.tasks[1].actions
    assert any(one["action"] == "exploration from Delta" for one in tried.tasks[1].results)
    assert (tried.reading.answer, tried.reading.confidence) == ("Beta", "likely")


# A finding can be struck by its number; a contradiction between findings has the quotes of both.
def test_struck_and_contradicting(ask: Ask) -> None:
    other = "Eta met Alpha here."

    def act(task: TurnTask) -> Turn:
        found = [finding(number_of(task, quote), quote, quote) for quote in (QUOTE, other)]
        return turn(("search", "Eta"), findings=[*found, finding("1.0", QUOTE, "Alpha met Zeta.")])

    conflict = Conflict(about="Whom Alpha met is said in two ways.", findings=[1, 2, 99])
    run = ask(act, answer(struck=[3], conflicts=[conflict], rests_on=[1, 3]))
    [contradiction] = run.reading.contradictions
    quotes = [run.reading.citations[n - 1].quote for n in contradiction.citations]

    assert "[3] Alpha met Zeta." in run.tasks[1].values()["notebook"]
    assert [claim.text for claim in run.reading.claims] == [QUOTE]
    assert (contradiction.text, quotes) == (conflict.about, [QUOTE, other])


# A claim is checked if its names stand nowhere near its quote: not if they stand beside it.
def test_doubtful_claims(ask: Ask) -> None:
    def found(text: str) -> Callable[[TurnTask], Turn]:
        return lambda task: answer(finding(number_of(task, QUOTE), QUOTE, text))

    borne_out, doubtful = ask(found("Here Alpha met Beta.")), ask(found("Alpha met King Omega."))

    assert not [one for one in borne_out.decider.asked if isinstance(one, ClaimCheckTask)]
    [check] = [one for one in doubtful.decider.asked if isinstance(one, ClaimCheckTask)]
    assert check.claims == ("Alpha met King Omega. (quotes: 1)",)
    assert QUOTE in check.evidence[0].quote


# Nothing in the texts is an answer of its own, and ends the run.
def test_not_in_the_texts(ask: Ask) -> None:
    reading = ask(turn(confidence="not in the texts", absent=["whom"])).reading

    assert (reading.answer, reading.answered) == ("The texts do not tell.", False)
    assert reading.usage.calls == 1
    assert reading.notes[-1] == "Searched once without an answer."


# The names of an unanswered question that the texts do not have are named.
def test_absent_names(ask: Ask) -> None:
    question = "When did Alpha meet King Omega?"
    reading = ask(turn(confidence="not in the texts"), question=question).reading

    assert reading.notes[-1].endswith("The texts do not have: King Omega.")


# A longer passage is shown by facts, and the event that tells of them has one place for each.
def test_facts_are_announced(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("WHOLE_TOKENS", "BEST_TOKENS"):
        monkeypatch.setattr(results, limit, 1)
    run = ask(answer())
    (event,) = [one for one in run.events if isinstance(one, FactsRead)]

    assert "read_chunk shows it whole.)" in run.results(0)
    assert QUOTE in event.facts
    assert set(event.facts) <= set(world.RING)
    assert len(event.facts) == len(event.places)


# A run that breaks off goes on without asking again what was decided, and a new one can begin
# before any of its turns.
@pytest.mark.parametrize(("at", "number"), [(RunBegan, 1), (NoteTaken, 1), (FunctionChosen, 3)])
def test_resumed(neo4j: Settings, ring: str, tmp_path: Path, at: type[Any], number: int) -> None:
    def take(task: TurnTask) -> Turn:
        if len(task.notebook.findings) == 2:
            return answer(rests_on=[1, 2])
        passage = next(one for result in task.results for one in result["passages"])
        quote = passage["text"].partition(".")[0]
        found = finding(passage["number"], quote, f"Finding {'abcdefgh'[task.turns]}.")
        return turn(("search", "Zeta Eta"), findings=[found])

    def reader() -> tuple[GraphReader, Any]:
        decider = world.scripted(world.RING_FACTS, {TurnTask: take})
        return GraphReader(ring, settings=settings, decider=decider), decider

    settings = world.settings(neo4j, mode="adaptive", home=tmp_path)
    whole, asked = reader()
    with whole:
        expected = whole.ask(QUESTION)
    first, before = reader()
    with first:
        run = broken_off(first, at, number, QUESTION)
    second, after = reader()
    with second:
        reading = second.resume(run)
        kept = second.run(run)
        forked = second.resume(run, step=3)

    assert reading.answer == forked.answer == expected.answer == "Beta"
    assert reading.claims == expected.claims
    assert [str(task) for task in (*before.asked, *after.asked[: len(asked.asked)])][:3] == [
        str(task) for task in asked.asked
    ]
    assert kept.steps == {1: "search", 2: "turn", 3: "turn", 4: "turn"}


# The prompt keeps the best passages of each result where not all fit, and names the others.
def test_little_room() -> None:
    def passage(number: str) -> Any:
        place = {"chunk": number, "document_id": "d", "index": 0, "whole": True, "facts": []}
        return {"number": number, "title": "t", "text": "x", **place}

    results: Any = [
        {"action": "search(a)", "passages": [passage("1.0"), passage("1.1")], "text": ""},
        {"action": "search(b)", "passages": [passage("2.0")], "text": ""},
    ]
    task = TurnTask("q", Notebook(), (), tuple(results), 3).keeping(2)

    assert [[one["number"] for one in r["passages"]] for r in task.results] == [["1.0"], ["2.0"]]
    assert "No room for 1.1: ask for fewer at once." in task.values()["results"]
