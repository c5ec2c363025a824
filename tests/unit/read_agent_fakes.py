"""Documents, and deciders for ReadAgent's tests that note what they are asked."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from graphreader.baselines.read_agent.pages import Pagination
from graphreader.baselines.read_agent.tasks import (
    Gist,
    GistForTask,
    GistTask,
    LookUp,
    LookUpTask,
    MemoryAnswerTask,
    MemoryChoiceTask,
    NextPage,
    NextPageTask,
    PausePoint,
    PauseTask,
)
from graphreader.baselines.tasks import TextAnswer, TextChoice
from graphreader.documents import Document
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Decision
from graphreader.llm.providers import adapter_for
from graphreader.llm.retry import ModelService
from graphreader.testing import ChatRequest, FunctionChatModel, ScriptedDecider

SMALL = Pagination(4, 8)

STORY = """Danko Jones is a band of three.

They come from the city of Toronto.

Toronto has a castle on a hill.

Its name is the Casa Loma there.

Never Too Loud is their fourth album.

It was recorded in Los Angeles then."""
"""Six paragraphs of six or seven words: with 4 to 8 words a page each is a page of its own."""


def document(text: str, title: str = "a story", corpus: str = "corpus") -> Document:
    sha = sha256(text.encode(errors="surrogatepass")).hexdigest()
    return Document(corpus, f"id of {title}", title, f"{title}.txt", text, sha, "en")


def first_words(task: GistTask) -> Gist:
    """A gist of three words."""
    return Gist(gist=" ".join(task.text.split()[:3]))


def scripted(**functions: Callable[[Any], Decision]) -> ScriptedDecider:
    """Pauses at the first tag, makes gists of three words, looks nothing up, answers "Toronto"."""
    given: dict[str, Callable[[Any], Decision]] = {
        "pause": lambda task: PausePoint(pause=0),
        "gist": first_words,
        "gist_for": first_words,
        "look_up": lambda task: LookUp(pages=[]),
        "next_page": lambda task: NextPage(page=0),
        "answer": lambda task: TextAnswer(answer="Toronto", answered=True),
        "choose": lambda task: TextChoice(option=1),
        **functions,
    }
    kinds = {
        "pause": PauseTask,
        "gist": GistTask,
        "gist_for": GistForTask,
        "look_up": LookUpTask,
        "next_page": NextPageTask,
        "answer": MemoryAnswerTask,
        "choose": MemoryChoiceTask,
    }
    return ScriptedDecider({kinds[name]: function for name, function in given.items()})


def kinds_of(decider: ScriptedDecider) -> list[str]:
    """What was asked, by the names of the prompts."""
    return [task.prompt for task in decider.asked]


def modelled(
    function: Callable[[ChatRequest], Any],
    window: int = 128_000,
    prompts: Prompts | None = None,
) -> tuple[LanguageModelDecider, FunctionChatModel]:
    """A decider that asks a model which is that function."""
    model = FunctionChatModel(function=function)
    decider = LanguageModelDecider(
        lambda: model,
        ModelService("fake:model"),
        window=window,
        adapter=adapter_for("openai", model),
        prompts=prompts,
    )
    return decider, model
