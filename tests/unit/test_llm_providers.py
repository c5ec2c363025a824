from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from graphreader.llm import providers
from graphreader.llm.providers import (
    base_url,
    close,
    context_size,
    has_default_dimension,
    open_chat_model,
    open_embeddings,
    secrets_of,
    uses_proxy,
)
from graphreader.settings import DEFAULT_DIMENSION, Settings

SETTING = "GRAPHREADER_MODEL"


def opened(name: str, **given: Any) -> Any:
    settings = Settings.read(**{"openai_api_key": "a-key-of-openai", **given})
    return open_chat_model(settings, name, SETTING)


# The paper's temperature reaches every model that may take it, also those of GPT-5 from which
# LangChain keeps it; the older ones, which take none, get none.
@pytest.mark.parametrize(
    ("name", "temperature"),
    [("gpt-4.1", 0.2), ("gpt-5.4-mini", 0.2), ("gpt-5", None), ("gpt-5.5", None), ("own", 0.2)],
)
def test_temperature(name: str, temperature: float | None) -> None:
    assert opened(f"openai:{name}").temperature == temperature


# Nobody but us asks again, and nothing is streamed.
@pytest.mark.parametrize("name", ["openai:gpt-4.1", "anthropic:claude-haiku-4-5"])
def test_no_retries(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    client = opened(name)

    assert client.max_retries == 0
    assert client.disable_streaming is True


# Two clients never share connections: each may serve another event loop.
@pytest.mark.parametrize("name", ["openai:gpt-4.1", "anthropic:claude-haiku-4-5", "ollama:qwen3"])
def test_connections_are_not_shared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    first, second = (list(providers._inner_clients(opened(name))) for _ in range(2))

    assert len(first) == len(second) >= 2
    assert not {id(one) for one in first} & {id(one) for one in second}


# The address is the one that the client asks, from wherever it has it.
@pytest.mark.parametrize(
    ("name", "variable", "address"),
    [
        ("openai:own", "OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
        ("anthropic:claude-haiku-4-5", "ANTHROPIC_BASE_URL", "http://127.0.0.1:8000"),
        ("ollama:qwen3", "OLLAMA_HOST", "http://127.0.0.1:8000"),
    ],
)
def test_address(name: str, variable: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv(variable, f"{address}/")

    assert base_url(opened(name)) == address


# Behind a proxy two addresses are two still, but neither may be within reach.
@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai:own", "OPENAI"), ("anthropic:claude-haiku-4-5", "ANTHROPIC")],
)
def test_address_behind_a_proxy(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    direct = opened(name)
    monkeypatch.setenv(f"{variable}_PROXY", "http://127.0.0.1:3128")
    clients = []
    for address in ("http://one:1/v1", "http://two:2/v1"):
        monkeypatch.setenv(f"{variable}_BASE_URL", address)
        clients.append(opened(name))

    assert [base_url(one) for one in clients] == ["http://one:1/v1", "http://two:2/v1"]
    assert [uses_proxy(one) for one in (direct, *clients)] == [False, True, True]


# Ollama is told how much it may read, which changes what it replies; others are not.
def test_context() -> None:
    small, large = (opened("ollama:qwen3", window=window) for window in (4096, 8192))

    assert 4096 < (context_size(small) or 0) < (context_size(large) or 0)
    assert context_size(opened("openai:gpt-4.1")) is None


# The keys of the environment are known as secrets, too: not every client shows its own.
def test_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "a-key-of-ollama")

    assert {"a-key-of-ollama"} <= secrets_of(opened("ollama:qwen3"))
    assert {"a-key-of-openai"} <= secrets_of(opened("openai:gpt-4.1"))


# Closing works for every client, once or twice, used or not.
@pytest.mark.parametrize("name", ["openai:gpt-4.1", "anthropic:claude-haiku-4-5", "ollama:qwen3"])
async def test_closing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    client = opened(name)
    states = [getattr(one, "is_closed", None) for one in providers._inner_clients(client)]
    before = [state for state in states if isinstance(state, bool)]
    await close(client)
    await close(client)
    await close(None)
    states = [getattr(one, "is_closed", None) for one in providers._inner_clients(client)]
    after = [state for state in states if isinstance(state, bool)]

    assert before == [False]
    assert after == [True]


# Embeddings are opened as well, with our dimension where the model makes vectors of any length.
def test_embeddings() -> None:
    settings = Settings.read(openai_api_key="k")
    openai: Any = open_embeddings(settings, "openai:text-embedding-3-small", SETTING)
    older: Any = open_embeddings(settings, "openai:text-embedding-ada-002", SETTING)
    ollama: Any = open_embeddings(settings, "Ollama:nomic-embed-text", SETTING)

    assert (openai.dimensions, older.dimensions) == (DEFAULT_DIMENSION, None)
    assert ollama.model == "nomic-embed-text"
    assert has_default_dimension("openai:text-embedding-3-small")
    assert not has_default_dimension("ollama:text-embedding-3-small")


class Narrow(BaseModel):
    """A client that forbids what it does not know."""

    model_config = ConfigDict(extra="forbid")

    timeout: int


# Options that a client forbids are left out; what else is wrong with them is not hidden.
def test_forbidden_options() -> None:
    assert providers._build(Narrow, {"timeout": 7, "max_retries": 0}) == Narrow(timeout=7)
    with pytest.raises(ValueError, match="timeout"):
        providers._build(Narrow, {"timeout": "soon"})
