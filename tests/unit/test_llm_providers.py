"""Opening providers' clients, and what their requests contain. Nothing is sent."""

import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from pydantic import BaseModel, ConfigDict, SecretStr

from graphreader.errors import SettingsError
from graphreader.ingestion.extraction import Extraction
from graphreader.llm import providers
from graphreader.llm.providers import (
    PROVIDERS,
    Option,
    adapter_for,
    base_url,
    close,
    context_size,
    open_chat_model,
    open_embeddings,
    provider_and_model,
    secrets_of,
    uses_proxy,
    with_seed,
)
from graphreader.llm.structured_output import ReplyForm, schema_of
from graphreader.models import open_decider, open_embedder
from graphreader.settings import DEFAULT_DIMENSION, Settings

SETTING = "GRAPHREADER_MODEL"
GPT, CLAUDE, QWEN = "openai:gpt-4.1", "anthropic:claude-haiku-4-5", "ollama:qwen3"
OWN = "http://127.0.0.1:8000/v1"
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
all_forms = pytest.mark.parametrize("form", ["schema", "tool", "text"])
all_clients = pytest.mark.parametrize("name", [GPT, CLAUDE, QWEN])


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-of-anthropic")
    monkeypatch.setenv("OLLAMA_API_KEY", "a-key-of-ollama")


def opened(name: str, **given: Any) -> Any:
    """The client of a model, with seed 7."""
    settings = Settings.read(**{"model": name, "openai_api_key": "a-key-of-openai", **given})
    return with_seed(open_chat_model(settings, name, SETTING), 7)


def bound(name: str, form: ReplyForm, *without: Option, **given: Any) -> Any:
    """The client as a request for an Extraction uses it."""
    client = opened(name, **given)
    adapter = adapter_for(name.partition(":")[0], client)
    return adapter.bind(client, Extraction, form, limit=321, without=without)


def body(name: str, form: ReplyForm = "schema", *without: Option, **given: Any) -> dict[str, Any]:
    """What OpenAI's or Anthropic's client would send, `extra_body` as it comes out."""
    client = bound(name, form, *without, **given)
    payload = client.bound._get_request_payload([("human", "?")], **client.kwargs)
    return {**payload, **(payload.pop("extra_body", None) or {})}


# Every extra for models installs the package of a provider in the table; OpenAI needs none.
def test_extras() -> None:
    packages = {provider.package for provider in PROVIDERS.values()}
    others = {"datasets", "documents", "evaluate", "mcp", "studio"}
    extras = PROJECT["project"]["optional-dependencies"]

    for name in extras.keys() - others:
        assert {re.split(r"[<>=]", one)[0] for one in extras[name]} <= packages, name
    assert any(one.startswith("langchain-openai") for one in PROJECT["project"]["dependencies"])


# Names are LangChain's; the model's own may hold colons; unknown providers follow its habits.
def test_names() -> None:
    upstage, _ = provider_and_model("upstage_ai:x", SETTING)

    assert provider_and_model("Ollama:qwen3:8b", SETTING) == (PROVIDERS["ollama"], "qwen3:8b")
    assert provider_and_model("google-genai:x", SETTING)[0] is PROVIDERS["google_genai"]
    assert (upstage.key, upstage.package) == ("UPSTAGE_AI_API_KEY", "langchain-upstage-ai")


# What is no provider:model, and an unknown provider, names the variable in which it stands.
@pytest.mark.parametrize(
    ("given", "purpose", "words"),
    [
        ({"answer_model": "gpt"}, "ask", "GRAPHREADER_ANSWER_MODEL is 'gpt', but must be"),
        ({"answer_model": "openai:"}, "ask", "GRAPHREADER_ANSWER_MODEL is 'openai:', but must be"),
        ({"explore_model": ":gpt"}, "ask", "GRAPHREADER_EXPLORE_MODEL is ':gpt', but must be"),
        ({"build_model": "nobody:x"}, "build", "GRAPHREADER_BUILD_MODEL is 'nobody:x', but there"),
        ({"answer_model": "nobody:x"}, "ask", "GRAPHREADER_ANSWER_MODEL is 'nobody:x', but there"),
        ({"model": "nobody:x"}, "build", "GRAPHREADER_MODEL is 'nobody:x', but there is no"),
        ({"model": "anthropic:x"}, "ask", "^ANTHROPIC_API_KEY is not set: .* GRAPHREADER_MODEL"),
    ],
)
def test_wrong_models(
    given: dict[str, str], purpose: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")

    with pytest.raises(SettingsError, match=words):
        open_decider(Settings.read(**{"model": "offline", **given}), purpose)


# A provider without embeddings is told from one that does not exist.
def test_no_embeddings() -> None:
    with pytest.raises(SettingsError, match="knows no embeddings of 'anthropic'"):
        open_embedder(Settings.read(model="offline", embeddings="anthropic:x"))


# A missing package is named with the command that installs it.
@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("groq:llama", "langchain-groq"),
        ("openrouter:a/b:free", "langchain-openrouter"),
        ("google-genai:gemini", "langchain-google-genai"),
        ("bedrock_converse:x", "langchain-aws"),
        ("cohere:command", "langchain-cohere"),
    ],
)
def test_missing_package(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)

    with pytest.raises(SettingsError) as caught:
        open_decider(Settings.read(model=name))

    assert str(caught.value) == (
        f"GRAPHREADER_MODEL is '{name}', which needs a further package: pip install {package}"
    )


# The temperature reaches every model that accepts one, also those of GPT-5 for which LangChain
# drops it; the older ones get none.
@pytest.mark.parametrize(
    ("name", "temperature"),
    [("gpt-4.1", 0.2), ("gpt-5.4-mini", 0.2), ("gpt-5", None), ("gpt-5.5", None), ("own", 0.2)],
)
def test_temperature(name: str, temperature: float | None) -> None:
    assert opened(f"openai:{name}").temperature == temperature


# Clients never retry nor stream by themselves.
@pytest.mark.parametrize("name", [GPT, CLAUDE])
def test_no_retries(name: str) -> None:
    client = opened(name)

    assert (client.max_retries, client.disable_streaming) == (0, True)


# Two clients never share connections, and each can be closed, twice, used or not.
@all_clients
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

    assert (base_url(direct), uses_proxy(direct)) == ("http://127.0.0.1:8000", False)
    if proxy:
        monkeypatch.setenv(proxy, "http://127.0.0.1:3128")
        proxied = opened(name)
        assert (base_url(proxied), uses_proxy(proxied)) == ("http://127.0.0.1:8000", True)


# Ollama is told the size of its context; others are not.
def test_context_size() -> None:
    small, large = (opened(QWEN, window=window) for window in (4096, 8192))

    assert 4096 < (context_size(small) or 0) < (context_size(large) or 0)
    assert context_size(opened(GPT)) is None


# Keys are known as secrets, be they the client's or of the environment.
def test_secrets() -> None:
    client = SimpleNamespace(api_key=SecretStr("one-secret"), token=SecretStr(""), name="a name")

    assert "a-key-of-ollama" in secrets_of(opened(QWEN))
    assert "a-key-of-openai" in secrets_of(opened(GPT))
    assert "one-secret" in secrets_of(client)
    assert not {"", "a name"} & secrets_of(client)


# Embeddings whose vectors may have any length are opened with the default dimension.
def test_embeddings() -> None:
    settings = Settings.read(openai_api_key="k")
    sized: Any = open_embeddings(settings, "openai:text-embedding-3-small", SETTING)
    older: Any = open_embeddings(settings, "openai:text-embedding-ada-002", SETTING)
    ollama: Any = open_embeddings(settings, "Ollama:nomic-embed-text", SETTING)

    assert (sized.dimensions, older.dimensions) == (DEFAULT_DIMENSION, None)
    assert ollama.model == "nomic-embed-text"


class Narrow(BaseModel):
    """A client that forbids unknown options."""

    model_config = ConfigDict(extra="forbid")

    timeout: int


# Options that a client forbids are left out; other mistakes are reported.
def test_forbidden_options() -> None:
    assert providers._build(Narrow, {"timeout": 7, "max_retries": 0}) == Narrow(timeout=7)
    with pytest.raises(ValueError, match="timeout"):
        providers._build(Narrow, {"timeout": "soon"})


# OpenAI takes the limit under one name, every other server of its protocol under another; once
# it is rejected, none is sent.
@all_forms
@pytest.mark.parametrize(
    ("url", "name", "other"),
    [
        (None, "max_completion_tokens", "max_tokens"),
        ("https://api.openai.com/v1/", "max_completion_tokens", "max_tokens"),
        (OWN, "max_tokens", "max_completion_tokens"),
        ("https://api.openai.com.evil.example/v1", "max_tokens", "max_completion_tokens"),
    ],
)
def test_limit(url: str | None, name: str, other: str, form: ReplyForm) -> None:
    sent = body(GPT, form, openai_base_url=url)

    assert sent[name] == 321
    assert other not in sent
    assert not {name, other} & body(GPT, form, "limit", openai_base_url=url).keys()


# Temperature and seed are sent until they are rejected; the client itself is not changed.
@all_forms
def test_rejected_options(form: ReplyForm) -> None:
    client = opened(GPT)
    before = client.model_dump()
    adapter_for("openai", client).bind(client, Extraction, form, limit=9, without=("temperature",))
    everything, neither = body(GPT, form), body(GPT, form, "temperature", "seed")
    no_temperature = body(GPT, form, "temperature")

    assert client.model_dump() == before
    assert (everything["temperature"], everything["seed"]) == (0.2, 7)
    assert ("temperature" in no_temperature, no_temperature["seed"]) == (False, 7)
    assert not {"temperature", "seed"} & neither.keys()


# Only OpenAI gets strict tools.
@pytest.mark.parametrize(("name", "strict"), [(GPT, True), (QWEN, False)])
def test_tools(name: str, strict: bool) -> None:
    (offered,) = bound(name, "tool").kwargs["tools"]

    assert offered["function"]["name"] == "Extraction"
    assert offered["function"]["parameters"] == schema_of(Extraction)
    assert offered["function"].get("strict", False) is strict


# Claude has to use the tool, unless it thinks first: then it takes no such order.
def test_thinking_claude() -> None:
    client = opened(CLAUDE)
    thinking = client.model_copy(update={"thinking": {"type": "enabled", "budget_tokens": 1024}})
    adapter = adapter_for("anthropic", client)
    ordered: Any = adapter.bind(client, Extraction, "tool", limit=9)
    offered: Any = adapter.bind(thinking, Extraction, "tool", limit=9)

    assert ordered.kwargs["tool_choice"]["name"] == "Extraction"
    assert "tool_choice" not in offered.kwargs


# The first form is the best that the model may support; nothing is known of other servers' models.
@pytest.mark.parametrize(
    ("name", "url", "profile", "form"),
    [
        (GPT, None, None, "schema"),
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

    assert adapter_for(name.partition(":")[0], client).form == form


# A model that accepts no temperature, as LangChain knows, gets none.
def test_known_temperature() -> None:
    assert "temperature" not in body("anthropic:claude-sonnet-5-5")
    assert body(CLAUDE)["temperature"] == 0.2


class OtherTools(GenericFakeChatModel):
    """A client whose tools have another format."""

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        raise ValueError("Unsupported dict type. Tool must be passed in otherwise.")


# A client without tools, or with others, rejects a tool call as a service would.
@pytest.mark.parametrize(("kind", "form"), [(GenericFakeChatModel, "text"), (OtherTools, "tool")])
async def test_no_tools(kind: type[GenericFakeChatModel], form: ReplyForm) -> None:
    client = kind(messages=iter(["{}"]))
    adapter = adapter_for("nobody", client)

    assert adapter.form == form
    with pytest.raises(NotImplementedError):
        await adapter.bind(client, Extraction, "tool", limit=9).ainvoke("?")


# The adapter's parameters go with every form.
@all_forms
def test_parameters(form: ReplyForm) -> None:
    client = opened(QWEN)
    adapter = replace(adapter_for("ollama", client), parameters={"keep_alive": 3})
    request: Any = adapter.bind(client, Extraction, form, limit=9)

    assert (request.kwargs["keep_alive"], request.bound.num_predict) == (3, 9)


# A seed is set where the client has one.
def test_seed() -> None:
    openai, anthropic = opened(GPT), opened(CLAUDE)

    assert openai.seed == 7
    assert with_seed(openai, None) is openai
    assert with_seed(anthropic, 8) is anthropic
