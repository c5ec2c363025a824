"""What comes before a question: what cannot be asked is refused, what should be known is told."""

from collections.abc import Sequence

from graphreader import notes
from graphreader.agent.parts import Parts
from graphreader.deciding.tasks import names
from graphreader.errors import UsageError
from graphreader.session import Session
from graphreader.settings import Mode
from graphreader.store import schema
from graphreader.store.library import Library
from graphreader.store.writer import check_embedding


def asked(question: object) -> str:
    """The question as it is asked. Raises UsageError where there is none."""
    if not isinstance(question, str) or not question.strip():
        raise UsageError("The question is empty: ask something.")
    return sendable(question.strip())


def with_options(question: str, options: Sequence[str]) -> str:
    """A multiple-choice question: it is to be answered with the words of one of the options."""
    if not options:
        return question
    return f"{question}\n\nAnswer with the words of one of these options:\n{names(options)}"


def sendable(text: str) -> str:
    """The text without lone surrogates, which no driver or model takes.

    A command line that is not UTF-8 arrives with such.
    """
    return text.encode("utf-8", "replace").decode()


async def prepared(
    session: Session, corpus: str, question: str, mode: Mode | None = None
) -> tuple[Parts, list[str]]:
    """What the agent needs to answer it, and what a person should know beside the answer.

    Raises UnknownCorpusError, EmbeddingMismatchError, UsageError.
    """
    library = Library(await session.connection())
    record = await library.corpus(corpus)
    parts = await session.parts(corpus, mode)
    check_embedding(corpus, record.embedding, session.embedder().name)
    await schema.check_dimension(parts.explorer.connection, session.embedder().dimension)
    extent = await library.extent(corpus)
    if not extent.documents:
        raise UsageError(notes.empty(corpus))
    try:
        session.check_question(question, extent.chunk_tokens)
    except UsageError:  # it may fit all the same: few texts have a chunk that is full
        session.check_question(question, await library.largest_chunk(corpus))
    told = [parts.decider.notice] if parts.decider.notice else []
    told += notes.another_decider(corpus, record.decider, session.builder_name)
    told += notes.unfinished(extent.documents, extent.unfinished)
    return parts, told
