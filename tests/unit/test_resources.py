"""What is opened for a corpus."""

import pytest

from graphreader.errors import EmbeddingMismatchError
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.resources import Resources
from graphreader.settings import Settings
from graphreader.store.catalog import CorpusRecord


# Embeddings that a corpus names are not opened where the settings say "offline", a key is missing,
# or only a program has them; the reason is said in a few words. The offline ones always are.
@pytest.mark.parametrize(
    ("embedding", "settings", "reason"),
    [
        ("openai:text-embedding-3-small", {"embeddings": "offline"}, "nothing is sent"),
        ("openai:text-embedding-3-small", {"api_key": None}, "OPENAI_API_KEY is not set"),
        ("openai:text-embedding-3-small", {"model": "offline"}, "GRAPHREADER_MODEL is offline"),
        ("cohere:embed-4", {}, "'cohere:embed-4', which needs a further package"),
        ("mine", {}, "pass it to GraphReader"),
        ("offline-1", {"embeddings": "offline"}, ""),
    ],
)
async def test_embedder_of_a_corpus(
    embedding: str, settings: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "api_key" not in settings:
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
    values = {name: one for name, one in settings.items() if name != "api_key"}
    resources = Resources(Settings.read(**values))
    record = CorpusRecord("d", "1", embedding, 256)
    try:
        if reason:
            with pytest.raises(EmbeddingMismatchError, match=rf"\([^()]*{reason}[^()]*\): mend"):
                resources.embedder_of("books", record)
        else:
            assert isinstance(resources.embedder_of("books", record), OfflineEmbedder)
    finally:
        await resources.aclose()
