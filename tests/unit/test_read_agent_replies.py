"""ReadAgent's replies in the paper's own words, as models really write them."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graphreader.deciding.episodes import (
    GistTask,
    LookUpTask,
    MemoryAnswerTask,
    MemoryChoiceTask,
    MemoryPage,
    NextPageTask,
    PauseTask,
)
from graphreader.deciding.replies.replies import UnusableReply, read

MEMORY = tuple(MemoryPage(f"gist {n}", f"page {n}") for n in range(1, 10))
PAUSE = PauseTask(tuple(f"Paragraph {n}." for n in range(60)))
GIST = GistTask("A page.")
LOOK_UP = LookUpTask("Who?", MEMORY, 5)
NEXT = NextPageTask("Who?", MEMORY, 5)
ANSWER = MemoryAnswerTask("Who?", MEMORY)
CHOICE = MemoryChoiceTask("Where?", MEMORY, options=("Toronto", "New York", "A hill, in Rome"))


def taken(text: str, task: Any) -> Any:
    return read(AIMessage(text), task)


# The chosen tag is read whatever stands around it; tags in the reasons are no choice.
@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("Break point: <57>\nBecause <3> and <4> belong together.", 57),
        ("I considered <2> and <5>. Break point: <5>", 5),
        ("**Break point:** <12>", 12),
        ("Pause point: 3", 3),
        ("pause: <0>, a new scene", 0),
        ("<7>", 7),
        ("7", 7),
        ("I would pause at <3>.", 3),
        ('{"pause": 8}', 8),
    ],
)
def test_pauses(text: str, pause: int) -> None:
    assert taken(text, PAUSE).pause == pause


# Pages to look up are read from the sentence that asks for them; none is an answer, too.
@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("I want to look up Page [2, 5] to see where they live.", [2, 5]),
        ("I want to look up page 2 and page 5.", [2, 5]),
        ("Page 3 speaks of it, page 7 does not.\nI want to look up Page [3].", [3]),
        ("I need to re-read pages 1, 4 and 6", [1, 4, 6]),
        ("<Page 4>", [4]),
        ("[2, 5]", [2, 5]),
        ("2, 5", [2, 5]),
        ("我想查看第2页和第5页。", [2, 5]),
        ("[]", []),
        ("None.", []),
        ("STOP", []),
        ("I don't need to look up any pages. I can summarize the whole meeting.", []),
        ("I do not need to look up any page. Page 3 tells it.", []),
        ("I don't need to look up the first ones. I want to look up page 8.", [8]),
    ],
)
def test_pages(text: str, pages: list[int]) -> None:
    assert taken(text, LOOK_UP).pages == pages


# One page, or the word STOP.
@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("STOP", 0),
        ("stop.", 0),
        ("Enough is known. STOP", 0),
        ("0", 0),
        ("I don't need to look up any more pages.", 0),
        ("I want to look up Page [5], which may stop the guessing.", 5),
        ("Page 5", 5),
        ("5", 5),
    ],
)
def test_next_page(text: str, page: int) -> None:
    assert taken(text, NEXT).page == page


# A gist is the whole reply, without what only introduces it.
@pytest.mark.parametrize(
    "text",
    [
        "He went home. It was late.",
        "Shortened version: He went home. It was late.",
        "**Here is the shortened passage:**\nHe went home. It was late.",
        "```\nHe went home. It was late.\n```",
    ],
)
def test_gists(text: str) -> None:
    assert taken(text, GIST).gist == "He went home. It was late."


# An answer may stand under its heading, with quotes, or be all of the reply.
def test_answers() -> None:
    whole = taken('Analysis: So.\nAnswer: In Rome.\nQuotes:\n- "He lived in Rome."', ANSWER)
    bare = taken("In Rome.", ANSWER)
    untold = taken("The text does not tell.", ANSWER)

    assert (whole.analysis, whole.answer, whole.answered) == ("So.", "In Rome.", True)
    assert whole.quotes == ["He lived in Rome."]
    assert (bare.answer, bare.answered) == ("In Rome.", True)
    assert not untold.answered


# An option is read by its number, its letter or its own words.
@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("(B)", 2),
        ("B. New York", 2),
        ("2", 2),
        ("[3] A hill, in Rome", 3),
        ("Answer: 2", 2),
        ("Analysis: Not Toronto.\nFinal answer: (C)", 3),
        ("New York", 2),
        ("The answer is New York.", 2),
        ("Option B is right.", 2),
    ],
)
def test_choices(text: str, option: int) -> None:
    assert taken(text, CHOICE).option == option


# What names nothing, or several things where one is asked for, is sent back and not guessed at.
@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("<3> or <4>", PAUSE),
        ("None of them", PAUSE),
        ("I have no idea.", LOOK_UP),
        ("Page 3 or page 4", NEXT),
        ("I am sorry, I cannot do that.", GIST),
        ("I'm sorry.", ANSWER),
        ("(B) or (C)", CHOICE),
        ("A man went to sea.", CHOICE),
    ],
)
def test_refused(text: str, task: Any) -> None:
    with pytest.raises(UnusableReply):
        taken(text, task)


# Endless runs of anything take no time, and are no decision.
@pytest.mark.parametrize("part", ["page ", "[1, ", "<", "1 and ", "I want to look up ", "need a "])
@pytest.mark.parametrize("task", [PAUSE, LOOK_UP, NEXT, CHOICE])
def test_linear(part: str, task: Any) -> None:
    with pytest.raises(UnusableReply):
        taken(part * (19_000 // len(part)), task)
