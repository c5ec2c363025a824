"""The exceptions of GraphReader; each message says what is wrong and what to do about it."""

from graphreader.usage import Usage


class GraphReaderError(RuntimeError):
    """Any failure that is foreseen; LangGraph's server shows the words of RuntimeErrors only."""

    exit_code = 1


class UsageError(GraphReaderError):
    """The user's request cannot be carried out."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting is missing or invalid."""


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
    """No kept run has that id or a unique id with that prefix."""


class EmbeddingMismatchError(UsageError):
    """The vectors of a corpus were made with embeddings that are not those at hand."""


class StoreError(GraphReaderError):
    """A request to Neo4j failed."""


class Neo4jUnavailableError(StoreError):
    """No server answers at the configured address, or not in time."""


class Neo4jRefusedError(StoreError):
    """Neo4j refuses the user or the password."""


class SchemaError(StoreError):
    """The server's version or the graph's schema is not one that this version can use."""


class ServerError(GraphReaderError):
    """The embedded Neo4j server could not be started, found or stopped."""


class DownloadError(ServerError):
    """A jar of the embedded server could not be fetched, or has the wrong checksum."""


class CacheError(GraphReaderError):
    """The kept replies cannot be counted or cleared. Runs go on without them."""


class RunsError(GraphReaderError):
    """The kept runs cannot be read or changed. Asking goes on without them."""


class DecisionError(GraphReaderError):
    """A decider gave no usable decision; `spent` is the cost up to the failure."""

    spent: Usage = Usage()


class ModelUnavailableError(DecisionError):
    """The model's service does not answer, or not in time."""


class ClusterError(DecisionError):
    """The Ray cluster cannot be reached, or has lost its workers."""


class ModelRefusedError(DecisionError):
    """The model's service refuses the key or the request; a retry would not help."""


class ModelClosedError(ModelRefusedError):
    """The service refuses the key or model, or the quota is used up: no request would succeed."""


class ReplyError(DecisionError):
    """The model's reply is not a valid decision, also after a correction."""


class CutOffError(ReplyError):
    """The model's reply was cut off at the limit of its length."""


class PendingError(DecisionError):
    """The model's reply comes with a batch, later."""


class WindowError(DecisionError):
    """A prompt is larger than the reader's window."""


class BudgetError(DecisionError):
    """The run's budget is used up (`max_calls`, `max_tokens`)."""
