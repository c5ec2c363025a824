"""Replies in plain words to questions about shown text (figures 15 to 18)."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graphreader.deciding.chunk_reading import ChunkReadTask, NotesReadTask
from graphreader.deciding.passages import (
    Excerpt,
    FullTextChoiceTask,
    FullTextTask,
    PassagesChoiceTask,
    PassagesTask,
    option_named,
    shown,
)
from graphreader.deciding.replies.replies import UnusableReply, read
from graphreader.deciding.searching import SearchStepTask

OPTIONS = ("Lima", "Rome", "The town of Oslo", "4")
CHUNK = ChunkReadTask("Where?", "T, chunk 1", "text")
NOTES = NotesReadTask("Where?", "T, chunk 1", "text")
STEP = SearchStepTask("Where?", "", (), (), (), frozenset(), 3)


def taken(text: str, task: Any) -> Any:
    return read(AIMessage(text), task)


def refused(text: str, task: Any) -> str:
    with pytest.raises(UnusableReply) as caught:
        taken(text, task)
    return caught.value.kind


# [answerable] is followed by the answer, however the mark is set off.
@pytest.mark.parametrize(
    "text",
    [
        "[answerable] In Rome.",
        "[answerable]\n\nIn Rome.",
        "**[Answerable]**: In Rome.",
        "[ANSWERABLE]: In Rome.",
        "The chunk names the town.\n[answerable] In Rome.",
        "【answerable】In Rome.",
        "`[answerable]` In Rome.\n[quotes]\n- It is Rome.",
    ],
)
@pytest.mark.parametrize("task", [CHUNK, NOTES])
def test_answerable(text: str, task: Any) -> None:
    decision = taken(text, task)

    assert (decision.function, decision.answer) == ("answerable", "In Rome.")
    assert decision.quotes == (["It is Rome."] if "quotes" in text else [])


# [unanswerable] has no answer, whatever is said behind it.
@pytest.mark.parametrize(
    "text", ["[unanswerable]", "[Unanswerable] It names no town.", "a\n[unanswerable]"]
)
@pytest.mark.parametrize("task", [CHUNK, NOTES])
def test_unanswerable(text: str, task: Any) -> None:
    decision = taken(text, task)

    assert (decision.function, decision.answer) == ("unanswerable", "")


# [summary] goes up to the next mark, and may run over lines.
@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("[summary] Ida is\nfrom Rome.\n[unanswerable]", "unanswerable"),
        ("[summary]\nIda is\nfrom Rome.\n\n[answerable] Rome", "answerable"),
        ("[answerable] Rome\n[Summary]: Ida is\nfrom Rome.", "answerable"),
    ],
)
def test_summary(text: str, function: str) -> None:
    decision = taken(text, NOTES)

    assert (decision.summary, decision.function) == ("Ida is\nfrom Rome.", function)


# Neither mark, or both, is no decision.
def test_no_mark() -> None:
    assert refused("In Rome.", CHUNK) == "no_json"
    assert refused("[summary] Ida.", NOTES) == "no_json"
    assert refused("answerable: In Rome.", CHUNK) == "no_json"
    assert refused("[answerable] Rome [unanswerable]", CHUNK) == "misfit"


# Figures 15 and 18 ask for the answer and nothing else: the whole reply is it.
@pytest.mark.parametrize("task", [PassagesTask("Where?", ()), FullTextTask("Where?", ())])
@pytest.mark.parametrize(
    ("text", "answer", "answered"),
    [
        ("In Rome.", "In Rome.", True),
        ("Analysis: It says so.\nAnswer: Rome\nQuotes:\n- It is Rome.", "Rome", True),
        ("**Answer:** Rome", "Rome", True),
        ("The text does not tell.", "The text does not tell.", False),
        ("Not mentioned.", "Not mentioned.", False),
    ],
)
def test_answers(text: str, answer: str, answered: bool, task: Any) -> None:
    decision = taken(text, task)

    assert (decision.answer, decision.answered) == (answer, answered)
    if "Quotes" in text:
        assert (decision.analysis, decision.quotes) == ("It says so.", ["It is Rome."])


# A refusal is no answer, nor is nothing.
@pytest.mark.parametrize("text", ["I'm sorry, I cannot help.", "I cannot answer this.", "```\n```"])
def test_refusals(text: str) -> None:
    refused(text, PassagesTask("Where?", ()))


# An option is named by number, by letter or by its own words.
@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("2", 2),
        ("[2]", 2),
        ("(B)", 2),
        ("B. Rome", 2),
        ("Option 3", 3),
        ("Answer: 1", 1),
        ("The answer is (C).", 3),
        ("Rome", 2),
        ("**Rome**", 2),
        ("It must be the town of Oslo.", 3),
        ("Analysis: Lima is too far.\nAnswer: [2]", 2),
        ("4", 4),
    ],
)
@pytest.mark.parametrize("kind", [PassagesChoiceTask, FullTextChoiceTask])
def test_choices(text: str, option: int, kind: type[PassagesChoiceTask]) -> None:
    assert taken(text, kind("Where?", (), OPTIONS)).option == option


# What names none or several options is none.
@pytest.mark.parametrize("text", ["Paris", "Lima or Rome", "(A) or (B)", "I do not know."])
def test_no_choice(text: str) -> None:
    refused(text, PassagesChoiceTask("Where?", (), OPTIONS))


# A step of the search may be written as a call, with the notes before it.
@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('keyword_search("Ida", "Glass Road")', {"words": ["Ida", "Glass Road"]}),
        ("- keyword_search([Ida])", {"words": ["Ida"]}),
        (
            'semantic_search("Where, if anywhere, was Ida?")',
            {"query": "Where, if anywhere, was Ida?"},
        ),
        ("read_chunk([2, 5])", {"chunks": [2, 5]}),
        ("**read_chunk**(2)", {"chunks": [2]}),
        ("answer(3)", {"chunks": [3]}),
    ],
)
def test_steps(text: str, fields: dict[str, Any]) -> None:
    decision = taken(f"Notes: Ida wrote it.\n\n{text}", STEP)

    assert decision.notes == "Ida wrote it."
    assert decision.function in text
    assert {name: getattr(decision, name) for name in fields} == fields


# Several calls at once are none.
def test_several_steps() -> None:
    assert refused("read_chunk(1)\nread_chunk(2)", STEP) == "no_json"
    assert refused("I should read chunk 2.", STEP) == "no_json"


# Excerpts of one text are shown as one, with a mark where something between is missing.
def test_shown() -> None:
    first, second, fourth = (Excerpt("A\nB", f"{n}.\n\n", n) for n in (1, 2, 4))
    other = Excerpt("C", "5.", 5)

    assert shown([other, fourth, second, first]) == (
        "[1] A B\n1.\n\n2.\n\n\n[...]\n4.\n\n[2] C\n5."
    )


# Two documents of the same title stay apart.
def test_shown_of_one_title() -> None:
    texts = [Excerpt("A", f"Of {document}.", n, document) for n, document in enumerate("xy")]

    assert shown(texts) == "[1] A\nOf x.\n\n[2] A\nOf y."


# The words of an option go before its number.
def test_options_by_words_first() -> None:
    assert option_named("4", ("3", "4", "5", "6")) == 2
    assert option_named("4.", OPTIONS) == 4
    assert option_named("[2] " + OPTIONS[1], OPTIONS) == 2
    assert option_named("[2] " + OPTIONS[2], OPTIONS) is None
    assert option_named("5", OPTIONS) is None
    assert option_named("", OPTIONS) is None


# Chinese marks around an option, or behind its number, do not matter either.
@pytest.mark.parametrize("words", ["2", "（2）", "２。", "2、头骨", "【2】头骨", "「头骨」。"])
def test_options_in_chinese(words: str) -> None:
    assert option_named(words, ("牙齿", "头骨")) == 2
