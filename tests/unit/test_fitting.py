from typing import Any

import pytest

from graphreader.deciding.exploring import ChunkTask, FactGroup, FactsTask, NeighborTask
from graphreader.deciding.fitting import Form, fit, tokens_of
from graphreader.deciding.tasks import AnswerTask, Evidence, InitialNodesTask
from graphreader.tokens import count

MANY = [
    InitialNodesTask("Who?", "Look.", tuple(f"node number {n}" for n in range(3000))),
    NeighborTask("Who?", "Look.", (), "", "D", tuple(f"neighbor {n}" for n in range(3000))),
    FactsTask(
        "Who?", "Look.", (), "", "D",
        tuple(FactGroup(f"chunk {n}", ("Danny won a match.",) * 5) for n in range(300)),
    ),
    FactsTask(
        "Who?", "Look.", (), "", "D", (FactGroup("chunk 1", ("Danny won a match.",) * 3000),)
    ),
    ChunkTask(
        "Who?", "Look.", tuple(f"at D: read_chunk(title, chunk {n})" for n in range(300)), "", "D",
        "title, chunk 1", "A text.", queued=tuple(f"title, chunk {n}" for n in range(300)),
    ),
    AnswerTask(
        "谁?", "找。", ("笔记",), tuple(Evidence("西游记", "孙悟空" * 50) for _ in range(90))
    ),
]  # fmt: skip


# What does not fit loses as few choices as will do, whatever the form; the best ones stay.
@pytest.mark.parametrize("form", ["schema", "tool", "text"])
@pytest.mark.parametrize("task", MANY, ids=lambda task: type(task).__name__)
@pytest.mark.parametrize("window", [1024, 4096])
def test_shortened_to_the_window(task: Any, form: Any, window: int) -> None:
    fitted = fit(task, form, window)
    one_more = task.keeping(fitted.task.choices + 1)

    assert task.fewest <= fitted.task.choices < task.choices
    assert tokens_of(fitted.messages) < fitted.tokens + 1 <= window + 1
    assert fit(one_more, form, 100_000).tokens > window
    assert fitted.task == task.keeping(fitted.task.choices)


# A group of facts is cut inside where it has to be; its number and what is missing stay right.
def test_cut_inside_a_group() -> None:
    groups = (FactGroup("one", ("a", "b")), FactGroup("two", ("c", "d", "e"), more=4))
    task = FactsTask("Who?", "", ("first", "last"), "", "D", (*groups, FactGroup("three", ("f",))))

    kept = task.keeping(5)

    assert task.choices == 8
    assert kept.actions == ("first", "last")
    assert kept.groups == (groups[0], FactGroup("two", ("c",), more=6))
    assert kept.left_out == 1
    assert task.keeping(3).actions == ("last",)
    assert task.keeping(1).actions == ()
    assert task.keeping(1).groups == (FactGroup("one", ("a",), more=1),)
    for number in range(1, 9):
        assert task.keeping(number).choices == number


# What a chunk's prompt leaves out is the oldest actions and the last chunks of the queue, counted.
def test_chunk_prompt_says_what_is_left_out() -> None:
    actions = tuple(f"action {n}" for n in range(10))
    task = ChunkTask("Who?", "", actions, "", "D", "l", "t", queued=("a", "b", "c", "d"))

    some, none = task.keeping(5).values(), task.keeping(0).values()

    assert some["actions"] == "(8 earlier actions are not shown.)\n- action 8\n- action 9"
    assert some["around"] == "Waiting to be read: a; b; c; 1 more chunks."
    assert none["actions"] == "(10 earlier actions are not shown.)"
    assert none["around"] == "Waiting to be read: 4 chunks."
    assert task.values()["actions"].count("\n") == 9


def of_tokens(number: int, sentence: str) -> str:
    """The sentence again and again, that many tokens long."""
    text = sentence * (number // count(sentence) + 1)
    while count(text) > number:
        text = text[:-1]
    return text


# A full chunk, a full notebook, a long plan and question, ten long actions and a long queue fit the
# paper's window in every form and language; so do five full notebooks.
@pytest.mark.parametrize("form", ["schema", "tool", "text"])
@pytest.mark.parametrize(
    ("sentence", "title"),
    [
        (
            "In 1429 the Maid of Orléans raised the siege. ",
            "The Life and Death of Joan of Arc, Volume II.",
        ),
        (
            "孙悟空大闹天宫，如来佛祖把他压在五行山下。",
            "西游记第七回八卦炉中逃大圣五行山下定心猿" * 2,
        ),
    ],
    ids=["English", "Chinese"],
)
def test_the_largest_prompts_fit(form: Form, sentence: str, title: str) -> None:
    labels = tuple(f"{title}, chunk {n}" for n in range(20))
    actions = tuple(f"at {label}: read_chunk({'; '.join(labels[:6])})" for label in labels[:10])
    question, plan, notebook = (of_tokens(number, sentence) for number in (100, 250, 550))
    so_far = question, plan, actions, notebook, title
    text = of_tokens(2000, sentence)
    chunk = ChunkTask(*so_far, labels[0], text, queued=labels[1:])
    groups = tuple(FactGroup(label, (of_tokens(40, sentence),) * 15) for label in labels)
    facts = FactsTask(*so_far, groups)
    neighbors = NeighborTask(*so_far, (title,) * 60)
    evidence = tuple(Evidence(label, of_tokens(80, sentence)) for label in labels)
    answer = AnswerTask(question, plan, (notebook,) * 5, evidence)

    fitted = fit(chunk, form, 4096)

    assert fitted.tokens <= 4096
    assert text in str(fitted.messages[1].content)
    assert notebook in str(fitted.messages[1].content)
    for task in (facts, neighbors, answer):
        assert fit(task, form, 4096).tokens <= 4096
    assert str(fit(answer, form, 4096).messages[1].content).count(notebook) == 5
