"""Another reader in GraphReader's place, about the documents of a corpus."""

from dataclasses import replace

from graphreader import notes, readers, tokens
from graphreader.errors import UsageError
from graphreader.graphs import Home
from graphreader.preparing import asked
from graphreader.readers import Material
from graphreader.reading import Reading


async def material_of(home: Home) -> Material:
    """The documents of the home's corpus, as they were read in. Raises UsageError without any."""
    library = await home.session.library(home.corpus)
    documents = await library.texts(home.corpus)
    if not documents:
        raise UsageError(notes.empty(home.corpus))
    return Material(documents, sum(tokens.count(one.text) for one in documents))


def ask(name: str, home: Home, question: str) -> Reading:
    """Have the reader of that name answer from the corpus; nothing is changed.

    Raises UsageError for a name that none has, or one that cannot be asked of a corpus, and
    DecisionError.
    """
    readers.check_for_corpus(name)
    return home.background.run(_asked(name, home, asked(question)))


async def _asked(name: str, home: Home, question: str) -> Reading:
    reader = readers.make(name, await material_of(home), home.session.minds)
    return replace(await reader.aask(question), corpus=home.corpus)
