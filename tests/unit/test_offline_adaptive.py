"""The turns of mode `adaptive` without a model."""

from graphreader.agent.adaptive.notebook import Notebook
from graphreader.agent.adaptive.tasks import Result, ShownPassage, Turn, TurnTask
from graphreader.offline.decider import OfflineDecider

QUESTION = "Where was the author of The Salt Road born?"
ROAD = "The Salt Road is a novel that was written by Ada Quist."
BORN = "Ada Quist was born in Varn."


def passage(number: str, title: str, text: str, *, whole: bool = True) -> ShownPassage:
    return {
        "number": number,
        "title": title,
        "text": text,
        "chunk": number,
        "document_id": title,
        "index": 0,
        "whole": whole,
        "facts": [] if whole else [0],
    }


async def turn(
    *passages: ShownPassage,
    question: str = QUESTION,
    findings: tuple[str, ...] = (),
    turns: int = 5,
    action: str = "search",
) -> Turn:
    """The decision on these results; with findings there was a search for Ada Quist before."""
    results: tuple[Result, ...] = ({"action": action, "passages": list(passages), "text": ""},)
    actions = ("search(Ada Quist born): [2.0]",) if findings else ()
    task = TurnTask(question, Notebook(findings=findings), actions, results, turns)
    decision = (await OfflineDecider().decide(task)).decision
    assert task.problem(decision) is None
    return decision


def actions_of(decision: Turn) -> list[tuple[str, str]]:
    return [(one.function, one.argument) for one in decision.actions]


# The best sentences are noted with a verbatim quote, and a name that they add is searched with what
# is asked and they do not say.
async def test_follows_names() -> None:
    decision = await turn(passage("1.0", "Salt Road", f"{ROAD} Bread is cheap."))

    assert [(one.passage, one.quote) for one in decision.findings] == [("1.0", ROAD)]
    assert actions_of(decision) == [("search", "Ada Quist born")]


# Each subject of a comparison is searched after the whole question, unless a passage about it was
# shown.
async def test_comparison() -> None:
    question = "Who was born first, Ada Quist or Tom Orr?"

    one_shown = await turn(passage("1.0", "Ada Quist", BORN), question=question)
    none_shown = await turn(question=question, action=f"search({question})")

    assert ("search", "Tom Orr born") in actions_of(one_shown)
    assert not any("Ada" in argument for _, argument in actions_of(one_shown))
    assert [one for _, one in actions_of(none_shown)] == ["Ada Quist born", "Tom Orr born"]


# A passage of which only some facts were shown is read if it has the best finding.
async def test_reads_a_long_passage() -> None:
    decision = await turn(passage("1.3", "Novels", f"- {ROAD}", whole=False))

    assert actions_of(decision)[0] == ("read_chunk", "1.3")


# Facts of a passage are quoted one by one, as they do not follow each other in its text.
async def test_facts_are_apart() -> None:
    crowned = "She was crowned in Varn by Pope Innocent."
    facts = passage("1.3", "Ada Quist", f"- Ada Quist ruled the coast.\n- {crowned}", whole=False)

    decision = await turn(facts, question="Which pope crowned Ada Quist?")

    assert crowned in [one.quote for one in decision.findings]


# Where no name leads on, or no turn is left, the connected findings are the answer.
async def test_answers() -> None:
    noted = (f"{ROAD} [1.0: “{ROAD}”]",)

    decision = await turn(passage("2.0", "Ada Quist", BORN), findings=noted)
    nothing = await turn(passage("1.0", "Salt", "Salt is cheap."), turns=0)

    assert (decision.actions, decision.rests_on, decision.confidence) == ([], [1, 2], "stated")
    assert [one.quote for one in decision.findings] == [BORN]
    assert ROAD in decision.answer
    assert BORN in decision.answer
    assert (nothing.actions, nothing.confidence) == ([], "not in the texts")
