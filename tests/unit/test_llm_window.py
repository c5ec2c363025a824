"""Prompts are measured in the tokens of an encoding, and fit the window."""

import json
import re
from functools import partial
from typing import Any

import pytest

from graphreader import preflight, tokens
from graphreader.agent.adaptive.notebook import KeptFinding
from graphreader.agent.adaptive.state import first_state, notebook_of
from graphreader.agent.adaptive.tasks import Action, LastTurnTask, Result
from graphreader.agent.tasks import (
    NOTEBOOK_TOKENS,
    PLAN_TOKENS,
    AnswerTask,
    ChunkTask,
    CondenseTask,
    Evidence,
    FactGroup,
    FactsTask,
    InitialNodesTask,
    JoinTask,
    NeighborTask,
)
from graphreader.errors import SettingsError, WindowError
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm import structured_output
from graphreader.llm import window as window_module
from graphreader.llm.prompts import Prompts
from graphreader.llm.structured_output import ReplyForm
from graphreader.llm.window import Correction
from graphreader.preflight import check_chunk_fits, room_for_question
from graphreader.tokens import count

PROMPTS = Prompts()
fit = partial(window_module.fit, prompts=PROMPTS)

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


# What does not fit loses as few choices as will do; the best ones stay.
@pytest.mark.parametrize("task", MANY, ids=lambda task: type(task).__name__)
def test_shortened_to_the_window(task: Any) -> None:
    fitted = fit(task, "schema", 1024)
    one_more = task.keeping(fitted.task.choices + 1)

    assert task.fewest <= fitted.task.choices < task.choices
    assert fitted.tokens <= 1024
    assert fit(one_more, "schema", 100_000).tokens > 1024
    assert fitted.task == task.keeping(fitted.task.choices)


# A group of facts is cut inside where it has to be; its number and what is missing stay right.
def test_cut_inside_a_group() -> None:
    groups = (FactGroup("one", ("a", "b")), FactGroup("two", ("c", "d", "e"), more=4))
    task = FactsTask("Who?", "", ("first", "last"), "", "D", (*groups, FactGroup("three", ("f",))))

    kept = task.keeping(5)

    assert task.choices == 8
    assert kept.actions == ("first", "last")
    assert kept.groups == (groups[0], FactGroup("two", ("c",), more=6))
    assert kept.remaining == 1
    assert task.keeping(3).actions == ("last",)
    assert task.keeping(1).actions == ()
    assert task.keeping(1).groups == (FactGroup("one", ("a",), more=1),)
    for number in range(1, 9):
        assert task.keeping(number).choices == number


# Everything that is sent is counted, in the encoding that is asked for: text, framing, schema.
@pytest.mark.parametrize(
    ("form", "encoding"),
    [("schema", "o200k_base"), ("tool", "cl100k_base"), ("text", "o200k_base")],
)
def test_everything_is_counted(form: ReplyForm, encoding: str) -> None:
    task = ChunkTask("谁?", "找。", ("看",), "笔记 " * 90, "D", "西游记, chunk 1", "孙悟空。" * 300)
    along = {"schema": structured_output.response_format, "tool": structured_output.tool}
    for correction in (None, Correction("", "it was empty"), Correction("{}", "a: missing")):
        fitted = fit(task, form, 10_000, correction, encoding=encoding)
        texts = [str(message.text) for message in fitted.messages]
        if form in along:
            texts.append(json.dumps(along[form](task.decision), ensure_ascii=False))

        assert fitted.tokens == 3 + sum(count(text, encoding) for text in texts) + 4 * len(
            fitted.messages
        )
        assert fitted.task == task


# A correction gives way where there is no room for it: first the reply, then all of it.
def test_corrections_give_way() -> None:
    task = ExtractionTask("A title", "A text.")
    correction = Correction("wrong " * 100, "facts: missing")
    whole, told, bare = (
        fit(task, "schema", window, one)
        for window, one in (
            (4096, correction),
            (4096, Correction("", "facts: missing")),
            (4096, None),
        )
    )

    assert len(whole.messages) == 4
    assert fit(task, "schema", whole.tokens, correction) == whole
    assert fit(task, "schema", whole.tokens - 1, correction) == told
    assert fit(task, "schema", told.tokens - 1, correction) == bare
    with pytest.raises(
        WindowError, match=f"has {bare.tokens:,} tokens, but .* only {bare.tokens - 1:,}"
    ):
        fit(task, "schema", bare.tokens - 1, correction)


def of_tokens(number: int, sentence: str, encoding: str = "o200k_base") -> str:
    """The sentence again and again, that many tokens long."""
    text = sentence * (number // count(sentence, encoding) + 1)
    while count(text, encoding) > number:
        text = text[:-1]
    return text


# A full chunk, a full notebook, a long plan and question, ten long actions and a long queue fit the
# paper's window in English and Chinese; so do five full notebooks, alone and joined.
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
def test_the_largest_prompts_fit(sentence: str, title: str) -> None:
    labels = tuple(f"{title}, chunk {n}" for n in range(20))
    actions = tuple(f"at {label}: read_chunk({'; '.join(labels[:6])})" for label in labels[:10])
    question, plan, notebook = (
        of_tokens(number, sentence) for number in (100, 250, NOTEBOOK_TOKENS)
    )
    so_far = question, plan, actions, notebook, title
    text = of_tokens(2000, sentence)
    chunk = ChunkTask(*so_far, labels[0], text, queued=labels[1:])
    groups = tuple(FactGroup(label, (of_tokens(40, sentence),) * 15) for label in labels)
    facts = FactsTask(*so_far, groups)
    neighbors = NeighborTask(*so_far, (title,) * 60)
    evidence = tuple(Evidence(label, of_tokens(80, sentence)) for label in labels)
    answer = AnswerTask(question, plan, (notebook,) * 5, evidence)

    fitted = fit(chunk, "text", 4096)

    assert fitted.tokens <= 4096
    assert text in str(fitted.messages[1].content)
    assert notebook in str(fitted.messages[1].content)
    condense = CondenseTask(question, plan, (of_tokens(CondenseTask.reply_tokens, sentence),))
    join = JoinTask(question, plan, (notebook,) * 5)
    for task in (facts, neighbors, answer, condense, join):
        assert fit(task, "text", 4096).tokens <= 4096
    assert str(fit(answer, "text", 4096).messages[1].content).count(notebook) == 5


# As long a question as there is said to be room for really fits beside a chunk and all that may
# stand with it.
@pytest.mark.parametrize(
    ("form", "encoding", "sentence"),
    [
        ("schema", "o200k_base", "The Maid raised the siege. "),
        ("text", "cl100k_base", "孙悟空大闹天宫。"),
    ],
)
def test_room_for_the_question(form: ReplyForm, encoding: str, sentence: str) -> None:
    of = partial(of_tokens, encoding=encoding)
    room = room_for_question(2000, 4096, prompts=PROMPTS, encoding=encoding)
    label = of(preflight.LABEL_TOKENS, sentence)
    so_far = (
        of(room, sentence),
        of(PLAN_TOKENS, sentence),
        (label,) * 9,
        of(NOTEBOOK_TOKENS, sentence),
    )
    task = ChunkTask(*so_far, "D", label, of(2000, sentence), (label,) * 9)

    fitted = fit(task, form, 4096, encoding=encoding)

    assert fitted.tokens <= 4096
    assert room > 300


# A chunk that leaves no room for a question is refused with the numbers, and the numbers that are
# named as a way out are the nearest that work.
def test_a_chunk_that_does_not_fit() -> None:
    with pytest.raises(SettingsError) as caught:
        check_chunk_fits(3000, 4096, prompts=PROMPTS)
    sentence = str(caught.value)
    chunk, window = re.findall(
        r"set GRAPHREADER_CHUNK_TOKENS to at most ([\d,]+) or "
        r"GRAPHREADER_WINDOW to at least ([\d,]+)\.",
        sentence,
    )[0]
    chunk, window = (int(number.replace(",", "")) for number in (chunk, window))

    for fitting in ((chunk, 4096), (3000, window), (2000, 4096)):
        check_chunk_fits(*fitting, prompts=PROMPTS)
    for wrong in ((chunk + 1, 4096), (3000, window - 1)):
        with pytest.raises(SettingsError):
            check_chunk_fits(*wrong, prompts=PROMPTS)


# Texts have as many tokens as tiktoken counts in its own encodings (its counts stand here).
@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("", 0, 0),
        ("Joan of Arc raised the siege of Orléans in 1429.", 16, 17),
        ("孙悟空大闹天宫，如来佛祖把他压在五行山下。", 21, 30),
        ("नमस्ते दुनिया", 5, 13),
        ("<|endoftext|>", 7, 7),
    ],
)
def test_known_counts(text: str, o200k: int, cl100k: int) -> None:
    assert tokens.count(text) == o200k
    assert tokens.count(text, "o200k_base") == o200k
    assert tokens.count(text, "cl100k_base") == cl100k


# White space without end, at which tiktoken panics, is counted all the same.
def test_much_space() -> None:
    assert tokens.count(" " * 500_000) > 1000


# A model is counted in its own encoding, whatever stands around its name.
@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4", "cl100k_base"),
        ("openai:gpt-3.5-turbo", "cl100k_base"),
        ("azure_openai:gpt-35-turbo", "cl100k_base"),
        ("openai:ft:gpt-3.5-turbo-0125:acme::x1", "cl100k_base"),
        ("openai:ft:gpt-4.1-mini:acme::x1", "o200k_base"),
        ("openrouter:openai/gpt-4", "cl100k_base"),
        ("openai:gpt-5.4-mini", "o200k_base"),
        ("openai:gpt-oss-120b", "o200k_base"),
        # What tiktoken does not know, or knows by ranks that are not here:
        ("anthropic:claude-sonnet", tokens.DEFAULT),
        ("openai:davinci", tokens.DEFAULT),
    ],
)
def test_encoding_of_a_known_model(model: str, encoding: str) -> None:
    assert tokens.encoding_for(model) == encoding


# The notebook of a sweep leaves room for all else that a turn's prompt has, in each form of reply.
@pytest.mark.parametrize("window", [4_096, 8_192])
@pytest.mark.parametrize("words", [3, 20, 90])
@pytest.mark.parametrize("item", ["", "Quist"])
def test_notebook_of_a_sweep(window: int, words: int, item: str) -> None:
    state = first_state(Action(function="search", argument="ships"))
    text = " ".join(f"word{n}" for n in range(words))
    finding: KeptFinding = {"text": text, "passage": "12.345", "quote": None, "item": item}
    state |= {
        "question": "Which ships does the log name?",
        "findings": [finding] * 600,
        "swept": ["58 of 60 passages read."],
        "thoughts": "note " * 280,
        "needs": ["whose ships they are"] * 8,
        "actions": ["search(a ship that sailed to Oslo): [1.2] [1.3]"] * 20,
        "earlier": "> Earlier question: Who sailed? " * 20,
    }
    result: Result = {"action": "sweep(ships)", "passages": [], "text": "58 of 60 passages " * 20}
    state["results"] = [result]
    task = LastTurnTask(
        state["question"],
        notebook_of(state, window),
        tuple(state["actions"]),
        (result,),
        0,
        state["earlier"],
    )

    forms: tuple[ReplyForm, ...] = ("schema", "tool")
    assert all(fit(task, form, window).tokens <= window for form in forms)
    assert task.notebook.findings
