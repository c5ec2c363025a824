"""Whether chunks and questions fit into the window, checked before anything is spent.

An offline decider has no window; if all models are offline, nothing is checked.
"""

from collections.abc import Iterator
from typing import get_args

from graphreader import tokens
from graphreader.agent.tasks import NOTEBOOK_TOKENS, PLAN_TOKENS, ChunkTask
from graphreader.errors import SettingsError, UsageError
from graphreader.llm.prompts import Prompts
from graphreader.llm.structured_output import ReplyForm
from graphreader.llm.window import PromptForm, render_prompt
from graphreader.settings import OFFLINE, Settings

LEAST_QUESTION = 100
"""Tokens of a question for which there is always room."""

LABEL_TOKENS = 60
"""Tokens for the label of a chunk: a document's title and the chunk's number."""

_SMALLEST_CHUNK = 50  # that the settings take

# Where one text goes on in another, words merge otherwise than counted apart: a token or two.
_TOKENS_A_SEAM = 2


def room_for_question(
    chunk_tokens: int, window: int, *, prompts: Prompts, encoding: str = tokens.DEFAULT
) -> int:
    """Tokens that the largest prompt of a path leaves for its question; negative if none.

    That prompt shows a whole chunk beside a full plan and a full notebook, in the reply form that
    takes most. What it can leave out (earlier actions, waiting chunks) is not counted.
    """
    bare = ChunkTask("", "", ("",) * 99, "", "", "", "", ("",) * 99).keeping(0)
    forms: tuple[ReplyForm, ...] = get_args(ReplyForm)
    largest = max(render_prompt(bare, PromptForm(form, prompts, encoding)).tokens for form in forms)
    seams = _TOKENS_A_SEAM * len(bare.values())
    taken = largest + seams + chunk_tokens + NOTEBOOK_TOKENS + PLAN_TOKENS + LABEL_TOKENS
    return window - taken


def check_chunk_fits(
    chunk_tokens: int, window: int, *, prompts: Prompts, encoding: str = tokens.DEFAULT
) -> None:
    """Raise SettingsError, with the numbers, if a chunk leaves no room for a question."""
    room = room_for_question(chunk_tokens, window, prompts=prompts, encoding=encoding)
    lacking = LEAST_QUESTION - room
    if lacking <= 0:
        return
    other = window - room - chunk_tokens + LEAST_QUESTION
    largest = chunk_tokens - lacking
    smaller = f"GRAPHREADER_CHUNK_TOKENS to at most {largest:,} or "
    raise SettingsError(
        f"A chunk (GRAPHREADER_CHUNK_TOKENS, {chunk_tokens:,}) and what goes along with it "
        f"({other:,} tokens) do not fit into the model's window (GRAPHREADER_WINDOW, "
        f"{window:,}): set {smaller if largest >= _SMALLEST_CHUNK else ''}GRAPHREADER_WINDOW to at "
        f"least {window + lacking:,}."
    )


def check_chunks(settings: Settings) -> None:
    """Raise SettingsError, with the numbers, if chunks are too large for the window."""
    prompts = Prompts(settings.prompts)
    for encoding in _encodings(settings):
        check_chunk_fits(settings.chunk_tokens, settings.window, prompts=prompts, encoding=encoding)


def check_question(settings: Settings, question: str, largest_chunk: int) -> None:
    """Raise UsageError if a question does not fit beside the corpus's largest chunk."""
    prompts = Prompts(settings.prompts)
    for encoding in _encodings(settings):
        room = room_for_question(largest_chunk, settings.window, prompts=prompts, encoding=encoding)
        size = tokens.count(question, encoding)
        if size <= room:
            continue
        if room < LEAST_QUESTION:
            raise UsageError(
                f"The corpus has chunks of {largest_chunk:,} tokens, too large for a window of "
                f"{settings.window:,}: set GRAPHREADER_WINDOW to at least "
                f"{settings.window - room + max(size, LEAST_QUESTION):,}, or read the texts again "
                "with a smaller GRAPHREADER_CHUNK_TOKENS."
            )
        raise UsageError(
            f"The question has {size:,} tokens, but only {room:,} fit into the window "
            f"({settings.window:,}) beside a chunk of {largest_chunk:,}: ask a shorter one, or set "
            f"GRAPHREADER_WINDOW to at least {settings.window - room + size:,}."
        )


def _encodings(settings: Settings) -> Iterator[str]:
    """The encodings of the models that are shown chunks."""
    models = {settings.model_for("extract"), settings.model_for("explore")} - {OFFLINE}
    yield from sorted({tokens.encoding_for(model) for model in models})
