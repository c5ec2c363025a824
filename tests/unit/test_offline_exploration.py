"""Exploration without a model: plans, initial nodes, facts, chunks, neighbors, notebooks."""

from typing import Any

import pytest

from graphreader import tokens
from graphreader.agent.decisions import ChunkDecision, FactsDecision
from graphreader.agent.tasks import (
    NOTEBOOK_TOKENS,
    ChunkTask,
    CondenseTask,
    FactGroup,
    FactsTask,
    InitialNodesTask,
    JoinTask,
    NeighborTask,
    PlanTask,
)
from graphreader.offline.decider import OfflineDecider

QUESTION = "Who designed the lighthouse of Port Wessel?"
CHUNK = """The harbour of Port Wessel freezes nearly every winter and
then the town lives on herring. The lighthouse was designed
by Ilse Holt, who came from Kiel, and was lit for the first
time in 1712. Herring is cheap in spring, when the boats are
back, and dear in autumn. The council meets on every Monday."""


async def decide(task: Any) -> Any:
    """The offline decision, which must be valid for its task."""
    decision = (await OfflineDecider().decide(task)).decision
    assert task.problem(decision) is None
    return decision


async def nodes_for(question: str, *nodes: str) -> list[str]:
    """The names of the proposed nodes, each once, scored from 0 to 100."""
    chosen = (await decide(InitialNodesTask(question, "", nodes))).nodes
    assert len({node.number for node in chosen}) == len(chosen) >= min(10, len(nodes))
    assert all(0 <= node.score <= 100 for node in chosen)
    return [nodes[node.number - 1] for node in chosen]


async def facts_for(
    *groups: FactGroup,
    node: str = "Port Wessel",
    notebook: str = "",
    question: str = QUESTION,
    actions: tuple[str, ...] = (),
) -> FactsDecision:
    decision: FactsDecision = await decide(FactsTask(question, "", actions, notebook, node, groups))
    return decision


async def chunk_for(text: str, question: str = QUESTION) -> ChunkDecision:
    task = ChunkTask(question, "", (), "", "Port Wessel", "Notes, chunk 1", text)
    decision: ChunkDecision = await decide(task)
    return decision


async def neighbor_for(*names: str, notebook: str = "", actions: tuple[str, ...] = ()) -> str:
    """The neighbor's name, or "" where the path ends."""
    decision = await decide(NeighborTask(QUESTION, "", actions, notebook, "lighthouse", names))
    assert (decision.function == "termination") == (decision.neighbor == 0)
    return names[decision.neighbor - 1] if decision.neighbor else ""


# The plan needs each name by itself and what is asked about them, in the question's language;
# nothing, if the question is unclear.
@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("When was the lighthouse of Port Wessel lit?", ["Port Wessel", "lighthouse lit"]),
        ("Who played longer, Danny or Alice?", ["Danny", "Alice", "played"]),
        ("林雨桐是哪一年出生的？", ["林雨桐", "出生"]),
        ("?", []),
    ],
)
async def test_plan(question: str, needs: list[str]) -> None:
    decision = (await OfflineDecider().decide(PlanTask(question))).decision

    assert decision.needs == needs
    assert all(need.split()[0] in decision.plan for need in needs)


# Names of the question come first, then its other words, and what it lacks comes last.
async def test_initial_nodes_ranked() -> None:
    chosen = await nodes_for(QUESTION, "herring", "lighthouse", "Port Wessel", "winter", "designed")

    assert chosen[0] == "Port Wessel"
    assert set(chosen[1:3]) == {"lighthouse", "designed"}
    assert len(chosen) == 5
    assert len(await nodes_for(QUESTION, *(f"word{n}" for n in range(30)))) >= 10


HERRING = ("Port Wessel exports herring.",)
DESIGNED = ("Ilse Holt designed the lighthouse of Port Wessel.",)


# Which chunk is read is decided by what it holds of the question, its title, and how the path came.
@pytest.mark.parametrize(
    ("groups", "options", "chunks"),
    [
        # The chunk that holds most of the question is read, if it was not read before.
        (
            [
                FactGroup("A, chunk 0", HERRING),
                FactGroup("B, chunk 0", ("Port Wessel has a lighthouse.",)),
                FactGroup("C, chunk 0", DESIGNED, read=True),
            ],
            {},
            [2],
        ),
        # Facts with too little of the question lead to a neighbor.
        ([FactGroup("A, chunk 0", ("It is a lighthouse.",))], {"node": "lighthouse"}, []),
        # A document is read that is called like the name that the notes lead to.
        (
            [FactGroup("Ilse Holt, chunk 0", ("Ilse Holt loved rowing.",))],
            {
                "node": "Ilse Holt",
                "notebook": "- The lighthouse of Port Wessel was designed by Ilse Holt.",
            },
            [1],
        ),
    ],
)
async def test_chunk_to_read(
    groups: list[FactGroup], options: dict[str, Any], chunks: list[int]
) -> None:
    decision = await facts_for(*groups, **options)

    assert decision.chunks == chunks
    assert decision.function == ("read_chunk" if chunks else "stop_and_read_neighbor")


# Only the first facts of a page are looked at.
async def test_little_is_looked_at() -> None:
    groups = tuple(FactGroup(f"A, chunk {n}", DESIGNED) for n in range(9))
    task = FactsTask(QUESTION, "", (), "", "Port Wessel", groups)
    shown = (await OfflineDecider().decide(task)).task

    assert isinstance(shown, FactsTask)
    assert shown.groups == groups[: len(shown.groups)]
    assert 1 <= len(shown.groups) == 9 - shown.remaining < 9


# What was noted stays, nothing is noted twice, and the notebook does not grow without end.
async def test_notebook() -> None:
    notebook = "- Ilse Holt designed the lighthouse of Port Wessel."
    many = tuple(f"The lighthouse number {n} was {'very ' * 40}tall." for n in range(30))
    decision = await facts_for(
        FactGroup("A, chunk 0", ("Ilse Holt designed the lighthouse of Port Wessel.",)),
        FactGroup("B, chunk 0", many),
        notebook=notebook,
    )

    assert decision.notebook.count(notebook) == 1
    assert len(decision.notebook) <= 2000


# The sentences that support the question best are quoted as written, hard line breaks included; one
# that begins with a pronoun with the sentence before it. Other sentences are neither quoted nor
# noted.
@pytest.mark.parametrize(
    ("text", "question", "quotes"),
    [
        (
            CHUNK,
            QUESTION,
            [
                "The harbour of Port Wessel freezes nearly every winter and\n"
                "then the town lives on herring.",
                "The lighthouse was designed\nby Ilse Holt, who came from Kiel, and was lit for "
                "the first\ntime in 1712.",
            ],
        ),
        (
            "The old tower stands in the north. It was designed as a lighthouse. Salt is cheap.",
            QUESTION,
            ["The old tower stands in the north. It was designed as a lighthouse."],
        ),
        (
            "临河县盛产小麦。作家林雨桐获得了北原文学奖。大青河冬季结冰。",
            "林雨桐获得了什么文学奖？",
            ["作家林雨桐获得了北原文学奖。"],
        ),
        ("Herring is cheap. Salt is dear.", QUESTION, []),
    ],
)
async def test_quotes(text: str, question: str, quotes: list[str]) -> None:
    decision = await chunk_for(text, question)

    assert decision.quotes == quotes
    assert bool(decision.notebook) == bool(quotes)


# Reading ends when one noted sentence holds everything that is asked; before that it goes on, with
# the next chunk where the one useful sentence is the chunk's last.
@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("Ilse Holt designed the lighthouse of Port Wessel. Salt is cheap.", "termination"),
        ("Salt is cheap. Port Wessel has a lighthouse. Herring is dear. So it is.", "search_more"),
        (
            "Salt is cheap. Herring is dear. Amber is rare. There is a lighthouse.",
            "read_subsequent_chunk",
        ),
    ],
)
async def test_next_function(text: str, function: str) -> None:
    assert (await chunk_for(text)).function == function


# A name that the notes add to the question leads on, of several the one nearest to what is asked
# for; without notes the question's names do, but no node that was visited. Else the path ends.
@pytest.mark.parametrize(
    ("names", "options", "chosen"),
    [
        (
            ("Tom Orr", "Italian", "Ilse Holt"),
            {
                "notebook": "- The lighthouse of Port Wessel was designed by Ilse Holt, and its "
                "first keeper for many years was an Italian sailor whom all called Tom Orr."
            },
            "Ilse Holt",
        ),
        (("winter", "Port Wessel", "designed"), {}, "Port Wessel"),
        (("winter", "Port Wessel"), {"actions": ("read_neighbor_node(Port Wessel)",)}, ""),
        (("winter", "Herring"), {}, ""),
    ],
)
async def test_neighbor(names: tuple[str, ...], options: dict[str, Any], chosen: str) -> None:
    assert await neighbor_for(*names, **options) == chosen


async def condensed(*notebooks: str, question: str = QUESTION, plan: str = "") -> list[str]:
    decision = await decide(CondenseTask(question, plan, notebooks))
    return str(decision.notebook).split("\n")


# Of a notebook that is too long stays what the question or the plan asks for, in its first order.
async def test_condense_keeps_what_matters() -> None:
    chaff = [
        f"- Boat {n} sold {n} barrels of herring in the spring of 17{n}." for n in range(10, 60)
    ]
    useful = "- Ilse Holt designed the lighthouse.", "- Port Wessel lies in the north."
    before = [*chaff[:20], useful[0], *chaff[20:], useful[1], "- Kiel is a town."]
    lines = await condensed("\n".join(before), plan="Then find Kiel.")

    assert {*useful, "- Kiel is a town."} <= set(lines)
    assert lines == [line for line in before if line in lines]
    assert 400 < tokens.count("\n".join(lines)) <= NOTEBOOK_TOKENS


# What several notebooks have stands once; Chinese stays Chinese.
async def test_each_once() -> None:
    task = JoinTask(QUESTION, "", (
        "- Ilse Holt designed it. It was lit in 1712.\n- Ilse Holt designed it.",
        "- 灯塔由林雨桐设计。港口冬天结冰。",
        "灯塔由林雨桐设计。",
    ))  # fmt: skip
    decision = (await OfflineDecider().decide(task)).decision

    assert decision.notebook.split("\n") == [
        "- Ilse Holt designed it.",
        "- It was lit in 1712.",
        "- 灯塔由林雨桐设计。",
        "- 港口冬天结冰。",
    ]


# Empty notebooks are said to be empty.
async def test_condense_nothing() -> None:
    assert await condensed("", "") == ["Nothing was noted."]
