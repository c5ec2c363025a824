"""Whether texts and questions fit into the window, told before anything is spent.

An offline decider has no window, so nothing is checked where none of the models has one.
"""

from collections.abc import Iterator

from graphreader import tokens
from graphreader.deciding.fitting import LEAST_QUESTION, check_chunk_fits, room_for_question
from graphreader.deciding.prompting import Prompts
from graphreader.errors import UsageError
from graphreader.settings import OFFLINE, Settings


def check_chunks(settings: Settings) -> None:
    """Raise SettingsError, with the numbers, where chunks are too large for the window."""
    prompts = Prompts(settings.prompts)
    for encoding in _encodings(settings):
        check_chunk_fits(settings.chunk_tokens, settings.window, prompts=prompts, encoding=encoding)


def check_question(settings: Settings, question: str, largest_chunk: int) -> None:
    """Raise UsageError where a question does not fit beside the corpus's largest chunk."""
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
    """Those of the models that are shown chunks."""
    models = {settings.model_for("extract"), settings.model_for("explore")} - {OFFLINE}
    yield from sorted({tokens.encoding_for(model) for model in models})
