"""Providers' clients, request formats and vectors."""

import math
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from pydantic import SecretStr

from graphreader.errors import DecisionError, SettingsError
from graphreader.ingestion.extraction import Extraction
from graphreader.llm import providers
from graphreader.llm.providers import (
    Option,
    ProviderAdapter,
    base_url,
    close,
    health_url,
    open_chat_model,
    open_embeddings,
    provider_and_model,
    secrets_of,
)
from graphreader.llm.retry import ModelService
from graphreader.llm.structured_output import (
    ReplyForm,
    response_format,
)
from graphreader.models import ModelEmbedder, open_decider, open_embedder
from graphreader.settings import Settings

SETTING = "GRAPHREADER_MODEL"
GPT, CLAUDE, QWEN = "openai:gpt-4.1", "anthropic:claude-haiku-4-5", "ollama:qwen3"
OWN = "http://127.0.0.1:8000/v1"
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-of-anthropic")
    monkeypatch.setenv("OLLAMA_API_KEY", "a-key-of-ollama")


def opened(name: str, **given: Any) -> Any:
    """The client of a model, with seed 7."""
    settings = Settings.read(
        **{"model": name, "openai_api_key": "a-key-of-openai", "seed": 7, **given}
    )
    return open_chat_model(settings, name, SETTING)


def bound(name: str, form: ReplyForm, *without: Option, **given: Any) -> Any:
    """The client as a request for an Extraction uses it."""
    client = opened(name, **given)
    adapter = ProviderAdapter(name.partition(":")[0], client)
    return adapter.bind(Extraction, form, limit=321, without=without)


def body(name: str, form: ReplyForm = "schema", *without: Option, **given: Any) -> dict[str, Any]:
    """What OpenAI's or Anthropic's client would send, `extra_body` as it comes out."""
    client = bound(name, form, *without, **given)
    payload = client.bound._get_request_payload([("human", "?")], **client.kwargs)
    return {**payload, **(payload.pop("extra_body", None) or {})}


# Every extra for models installs the package that a provider is said to need; OpenAI needs none.
def test_extras() -> None:
    names = {"aws": "bedrock", "google": "google_genai", "mistral": "mistralai"}
    others = {"datasets", "documents", "evaluate", "mcp", "peers", "postgres", "ray", "serve"}
    others |= {"ocr", "studio"}
    extras = PROJECT["project"]["optional-dependencies"]

    for extra in extras.keys() - others:
        provider, _ = provider_and_model(f"{names.get(extra, extra)}:x", SETTING)
        assert [re.split(r"[<>=]", one)[0] for one in extras[extra]] == [provider.package]
    assert any(one.startswith("langchain-openai") for one in PROJECT["project"]["dependencies"])


# What is no provider:model, and what cannot be opened, names the variable in which it stands.
@pytest.mark.parametrize(
    ("given", "purpose", "words"),
    [
        ({"answer_model": "gpt"}, "ask", "GRAPHREADER_ANSWER_MODEL is 'gpt', but must be"),
        ({"explore_model": ":gpt"}, "ask", "GRAPHREADER_EXPLORE_MODEL is ':gpt', but must be"),
        ({"build_model": "nobody:x"}, "build", "GRAPHREADER_BUILD_MODEL is 'nobody:x', which"),
        ({"model": "anthropic:x"}, "ask", "which cannot be opened: check ANTHROPIC_API_KEY"),
        ({"model": "azure_openai:gpt"}, "ask", "check AZURE_OPENAI_API_KEY"),
        ({"model": "openai:x"}, "ask", "OPENAI_API_KEY is not set"),
        ({"embeddings": "anthropic:x"}, None, "GRAPHREADER_EMBEDDINGS is 'anthropic:x', which"),
        ({"embeddings": "openai:x"}, None, "OPENAI_API_KEY is not set"),
    ],
)
def test_wrong_models(
    given: dict[str, str], purpose: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    settings = Settings.read(**{"model": "offline", **given})

    with pytest.raises(SettingsError, match=words):
        open_decider(settings, purpose) if purpose else open_embedder(settings)


# A missing package is named with the command that installs it.
def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_aws", None)
    words = "^GRAPHREADER_MODEL is 'bedrock:x', .* further package: pip install langchain-aws$"

    with pytest.raises(SettingsError, match=words):
        open_decider(Settings.read(model="bedrock:x"))


# A proxy by SOCKS needs a package that no provider brings along: it is the one that is named.
@pytest.mark.parametrize(
    ("open_", "name"),
    [
        *((open_chat_model, name) for name in (GPT, CLAUDE, QWEN)),
        *((open_embeddings, name) for name in (GPT, QWEN)),
    ],
)
def test_socks_proxy(open_: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    monkeypatch.setitem(sys.modules, "socksio", None)
    settings = Settings.read(model="offline", openai_api_key="k")

    with pytest.raises(SettingsError, match=f"^{SETTING} is '{name}', .*: pip install socksio$"):
        open_(settings, name, SETTING)


# The temperature reaches every model that accepts one, also those of GPT-5 for which LangChain
# drops it; the older ones get none.
@pytest.mark.parametrize(
    ("name", "temperature"),
    [("gpt-5.4-mini", 0.2), ("gpt-5", None), ("own", 0.2)],
)
def test_temperature(name: str, temperature: float | None) -> None:
    assert opened(f"openai:{name}").temperature == temperature


# Clients never retry nor stream by themselves; a client without a seed is given none.
@pytest.mark.parametrize(("name", "seed"), [(GPT, 7), (CLAUDE, None)])
def test_options(name: str, seed: int | None) -> None:
    client = opened(name)

    assert (client.max_retries, client.disable_streaming) == (0, True)
    assert getattr(client, "seed", None) == seed


# Two clients never share connections, and each can be closed, twice, used or not.
@pytest.mark.parametrize("name", [GPT, CLAUDE])
async def test_connections(name: str) -> None:
    first, second = opened(name), opened(name)
    inner = list(providers._inner_clients(first))
    await close(first)
    await close(first)
    await close(None)

    def closed(client: object) -> list[bool]:
        states = [getattr(one, "is_closed", None) for one in providers._inner_clients(client)]
        return [state for state in states if isinstance(state, bool)]

    assert len(inner) >= 2
    assert not {id(one) for one in inner} & {id(one) for one in providers._inner_clients(second)}
    assert (closed(first), closed(second)) == ([True], [False])
    await close(second)


# The base URL is the one that the client uses, from wherever it has it, also behind a proxy.
@pytest.mark.parametrize(
    ("name", "variable", "proxy"),
    [
        ("openai:own", "OPENAI_BASE_URL", "OPENAI_PROXY"),
        (CLAUDE, "ANTHROPIC_BASE_URL", "ANTHROPIC_PROXY"),
        (QWEN, "OLLAMA_HOST", None),
    ],
)
def test_base_url(
    name: str, variable: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:8000/")
    direct = opened(name)

    assert base_url(direct) == health_url(direct) == "http://127.0.0.1:8000"
    if proxy:
        monkeypatch.setenv(proxy, "http://127.0.0.1:3128")
        proxied = opened(name)
        assert (base_url(proxied), health_url(proxied)) == ("http://127.0.0.1:8000", None)


# Keys are known as secrets, be they the client's or of the environment.
def test_secrets() -> None:
    client = SimpleNamespace(api_key=SecretStr("one-secret"), token=SecretStr(""), name="a name")

    assert "a-key-of-ollama" in secrets_of(opened(QWEN))
    assert "a-key-of-openai" in secrets_of(opened(GPT))
    assert "one-secret" in secrets_of(client)
    assert not {"", "a name"} & secrets_of(client)


# OpenAI takes the limit under one name, other servers of its protocol under another; a rejected
# option is not sent any more, the others are. The client itself is not changed.
@pytest.mark.parametrize(
    ("url", "name", "other", "form"),
    [
        ("https://api.openai.com/v1/", "max_completion_tokens", "max_tokens", "schema"),
        (OWN, "max_tokens", "max_completion_tokens", "tool"),
        (OWN, "max_tokens", "max_completion_tokens", "text"),
    ],
)
def test_options_of_a_request(url: str, name: str, other: str, form: ReplyForm) -> None:
    given = {"openai_base_url": url}
    client = opened(GPT, **given)
    before = client.model_dump()
    ProviderAdapter("openai", client).bind(Extraction, form, limit=9, without=("temperature",))
    full, no_limit = body(GPT, form, **given), body(GPT, form, "limit", **given)
    neither = body(GPT, form, "temperature", "seed", **given)

    assert client.model_dump() == before
    assert (full[name], full["temperature"], full["seed"]) == (321, 0.2, 7)
    assert other not in full
    assert not {name, other} & no_limit.keys()
    assert no_limit["seed"] == 7
    assert not {"temperature", "seed"} & neither.keys()
    assert neither[name] == 321


# OpenAI's client gets the schema in the body that it sends, and so neither copies nor checks it.
def test_schema_in_the_body() -> None:
    client = bound(GPT, "schema")

    assert client.kwargs == {"extra_body": {"response_format": response_format(Extraction)}}


# The first form is the best that the model may support; nothing is known of other servers' models.
@pytest.mark.parametrize(
    ("name", "url", "profile", "form"),
    [
        (GPT, None, {"structured_output": False}, "tool"),
        ("openai:x", None, {"structured_output": False, "tool_calling": False}, "text"),
        ("openai:x", OWN, {"structured_output": False}, "schema"),
        (QWEN, None, None, "schema"),
    ],
)
def test_first_form(name: str, url: str | None, profile: Any, form: ReplyForm) -> None:
    client = opened(name, openai_base_url=url)
    if profile is not None:
        client = client.model_copy(update={"profile": profile})

    assert ProviderAdapter(name.partition(":")[0], client).form == form


class Vectors(Embeddings):
    """Gives this vector for every text."""

    def __init__(self, vector: list[float]) -> None:
        self.vector = vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.vector for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.vector


# A service of embeddings whose vectors Neo4j could not hold or compare is refused.
@pytest.mark.parametrize("number", [0.0, math.nan, math.inf, 1e308, 1e-300])
async def test_embeddings_that_are_no_vectors(number: float) -> None:
    good, bad = [0.6, -0.8], [number, 0.0]
    embedder = ModelEmbedder(Vectors(good), ModelService("fake:vectors"), dimension=2)

    assert await embedder.embed(["a", "b"]) == [good, good]
    with pytest.raises(DecisionError, match="not finite"):
        await ModelEmbedder(Vectors(bad), ModelService("fake:vectors"), dimension=2).embed(["a"])
