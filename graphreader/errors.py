"""The exceptions of GraphReader; each message says what is wrong and what to do about it."""

from graphreader.usage import Usage


class GraphReaderError(RuntimeError):
    """The base of all expected failures; `exit_code` is the command line's.

    A RuntimeError, because LangGraph's server shows the messages of no other exceptions.
    """

    exit_code = 1


class UsageError(GraphReaderError):
    """The user's request cannot be carried out."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting is missing or invalid."""


class DocumentError(UsageError):
    """A file cannot be read as a text."""


class DatasetError(UsageError):
    """A question set or its pool of passages is missing, or does not have a known format."""


class UnknownCorpusError(UsageError):
    """No corpus of that name exists."""


class UnknownDocumentError(UsageError):
    """A document's id, path or title matches none, or more than one."""


class UnknownKeyElementError(UsageError):
    """No key element has that id, name or wording."""


class UnknownRunError(UsageError):
    """No kept run has that id or a unique id with that prefix."""


class EmbeddingMismatchError(UsageError):
    """The vectors of a corpus were made with other embeddings than the reader has."""


class StoreError(GraphReaderError):
    """A request to Neo4j failed."""


class Neo4jUnavailableError(StoreError):
    """Neo4j gave no answer in time at the configured address."""


class Neo4jRefusedError(StoreError):
    """Neo4j refuses the user or the password."""


class Neo4jForbiddenError(StoreError):
    """Neo4j does not let the user do this, or does not let the database be written."""


class SchemaError(StoreError):
    """The version of Neo4j or the schema of the graph is not supported by this version."""


class ServerError(GraphReaderError):
    """The embedded Neo4j server could not be started, found or stopped."""


class DownloadError(ServerError):
    """A jar of the embedded server could not be fetched, or has the wrong checksum."""


class CacheError(GraphReaderError):
    """The cache of model replies cannot be counted or cleared. Runs go on without it."""


class RunsError(GraphReaderError):
    """The database of runs cannot be read or changed. Asking goes on without it."""


class DecisionError(GraphReaderError):
    """A decider gave no usable decision; `spent` is the cost up to the failure."""

    spent: Usage = Usage()


class ModelUnavailableError(DecisionError):
    """The model's service gave no answer in time."""


class ClusterError(DecisionError):
    """The Ray cluster cannot be reached, or has lost its workers."""


class ModelRefusedError(DecisionError):
    """The model's service refuses the key or the request; a retry would not help."""


class ModelClosedError(ModelRefusedError):
    """The service refuses the key or model, or the quota is used up: no request would succeed."""


class ReplyError(DecisionError):
    """The model's reply is not a valid decision, even after a request to correct it."""


class CutOffError(ReplyError):
    """The model's reply was cut off at the limit of its length."""


class PendingError(DecisionError):
    """The decision was submitted in a batch; its reply comes later."""


class DeletedError(DecisionError):
    """The corpus, or each document of an ingest, was deleted while it was being read."""


class WindowError(DecisionError):
    """A prompt is larger than the reader's window."""


class BudgetError(DecisionError):
    """The budget of a run is used up (`max_calls`, `max_tokens`)."""
