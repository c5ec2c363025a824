"""Exploration without a model: plans, initial nodes, facts, chunks, neighbors, notebooks."""

import pytest

from graphreader import tokens
from graphreader.agent.decisions import ChunkDecision, FactsDecision, InitialNodes, NeighborDecision
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


async def nodes_for(question: str, *nodes: str) -> InitialNodes:
    task = InitialNodesTask(question, "", nodes)
    decision = (await OfflineDecider().decide(task)).decision
    assert task.problem(decision) is None
    return decision


async def facts_for(
    *groups: FactGroup, node: str = "Port Wessel", notebook: str = ""
) -> FactsDecision:
    task = FactsTask(QUESTION, "", (), notebook, node, groups)
    decision = (await OfflineDecider().decide(task)).decision
    assert task.problem(decision) is None
    return decision


async def chunk_for(
    text: str, question: str = QUESTION, notebook: str = "", label: str = "Notes, chunk 1"
) -> ChunkDecision:
    task = ChunkTask(question, "", (), notebook, "Port Wessel", label, text)
    return (await OfflineDecider().decide(task)).decision


async def neighbor_for(
    *neighbors: str, notebook: str = "", actions: tuple[str, ...] = ()
) -> NeighborDecision:
    task = NeighborTask(QUESTION, "", actions, notebook, "lighthouse", neighbors)
    decision = (await OfflineDecider().decide(task)).decision
    assert task.problem(decision) is None
    return decision


# The plan names what is looked for, in the question's language.
async def test_plan() -> None:
    english = (await OfflineDecider().decide(PlanTask(QUESTION))).decision.plan
    chinese = (await OfflineDecider().decide(PlanTask("林雨桐出生于哪一年？"))).decision.plan

    assert "Port Wessel" in english
    assert "lighthouse" in english
    assert "林雨桐" in chinese
    assert "年份" in chinese


# What the plan needs is each name by itself and what is asked about them; nothing, if unclear.
@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("When was the lighthouse of Port Wessel lit?", ["Port Wessel", "lighthouse lit"]),
        ("Who played longer, Danny or Alice?", ["Danny", "Alice", "played"]),
        ("林雨桐是哪一年出生的？", ["林雨桐", "出生"]),
        ("?", []),
    ],
)
async def test_needs(question: str, needs: list[str]) -> None:
    decision = (await OfflineDecider().decide(PlanTask(question))).decision

    assert decision.needs == needs


# Names of the question come first, then its other words, and what it lacks comes last.
async def test_initial_nodes_ranked() -> None:
    names = ("herring", "lighthouse", "Port Wessel", "winter", "designed")
    chosen = [names[node.number - 1] for node in (await nodes_for(QUESTION, *names)).nodes]

    assert chosen[0] == "Port Wessel"
    assert set(chosen[1:3]) == {"lighthouse", "designed"}
    assert set(chosen) == set(names)


# At least ten nodes are proposed where so many are listed, each once, scored from 0 to 100.
async def test_initial_nodes_enough() -> None:
    chosen = (await nodes_for(QUESTION, *(f"word{n}" for n in range(30)))).nodes

    assert len(chosen) >= 10
    assert len({node.number for node in chosen}) == len(chosen)
    assert all(0 <= node.score <= 100 for node in chosen)


# Nodes that share the same words with the question do not crowd out the others.
async def test_initial_nodes_diverse() -> None:
    names = ("Port Wessel", "port wessel", "PORT WESSEL", "lighthouse", "designed")
    chosen = [names[node.number - 1] for node in (await nodes_for(QUESTION, *names)).nodes]

    assert {"lighthouse", "designed"} & set(chosen[:3])


# A Chinese question prefers the nodes that stand in it.
async def test_initial_nodes_chinese() -> None:
    names = ("大青河", "林雨桐", "文学奖")
    chosen = (await nodes_for("林雨桐获得了什么文学奖？", *names)).nodes

    assert names[chosen[-1].number - 1] == "大青河"


# The chunk that holds most of the question is read; those that hold less, and read ones, are not.
async def test_chunks_chosen() -> None:
    all_of_it = ("designed", "lighthouse", "port", "wessel")
    told = ("Ilse Holt designed the lighthouse of Port Wessel.",)
    decision = await facts_for(
        FactGroup("A, chunk 0", ("Port Wessel exports herring.",), holds=("port", "wessel")),
        FactGroup("B, chunk 0", ("Port Wessel has a lighthouse.",), holds=all_of_it[1:]),
        FactGroup("C, chunk 0", told, holds=all_of_it),
        FactGroup("D, chunk 0", ("Tom Orr designed it.",), read=True, holds=all_of_it),
        FactGroup("E, chunk 0", ("It was designed in Kiel.",), holds=all_of_it),
    )

    assert decision.function == "read_chunk"
    assert decision.chunks == [3]
    assert "- Ilse Holt designed the lighthouse of Port Wessel." in decision.notebook


# Facts that share only the node's own name with the question lead to a neighbor.
@pytest.mark.parametrize("number", [0, 2])
async def test_nothing_beyond_the_name(number: int) -> None:
    facts = ("Port Wessel exports herring.",)
    decision = await facts_for(*(FactGroup(f"A, chunk {n}", facts) for n in range(number)))

    assert decision.function == "stop_and_read_neighbor"
    assert decision.chunks == []
    assert decision.notebook == ""


# The only chunk that tells of who is asked about is read, whatever it tells.
async def test_all_that_is_told() -> None:
    decision = await facts_for(FactGroup("A, chunk 0", ("Port Wessel exports herring.",)))

    assert (decision.function, decision.chunks) == ("read_chunk", [1])


# A document that is called like the name that the notes lead to is read.
async def test_document_of_the_bridge() -> None:
    decision = await facts_for(
        FactGroup("Ilse Holt, chunk 0", ("Ilse Holt loved rowing.",)),
        node="Ilse Holt",
        notebook="- The lighthouse of Port Wessel was designed by Ilse Holt.",
    )

    assert decision.function == "read_chunk"


# What a chunk holds beside the node's facts counts too.
async def test_words_of_the_whole_chunk() -> None:
    facts = ("Port Wessel exports herring.",)
    decision = await facts_for(
        FactGroup("A, chunk 0", facts),
        FactGroup("B, chunk 0", facts, holds=("designed", "lighthouse")),
    )

    assert decision.chunks == [2]


# A document that is called like a part of a name is not the one that is asked for.
async def test_document_of_another() -> None:
    question = "Who taught Ada Brun Lind?"
    names = ("Ada Brun", "Ada Brun Lind", "Brun")
    groups = tuple(FactGroup(f"{name}, chunk 0", (f"{name} sang.",)) for name in names)
    task = FactsTask(question, "", ("at x: search_more()",), "", "sang", groups)

    assert (await OfflineDecider().decide(task)).decision.chunks == [2]


# Of the chunk that will be read all facts are looked at, of the other promising ones the titles.
async def test_little_is_looked_at() -> None:
    facts = ("Port Wessel has a lighthouse.", "Port Wessel has a lighthouse keeper.")
    groups = tuple(
        FactGroup(f"A, chunk {n}", facts, holds=("designed",) * n, promise=promise)
        for n, promise in enumerate((1, 0.9, 0.5))
    )
    task = FactsTask(QUESTION, "", (), "", "Port Wessel", groups)
    shown = (await OfflineDecider().decide(task)).task

    assert isinstance(shown, FactsTask)
    assert [group.facts for group in shown.groups] == [(), facts]
    assert shown.remaining == 4


# Where nothing is worth reading, one fact is looked at.
async def test_one_fact_is_looked_at() -> None:
    facts = ("Tom Orr keeps herring.", "Tom Orr keeps salt.")
    groups = tuple(FactGroup(f"A, chunk {n}", facts) for n in range(2))
    decided = await OfflineDecider().decide(FactsTask(QUESTION, "", (), "", "herring", groups))

    assert isinstance(decided.task, FactsTask)
    assert [group.facts for group in decided.task.groups] == [facts[:1], ()]
    assert decided.decision.function == "stop_and_read_neighbor"


# From a word that is no name of the question a chunk is read if much else of it stands there, too.
@pytest.mark.parametrize(
    ("holds", "function"),
    [
        (("lighthouse", "wessel"), "stop_and_read_neighbor"),
        (("designed", "lighthouse", "port", "wessel"), "read_chunk"),
    ],
)
async def test_from_a_word(holds: tuple[str, ...], function: str) -> None:
    group = FactGroup("A, chunk 0", ("It is a lighthouse.",), holds=holds)
    decision = await facts_for(group, node="lighthouse")

    assert decision.function == function


# A path that went on by a word of the question reads only what is called as the question says.
@pytest.mark.parametrize(
    ("title", "function"), [("Notes", "stop_and_read_neighbor"), ("Port Wessel", "read_chunk")]
)
async def test_on_by_a_word(title: str, function: str) -> None:
    holds = ("designed", "lighthouse", "port", "wessel")
    group = FactGroup(f"{title}, chunk 0", ("It is a lighthouse.",), holds=holds)
    actions = ("at winter: read_neighbor_node(lighthouse)",)
    task = FactsTask(QUESTION, "", actions, "", "lighthouse", (group,))

    assert (await OfflineDecider().decide(task)).decision.function == function


# What was noted stays, nothing is noted twice, and the notebook does not grow without end.
async def test_notebook() -> None:
    notebook = "- Ilse Holt designed the lighthouse of Port Wessel."
    many = tuple(f"The lighthouse number {n} was {'very ' * 40}tall." for n in range(30))
    decision = await facts_for(
        FactGroup("A, chunk 0", ("Ilse Holt designed the lighthouse of Port Wessel.",)),
        FactGroup("B, chunk 0", many),
        notebook=notebook,
    )
    for n in range(10):
        text = f"The lighthouse {n} was designed {'badly ' * 60}."
        decision = await facts_for(FactGroup("C, chunk 0", (text,)), notebook=decision.notebook)

    assert decision.notebook.count(notebook) == 1
    assert len(decision.notebook) <= 2000


# Quotes are slices of the chunk's text with its hard line breaks, best supporting sentences only.
async def test_quotes() -> None:
    decision = await chunk_for(CHUNK)

    assert any("designed\nby Ilse Holt" in quote for quote in decision.quotes)
    assert all(quote in CHUNK for quote in decision.quotes)
    assert not any("Herring" in quote or "council" in quote for quote in decision.quotes)


# A quote that begins with a pronoun takes the sentence before it along.
async def test_pronoun_quote() -> None:
    text = "The old tower stands in the north. It was designed as a lighthouse. Salt is cheap."
    decision = await chunk_for(text)

    assert decision.quotes == [text.removesuffix(" Salt is cheap.")]


# Reading ends when one noted sentence holds all that is asked, and goes on before that.
async def test_termination() -> None:
    done = await chunk_for("Ilse Holt designed the lighthouse of Port Wessel. Salt is cheap.")
    half = await chunk_for(
        "Salt is cheap. Port Wessel has a lighthouse. Herring is dear. So it is."
    )

    assert done.function == "termination"
    assert half.function == "search_more"


# The one useful sentence at a chunk's end leads to the chunk after it.
async def test_subsequent() -> None:
    text = "Salt is cheap. Herring is dear. Amber is rare. There is a lighthouse."
    decision = await chunk_for(text)

    assert decision.function == "read_subsequent_chunk"


# A chunk that has nothing to do with the question gives no quote and no note.
@pytest.mark.parametrize("text", ["Herring is cheap. Salt is dear.", "!!!"])
async def test_irrelevant_chunk(text: str) -> None:
    decision = await chunk_for(text)

    assert decision.quotes == []
    assert decision.notebook == ""


# In Chinese the sentence that shares most with the question is quoted.
async def test_chinese_quote() -> None:
    text = "临河县盛产小麦。作家林雨桐获得了北原文学奖。大青河冬季结冰。"
    decision = await chunk_for(text, question="林雨桐获得了什么文学奖？")

    assert decision.quotes == ["作家林雨桐获得了北原文学奖。"]


# A name that the notes add to the question is the bridge, before the question's own names.
async def test_bridge() -> None:
    notebook = "- The lighthouse of Port Wessel was designed by Ilse Holt."
    names = ("Port Wessel", "Ilse Holt", "winter")
    decision = await neighbor_for(*names, notebook=notebook)

    assert names[decision.neighbor - 1] == "Ilse Holt"


# Of several names the one that stands nearest to what is asked for leads on.
async def test_nearest_name() -> None:
    notebook = (
        "- The lighthouse of Port Wessel was designed by Ilse Holt, and its first keeper for many "
        "years was an Italian sailor whom all in the town called Tom Orr."
    )
    names = ("Tom Orr", "Italian", "Ilse Holt")
    decision = await neighbor_for(*names, notebook=notebook)

    assert names[decision.neighbor - 1] == "Ilse Holt"


# Without notes the question's names lead on, and a node that was visited does not.
async def test_names_next() -> None:
    names = ("winter", "Port Wessel", "designed")
    first = await neighbor_for(*names)
    second = await neighbor_for(*names, actions=("read_neighbor_node(Port Wessel)",))

    assert names[first.neighbor - 1] == "Port Wessel"
    assert names[second.neighbor - 1] == "designed"


# A path ends where no neighbor has to do with the question or the notes.
@pytest.mark.parametrize("names", [("winter", "Herring"), ()])
async def test_no_lead(names: tuple[str, ...]) -> None:
    decision = await neighbor_for(*names)

    assert decision.function == "termination"


async def condensed(*notebooks: str, question: str = QUESTION, plan: str = "") -> list[str]:
    task = CondenseTask(question, plan, notebooks)
    decision = (await OfflineDecider().decide(task)).decision
    assert task.problem(decision) is None
    return decision.notebook.split("\n")


# Of a notebook that is too long stays what the question asks for, whole, in its first order.
async def test_keeps_what_matters() -> None:
    chaff = [
        f"- Boat {n} sold {n} barrels of herring in the spring of 17{n}." for n in range(10, 60)
    ]
    useful = "- Ilse Holt designed the lighthouse.", "- Port Wessel lies in the north."
    lines = await condensed("\n".join([*chaff[:20], useful[0], *chaff[20:], useful[1]]))

    assert set(useful) <= set(lines)
    assert set(lines) <= {*chaff, *useful}
    assert lines == [line for line in [*chaff[:20], useful[0], *chaff[20:], useful[1]]
                     if line in lines]  # fmt: skip
    assert 400 < tokens.count("\n".join(lines)) <= NOTEBOOK_TOKENS


# What only the plan asks for counts, too, where there is no room for everything.
async def test_keeps_what_the_plan_asks_for() -> None:
    chaff = [
        f"- Boat {n} sold {n} barrels of herring in the spring of 17{n}." for n in range(10, 60)
    ]
    lines = await condensed("\n".join([*chaff, "- Kiel is a town."]), plan="Then find Kiel.")

    assert "- Kiel is a town." in lines


# Each sentence stands once; how many notebooks have it is told, also when they are joined again.
async def test_votes_are_counted() -> None:
    task = JoinTask(QUESTION, "", (
        "- Ilse Holt designed it. It was lit in 1712.\n- Ilse Holt designed it.",
        "Ilse Holt designed it.",
        "- Ilse Holt designed it. (3 notebooks)\n- It is white.",
    ))  # fmt: skip
    decision = (await OfflineDecider().decide(task)).decision

    assert decision.notebook.split("\n") == [
        "- Ilse Holt designed it. (5 notebooks)",
        "- It was lit in 1712.",
        "- It is white.",
    ]


# Chinese notebooks stay Chinese.
async def test_condense_chinese() -> None:
    lines = await condensed(
        "灯塔由林雨桐设计。港口冬天结冰。", "灯塔由林雨桐设计。", question="谁设计了灯塔？"
    )

    assert lines == ["- 灯塔由林雨桐设计。（2本笔记）", "- 港口冬天结冰。"]


# One sentence that is too long by itself keeps its beginning; empty notebooks say so.
@pytest.mark.parametrize("sentence", ["word " * 3000, "词" * 3000])
async def test_condense_extremes(sentence: str) -> None:
    (line,) = await condensed(sentence)

    assert line.startswith(f"- {sentence[:300]}")
    assert line.endswith(" …")
    assert await condensed("", "") == ["Nothing was noted."]
