import pytest

from graphreader import tokens
from graphreader.agent.tasks import NOTEBOOK_TOKENS, CondenseTask, JoinTask
from graphreader.offline.decider import OfflineDecider

QUESTION = "Who designed the lighthouse of Port Wessel?"


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
async def test_chinese() -> None:
    lines = await condensed(
        "灯塔由林雨桐设计。港口冬天结冰。", "灯塔由林雨桐设计。", question="谁设计了灯塔？"
    )

    assert lines == ["- 灯塔由林雨桐设计。（2本笔记）", "- 港口冬天结冰。"]


# One sentence that is too long by itself keeps its beginning; empty notebooks say so.
@pytest.mark.parametrize("sentence", ["word " * 3000, "词" * 3000])
async def test_extremes(sentence: str) -> None:
    (line,) = await condensed(sentence)

    assert line.startswith(f"- {sentence[:300]}")
    assert line.endswith(" …")
    assert await condensed("", "") == ["Nothing was noted."]
