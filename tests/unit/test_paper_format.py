"""Replies in the formats that the paper's figures ask for, as models really write them."""

import re
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graphreader.deciding.exploring import ChunkTask, FactGroup, FactsTask, NeighborTask
from graphreader.deciding.replies.replies import UnusableReply, read
from graphreader.deciding.tasks import (
    AnswerTask,
    CondenseTask,
    Evidence,
    ExtractionTask,
    InitialNodesTask,
    PlanTask,
)

EXTRACTION = ExtractionTask("A title", "A text.")
PLAN = PlanTask("Who had the longer career?")
NODES = InitialNodesTask("Who?", "Look.", ("Danny", "Alice Cooper", "1972", "tennis (sport)"))
LABELS = ("Joan, a life, chunk 4", "Joan, a life, chunk 7", "1984, chunk 2")
FACTS = FactsTask("Who?", "", (), "", "D", tuple(FactGroup(one, ("f",)) for one in LABELS))
CHUNK = ChunkTask("Who?", "", (), "", "D", LABELS[0], "A text.")
NEIGHBORS = NeighborTask("Who?", "", (), "", "D", ("Danny", "Danko Jones (band)", "danny", "12"))
ANSWER = AnswerTask("Who?", "", ("a", "b"), tuple(Evidence("t, 1", "q") for _ in range(3)))


def taken(text: str, task: Any) -> Any:
    return read(AIMessage(text), task)


def refused(text: str, task: Any) -> UnusableReply:
    with pytest.raises(UnusableReply) as caught:
        taken(text, task)
    return caught.value


# Facts are read line by line (figure 6), in the format's words and in those of its example.
@pytest.mark.parametrize(
    "text",
    [
        "1. A father and his son, Tom, went home. | father | son | went home\n2. Tom slept. | Tom",
        "[1], [A father and his son, Tom, went home.], [father | son | went home]\n"
        "[2], [Tom slept.], [Tom]",
        "[[[[1]]]], [[[[A father and his son, Tom, went home.]]]], [[[[father | son | went home]]]]"
        "\n[[[[2]]]], [[[[Tom slept.]]]], [[[[Tom]]]]",
        "Here are the facts:\n\n**1.** A father and his son, Tom, went home. | **father** | son | "
        "went home\n\n**2.** Tom slept. | Tom\n\nI hope it helps!",
        "- A father and his son, Tom, went home. | father | son | went home\n- Tom slept. | Tom",
        "1) A father and his son, Tom,\n  went home. | father | son | went home\n2) Tom slept.|Tom",
        "1. [A father and his son, Tom, went home.] | [father] | [son] | [went home]\n"
        "2. [Tom slept.] | [Tom]",
    ],
)
def test_facts(text: str) -> None:
    facts = [(one.fact, one.key_elements) for one in taken(text, EXTRACTION).facts]

    assert facts == [
        ("A father and his son, Tom, went home.", ["father", "son", "went home"]),
        ("Tom slept.", ["Tom"]),
    ]


# Chinese facts come with Chinese signs; numbers of the text are no numbers of a list.
def test_facts_of_other_kinds() -> None:
    chinese = taken("1、贞德生于1412年。｜贞德｜1412年\n2. 她十九岁。 | 贞德", EXTRACTION).facts
    numbers = taken("1,200 people came. | 1,200 people\n3.5 % left. | 3.5 %", EXTRACTION).facts
    bare = taken("1. Tom slept. | Tom\n2. It rained.", EXTRACTION).facts

    assert [one.fact for one in chinese] == ["贞德生于1412年。", "她十九岁。"]
    assert chinese[0].key_elements == ["贞德", "1412年"]
    assert [one.fact for one in numbers] == ["1,200 people came.", "3.5 % left."]
    assert [one.key_elements for one in bare] == [["Tom"], []]


# A list without any key element is no reply in this format.
@pytest.mark.parametrize(
    "text",
    ["1. Tom slept.\n2. It rained.", "I see no facts.", "a | b", "1, Tom slept., Tom | bed"],
)
def test_no_facts(text: str) -> None:
    assert refused(text, EXTRACTION).kind == "no_json"


# A plan is prose (figure 7), with or without the name of who speaks.
@pytest.mark.parametrize("lead", ["", "Plan: ", "Assistant: ", "**Rational Plan:** ", "Plan:\n"])
def test_plan(lead: str) -> None:
    prose = "We first need the length of both careers. Is one stated? Then compare the two."

    assert taken(lead + prose, PLAN).plan == prose


# A refusal or a question back is no plan.
@pytest.mark.parametrize(
    "text", ["I cannot help with that.", "I’m afraid I can't.", "Which text?", "抱歉，我无法回答。"]
)
def test_no_plan(text: str) -> None:
    assert refused(text, PLAN).kind == "no_json"


# A node is meant by its number or by its name (figure 8); what was not shown has a number of none.
def test_nodes() -> None:
    text = """Here are the nodes:
Node: [2], Score: 90
Node: Danny, Score: 85
3. Node: "1972", Score: 80/100
- **Node**: [4] tennis (sport), **Score**: 70
* Node: alice cooper - Score: 60
Node: [Danny], Score: [50]
Node: 3, Score: 40
Node：Danny，Score：30
Node: Spain, Score: 20
Node: [77], Score: 10"""
    nodes = [(one.number, one.score) for one in taken(text, NODES).nodes]

    assert nodes == [
        (2, 90), (1, 85), (3, 80), (4, 70), (2, 60), (1, 50), (3, 40), (1, 30), (0, 20),
        (77, 10),
    ]  # fmt: skip
    assert refused("Node: Danny. Node: Alice.", NODES).kind == "no_json"


STEPS = [
    "*Updated Notebook*: {0}\n*Rationale for Next Action*: {1}\n*Chosen Action*: {2}",
    "**Updated Notebook:** {0}\n\n**Rationale for Next Action:** {1}\n\n**Chosen Action:** {2}",
    "### Updated Notebook\n{0}\n\n### Rationale for Next Action\n{1}\n\n### Chosen Action\n{2}",
    "Updated Notebook: {0} Rationale for Next Action: {1} Chosen Action: {2}",
    "*Updated Notebook*: {0} *Rationale for Next Action*: {1} *Chosen Action*: {2}",
    "1. **Updated Notebook**: {0}\n2. **Rationale**: {1}\n3. **Chosen Action**: {2}",
    "Notebook: {0}\nRationale: {1}\nFunction: {2}",
    "<think>Notebook: no.</think>Notebook: {0}\nRationale: {1}\nAction: {2}\n",
    "- *Updated Notebook*:\n{0}\n- *Rationale*:\n{1}\n- *Chosen Action*:\n```\n{2}\n```",
]


# Notebook, rationale and action stand under their headings (figures 9 to 11), however they are set.
@pytest.mark.parametrize("form", STEPS)
def test_steps(form: str) -> None:
    notebook = "Joan was born in 1412.\n- Action: she rode to Chinon.\n- Her notebook is lost."
    facts = taken(form.format(notebook, "It may tell more.", "read_chunk([1, 3])"), FACTS)
    chunk = taken(form.format(notebook, "Much is missing.", "search_more()"), CHUNK)
    neighbor = taken(form.format("-", "He is named.", "read_neighbor_node([2])"), NEIGHBORS)

    assert facts.notebook == notebook
    assert facts.rationale == "It may tell more."
    assert (facts.function, facts.chunks) == ("read_chunk", [1, 3])
    assert (chunk.notebook, chunk.function) == (notebook, "search_more")
    assert (chunk.rationale, chunk.quotes) == ("Much is missing.", [])
    assert (neighbor.function, neighbor.neighbor) == ("read_neighbor_node", 2)


# The paper's format has no quotes; where a model gives them all the same, they are taken.
def test_quotes() -> None:
    text = """*Updated Notebook*: Joan was born in 1412.
*Quotes*:
- "Joan was born in 1412."
2. “She could not read.”
*Rationale for Next Action*: All is known.
*Chosen Action*: termination()"""
    chunk = taken(text, CHUNK)

    assert chunk.quotes == ["Joan was born in 1412.", "She could not read."]
    assert taken(text.replace('- "Joan was born in 1412."\n2. “She could not read.”', "None."),
                 CHUNK).quotes == []  # fmt: skip


def step(action: str) -> str:
    return f"*Updated Notebook*: n\n*Rationale for Next Action*: r\n*Chosen Action*: {action}"


# Chunks are named by numbers, or by labels as they were shown, in any of the ways of models.
@pytest.mark.parametrize(
    ("action", "chunks"),
    [
        ("read_chunk([1, 3])", [1, 3]),
        ("read_chunk(1, 3)", [1, 3]),
        ("read_chunk(1)", [1]),
        ("read_chunk [1, 3]", [1, 3]),
        ('read_chunk(["1", "3"])', [1, 3]),
        ("read_chunk(List[1, 3])", [1, 3]),
        ("read_chunk([1], [3])", [1, 3]),
        ("1. read_chunk([1, 3])", [1, 3]),
        ("**read_chunk([1, 3])**", [1, 3]),
        ("**read_chunk**([1, 3])", [1, 3]),
        ("`read_chunk([1, 3])`", [1, 3]),
        ("- Read_Chunk([1, 3]).", [1, 3]),
        ("\n```python\nread_chunk([1, 3])\n```", [1, 3]),
        ("read_chunk（[1, 3]）", [1, 3]),
        ("read_chunk([1])\nread_chunk([3])", [1, 3]),
        ("read_chunk([1, 3]\n", [1, 3]),
        ("read_chunk([1])\n\nIt tells most.", [1]),
        ("read_chunk([2] Joan, a life, chunk 7)", [2]),
        ("read_chunk(Joan, a life, chunk 7)", [2]),
        ('read_chunk("joan, a life, chunk 7", "1984, chunk 2")', [2, 3]),
        ("read_chunk()", []),
        ("read_chunk", []),
    ],
)
def test_chunks(action: str, chunks: list[int]) -> None:
    decision = taken(step(action), FACTS)

    assert (decision.function, decision.chunks) == ("read_chunk", chunks)


# What was not shown is no chunk: the model is told so, and nothing is guessed.
@pytest.mark.parametrize(
    "action", ["read_chunk([a1b2, c3])", 'read_chunk("a", "b")', "read_chunk(chunk 2)",
               "read_chunk(all)", "read_chunk([1, c3])", "read_chunk(1-3)"],
)  # fmt: skip
def test_chunks_that_were_not_shown(action: str) -> None:
    error = refused(step(action), FACTS)

    assert error.kind == "misfit"
    assert re.search(r"chunks\.[01]: Input should be a valid integer", error.problem)


# A function without an argument is one with or without brackets; its chunks are none.
@pytest.mark.parametrize("name", ["stop_and_read_neighbor", "next_page"])
@pytest.mark.parametrize("form", ["{}()", "{}", "**{}()**", "`{}`", "2. {}()", "{}(None)", "{}."])
def test_functions_without_arguments(name: str, form: str) -> None:
    decision = taken(step(form.format(name)), FACTS)

    assert (decision.function, decision.chunks) == (name, [])


# An unknown function, two of them, or none at all is told to the model.
@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("read_page([1])", "function: Input should be 'read_chunk'"),
        ("read_chunks([1])", "function: Input should be 'read_chunk'"),
        ("search_more()", "function: Input should be 'read_chunk'"),
        ("I would go on.", "function: Input should be 'read_chunk'"),
        ("I choose read_chunk([1]).", "function: Input should be 'read_chunk'"),
        ("read_chunk([1]) or stop_and_read_neighbor()", "function: Input should be 'read_chunk'"),
        ("read_chunk([1])\nstop_and_read_neighbor()", "function: Input should be 'read_chunk'"),
        ("rather read_chunk([1]) than next_page()", "function: Input should be 'read_chunk'"),
        ("", "function: Field required"),
    ],
)
def test_functions_that_cannot_be_taken(action: str, words: str) -> None:
    error = refused(step(action), FACTS)

    assert error.kind == "misfit"
    assert words in error.problem


# What a step must tell and does not is told to the model; the rest is no reply at all.
def test_steps_that_lack_something() -> None:
    whole = step("read_chunk([1])")
    without_notebook = whole.replace("*Updated Notebook*: n\n", "")
    without_rationale = whole.replace("*Rationale for Next Action*: r\n", "")

    assert "notebook: Field required" in refused(without_notebook, FACTS).problem
    assert "rationale: Field required" in refused(without_rationale, FACTS).problem
    assert refused("read_chunk([1])", FACTS).kind == "no_json"
    assert refused("I would read on.", CHUNK).kind == "no_json"


# A neighbor is meant by its number or by its name, the exact one first.
@pytest.mark.parametrize(
    ("named", "number"),
    [
        ("[2]", 2),
        ("2", 2),
        ("[2] Danko Jones (band)", 2),
        ("Danko Jones (band)", 2),
        ('"Danko Jones (band)"', 2),
        ("[Danko Jones (band)]", 2),
        ("DANKO JONES (BAND)", 2),
        ("Danny", 1),
        ("danny", 3),
        ("12", 4),
        ("77", 77),
    ],
)
def test_neighbors(named: str, number: int) -> None:
    decision = taken(step(f"read_neighbor_node({named})"), NEIGHBORS)

    assert (decision.function, decision.neighbor) == ("read_neighbor_node", number)


# A neighbor that was not shown is none, and only one can be read; the other functions need none.
def test_other_actions_at_neighbors() -> None:
    unknown = refused(step("read_neighbor_node(Spain)"), NEIGHBORS)
    two = refused(step("read_neighbor_node([1])\nread_neighbor_node([2])"), NEIGHBORS)

    assert "neighbor: Input should be a valid integer" in unknown.problem
    assert "neighbor: Input should be a valid integer" in two.problem
    assert taken(step("termination()"), NEIGHBORS).neighbor == 0
    assert taken(step("next_page()"), NEIGHBORS).function == "next_page"


# Analysis and answer stand behind their names (figure 12); the quotes that they name are cited.
@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Analyze: Path 1 says 18 years [2]. Final answer: Danny [3], [1].", [3, 1]),
        ("Analyze: Path 1 says 18 years [2]. Final answer: Danny.", [2]),
        ("**Analysis:** 18 years [2, 3].\n\n**Final Answer:** Danny.", [2, 3]),
        ("### Analysis\n18 years [9].\n### Answer\nDanny.", []),
        ("18 years [2] and 15 [2].\n\nFinal answer: Danny.", [2]),
        ("Analyze: 18 years [2].\nFinal answer: Danny.\nCitations: [1]", [1]),
    ],
)
def test_answer(text: str, cited: list[int]) -> None:
    answer = taken(text, ANSWER)

    assert answer.answer.rstrip(".,").rstrip(" ,") == "Danny"
    assert "18 years" in answer.analysis
    assert answer.answered is True
    assert answer.contradictions == []
    (claim,) = answer.claims
    assert claim.claim.rstrip(".") == "Danny"
    assert claim.citations == cited


# A sentence of the answer is a claim with its own numbers, wherever they stand at its end; claims
# and contradictions under headings of their own go first.
@pytest.mark.parametrize(
    ("text", "claims", "contradictions"),
    [
        (
            "Danny played 18 years [1]. Alice played 15. [2] [3] So Danny did.",
            [("Danny played 18 years.", [1]), ("Alice played 15.", [2, 3]), ("So Danny did.", [])],
            [],
        ),
        (
            "丹尼打了十八年[1]。爱丽丝打了十五年。[2]",
            [("丹尼打了十八年。", [1]), ("爱丽丝打了十五年。", [2])],
            [],
        ),
        (
            "Danny.\nClaims: Danny played 18 years [1]. Alice played 15 [3].\n"
            "Contradictions: One text says 1972, the other 1973 [1, 2]. Both are long [3].",
            [("Danny played 18 years.", [1]), ("Alice played 15.", [3])],
            [("One text says 1972, the other 1973.", [1, 2])],
        ),
        (
            "Danny.\nClaims: Danny played longer.\nCitations: [2]",
            [("Danny played longer.", [2])],
            [],
        ),
        ("Danny [1, 1].\nContradictions: none", [("Danny.", [1])], []),
        ("The texts do not tell [1].\nClaims: Nothing is told [1].", [], []),
    ],
)  # fmt: skip
def test_claims(text: str, claims: object, contradictions: object) -> None:
    answer = taken(f"Analyze: All notebooks.\nFinal answer: {text}", ANSWER)

    assert [(one.claim, one.citations) for one in answer.claims] == claims
    assert [(one.about, one.citations) for one in answer.contradictions] == contradictions
    assert "Claims" not in answer.answer
    assert "[" not in answer.answer


# The needs of a plan stand under a heading, in one line or several; a plan may well have none.
@pytest.mark.parametrize(
    ("named", "needs"),
    [
        ("", []),
        ("\nNeeds: when Danny retired; length of Alice's career.",
         ["when Danny retired", "length of Alice's career"]),
        ("\n\n**Information needs:**\n- when Danny retired\n2. Alice's career\n",
         ["when Danny retired", "Alice's career"]),
        ("\n信息需求：x", []),
        ("\nNeeds：丹尼何时退役；爱丽丝的生涯", ["丹尼何时退役", "爱丽丝的生涯"]),
    ],
)  # fmt: skip
def test_needs(named: str, needs: list[str]) -> None:
    plan = taken(f"Plan: We first need the length of both careers.{named}", PLAN)

    assert plan.needs == needs
    assert plan.plan.startswith("We first need the length of both careers.")
    assert "Danny" not in plan.plan


# Only an answer that says nothing else than that the texts do not tell is none.
@pytest.mark.parametrize(
    ("answer", "answered"),
    [
        ("The texts do not tell.", False),
        ("Unknown.", False),
        ("not mentioned", False),
        ("文中没有提到。", False),
        ("Danny's; the texts do not tell by how much.", True),
        ("No, he did not tell her.", True),
        ("An unknown soldier.", True),
        ("There is no evidence against him.", True),
        ("无名氏。", True),
        ("1972", True),
    ],
)
def test_answered(answer: str, answered: bool) -> None:
    decision = taken(f"Analyze: All notebooks.\nFinal answer: {answer}", ANSWER)

    assert decision.answer == answer
    assert decision.answered is answered


# An answer without an analysis, or the other way round, lacks something.
def test_half_an_answer() -> None:
    assert "analysis: Field required" in refused("Final answer: Danny.", ANSWER).problem
    assert "answer: Field required" in refused("Analyze: Danny's is longer.", ANSWER).problem
    assert refused("Danny.", ANSWER).kind == "no_json"


# A notebook is condensed under its name only: anything else might be talk about it.
def test_condensed() -> None:
    task = CondenseTask("Who?", "", ("long",))

    assert taken("*Condensed Notebook*: Joan, 1412.\nRouen.", task).notebook == (
        "Joan, 1412.\nRouen."
    )
    assert refused("I made it shorter.", task).kind == "no_json"


# JSON with a mistake in it is told as such, also where it looks like one of the formats.
@pytest.mark.parametrize(
    ("text", "task", "kind"),
    [
        ('{"notebook": "*Chosen Action*: termination()", "rationale": ', CHUNK, "no_json"),
        ('{"function": "read_on"}\n' + step("termination()"), CHUNK, "misfit"),
        ('"plan": "Find the year."', PLAN, "no_json"),
        ("```json\n{'facts': [{'fact': '1. a | b'}]}\n```", EXTRACTION, "no_json"),
    ],
)
def test_json_goes_first(text: str, task: Any, kind: str) -> None:
    assert refused(text, task).kind == kind


# A reply that was cut off is not taken for a whole one.
def test_cut_off() -> None:
    message = AIMessage(
        "1. Tom slept. | Tom\n2. It rai", response_metadata={"stop_reason": "length"}
    )

    with pytest.raises(UnusableReply) as caught:
        read(message, EXTRACTION)

    assert caught.value.kind == "cut_off"


# A text far longer than any reply in these formats is not read in part.
def test_too_long() -> None:
    fact = "1. Tom slept. | Tom\n"

    assert len(taken(fact * 900, EXTRACTION).facts) == 900
    assert refused(fact * 1100, EXTRACTION).kind == "no_json"
