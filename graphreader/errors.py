"""The exceptions of GraphReader.

Every message is one sentence (or two) for a person: what is wrong and what to do about it.

    GraphReaderError
    ├── UsageError                  what a person asked for cannot be done (exit code 2)
    │   ├── SettingsError           a setting is missing or makes no sense
    │   ├── DocumentError           a file is missing, empty, binary, wrongly encoded or too large
    │   ├── DatasetError            a question set, or its pool, is not as its format wants it
    │   ├── UnknownCorpusError      no corpus of that name
    │   ├── UnknownDocumentError    no document of that id, path or title, or several
    │   ├── UnknownKeyElementError  no key element of that name
    │   ├── UnknownRunError         no kept run whose id begins so, or several
    │   └── EmbeddingMismatchError  the corpus was embedded by something else
    ├── StoreError                  Neo4j said no or nothing (exit code 1)
    │   ├── Neo4jUnavailableError   nobody answers at the address
    │   ├── Neo4jRefusedError       wrong user or password
    │   └── SchemaError             a graph or a server that this version cannot use
    ├── ServerError                 the embedded Neo4j does not start or stop (exit code 1)
    │   └── DownloadError           its jars cannot be fetched, or are not what they should be
    ├── CacheError                  the file of kept replies cannot be read or cleared (exit code 1)
    ├── RunsError                   the file of kept runs cannot be read or changed (exit code 1)
    └── DecisionError               a decider gave no usable decision (exit code 1)
        ├── ModelUnavailableError   the model's service does not answer
        ├── ModelRefusedError       the model's service refuses the key or the request
        │   └── ModelClosedError    it refuses every request: key, quota or model's name
        ├── ReplyError              the model's reply does not fit, also after asking again
        │   └── CutOffError         the reply is longer than replies may be
        ├── WindowError             a prompt does not fit the reader's window
        └── BudgetError             the run may not spend more
"""

from graphreader.usage import Usage


class GraphReaderError(RuntimeError):
    """Any failure that GraphReader foresees.

    A RuntimeError, because LangGraph's server shows the words of such errors only.
    """

    exit_code = 1


class UsageError(GraphReaderError):
    """What a person asked for cannot be done as asked."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting is missing or makes no sense."""


class DocumentError(UsageError):
    """A file cannot be read as a text."""


class DatasetError(UsageError):
    """A question set or its pool of passages is missing, or not as its format wants it."""


class UnknownCorpusError(UsageError):
    """No corpus of that name exists."""


class UnknownDocumentError(UsageError):
    """A document's id, path or title matches none, or more than one."""


class UnknownKeyElementError(UsageError):
    """No key element has that id, name or wording."""


class UnknownRunError(UsageError):
    """No kept run's id is, or begins with, what was named; or several do."""


class EmbeddingMismatchError(UsageError):
    """The corpus, or the vector index, was made with another embedding."""


class StoreError(GraphReaderError):
    """Neo4j could not do what it was asked."""


class Neo4jUnavailableError(StoreError):
    """Nobody answers at the configured address, or not in time."""


class Neo4jRefusedError(StoreError):
    """Neo4j refuses the user or the password."""


class SchemaError(StoreError):
    """The server's version or the graph's schema is not one that this version can use."""


class ServerError(GraphReaderError):
    """The embedded Neo4j server could not be started, found or stopped."""


class DownloadError(ServerError):
    """A jar of the embedded server could not be fetched, or has the wrong checksum."""


class CacheError(GraphReaderError):
    """The file of kept replies cannot be counted or cleared. Runs go on without it."""


class RunsError(GraphReaderError):
    """The file of kept runs cannot be read or changed. Asking goes on without it."""


class DecisionError(GraphReaderError):
    """A decider gave no usable decision.

    `spent` is what was paid nevertheless.
    """

    spent: Usage = Usage()


class ModelUnavailableError(DecisionError):
    """The model's service does not answer, or not in time."""


class ModelRefusedError(DecisionError):
    """The model's service refuses the key or the request; asking again would not help."""


class ModelClosedError(ModelRefusedError):
    """The service refuses the key, the quota is used up, or it knows no such model.

    Any other request would meet the same.
    """


class ReplyError(DecisionError):
    """The model's reply does not fit what was asked, also after it was asked again."""


class CutOffError(ReplyError):
    """The model's reply hit the limit of its length: what it should tell is too much for one."""


class WindowError(DecisionError):
    """A prompt is larger than the reader's window."""


class BudgetError(DecisionError):
    """The run has spent what it may (`max_calls`, `max_tokens`)."""
