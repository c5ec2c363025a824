"""Documents, readers and deciders for the tests of ReadAgent."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from graphreader.baselines.answering import RefusableAnswer, TextChoice
from graphreader.baselines.read_agent.gists import GistBuilder, Pagination
from graphreader.baselines.read_agent.reader import ReadAgent
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
from graphreader.baselines.session import ReaderModel
from graphreader.documents import Document
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Budget, Decider, Decision
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

KINDS = {
    kind.prompt: kind
    for kind in (
        *(PauseTask, GistTask, GistForTask, LookUpTask, NextPageTask),
        *(MemoryAnswerTask, MemoryChoiceTask),
    )
}


def document(text: str, title: str = "a story") -> Document:
    sha = sha256(text.encode(errors="surrogatepass")).hexdigest()
    return Document("corpus", f"id of {title}", title, f"{title}.txt", text, sha, "en")


def agent(
    decider: Decider,
    *texts: str | Document,
    pages: Pagination = SMALL,
    home: Path | None = None,
    window: int = 128_000,
    budget: Callable[[], Budget] = Budget,
    **options: Any,
) -> ReadAgent:
    """ReadAgent over these texts, else over the story."""
    documents = [
        document(one, f"text {n}") if isinstance(one, str) else one
        for n, one in enumerate(texts or (STORY,), 1)
    ]
    builder = GistBuilder(documents, decider, pages, home)
    return ReadAgent("agent", builder, ReaderModel(decider, window, budget), **options)


def first_words(task: GistTask) -> Gist:
    """A gist of three words."""
    return Gist(gist=" ".join(task.text.split()[:3]))


def scripted(**functions: Callable[[Any], Any]) -> ScriptedDecider:
    """Pauses at the first tag, makes gists of three words, looks nothing up, answers "Toronto"."""
    rules: dict[str, Callable[[Any], Decision]] = {
        "pause": lambda task: PausePoint(pause=0),
        "gist": first_words,
        "gist_for_task": first_words,
        "look_up": lambda task: LookUp(pages=[]),
        "next_page": lambda task: NextPage(page=0),
        "memory_answer": lambda task: RefusableAnswer(answer="Toronto", answered=True),
        "memory_choice": lambda task: TextChoice(option=1),
        **functions,
    }
    return ScriptedDecider({KINDS[name]: rule for name, rule in rules.items()})


def prompts_of(decider: ScriptedDecider) -> list[str]:
    """The prompts of all tasks, in order."""
    return [task.prompt for task in decider.asked]


def modelled(
    function: Callable[[ChatRequest], Any], window: int = 128_000, prompts: Prompts | None = None
) -> tuple[LanguageModelDecider, FunctionChatModel]:
    """A decider whose chat model is that function."""
    model = FunctionChatModel(function=function)
    service = ModelService("fake:model")
    decider = LanguageModelDecider(model, service, window=window, prompts=prompts)
    return decider, model
