from dataclasses import replace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel

from graphreader.ingestion.extraction import Extraction
from graphreader.llm.providers import (
    Option,
    ProviderAdapter,
    adapter_for,
    open_chat_model,
    with_seed,
)
from graphreader.llm.structured_output import ReplyForm, schema_of
from graphreader.settings import Settings

FORMS: tuple[ReplyForm, ...] = ("schema", "tool", "text")


def opened(name: str, **given: Any) -> tuple[BaseChatModel, ProviderAdapter]:
    """The client as it is opened, and its adapter; nothing is sent."""
    settings = Settings.read(model=name, openai_api_key="k", **given)
    client = with_seed(open_chat_model(settings, name, "GRAPHREADER_MODEL"), 7)
    return client, adapter_for(name.partition(":")[0], client)


def payload(
    name: str, form: ReplyForm = "schema", *without: Option, **given: Any
) -> dict[str, Any]:
    """What OpenAI's or Anthropic's client would send, `extra_body` as it comes out."""
    client, adapter = opened(name, **given)
    bound: Any = adapter.bind(client, Extraction, form, limit=321, without=without)
    body = bound.bound._get_request_payload([("human", "?")], **bound.kwargs)
    return {**body, **(body.pop("extra_body", None) or {})}


# OpenAI wants the limit under one name, every other server that speaks its protocol under another.
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("address", "name", "other"),
    [
        (None, "max_completion_tokens", "max_tokens"),
        ("https://api.openai.com/v1/", "max_completion_tokens", "max_tokens"),
        ("http://127.0.0.1:8000/v1", "max_tokens", "max_completion_tokens"),
        ("https://openrouter.ai/api/v1", "max_tokens", "max_completion_tokens"),
        ("https://api.openai.com.evil.example/v1", "max_tokens", "max_completion_tokens"),
    ],
)
def test_limit(address: str | None, name: str, other: str, form: ReplyForm) -> None:
    body = payload("openai:gpt-4.1", form, openai_base_url=address)

    assert body[name] == 321
    assert other not in body


# Without a limit, or once it was declined, none is sent; Anthropic's must have one.
def test_no_limit() -> None:
    client, adapter = opened("openai:gpt-4.1")
    bound: Any = adapter.bind(client, Extraction, "text", limit=None)

    for body in (
        bound.bound._get_request_payload([("human", "?")], **bound.kwargs),
        payload("openai:gpt-4.1", "text", "limit"),
        payload("openai:own", "text", "limit", openai_base_url="http://127.0.0.1:8000/v1"),
    ):
        assert not {"max_tokens", "max_completion_tokens"} & body.keys()


# Temperature and seed are sent until they are declined.
@pytest.mark.parametrize("form", FORMS)
def test_declined_options(form: ReplyForm) -> None:
    all_of_them = payload("openai:gpt-4.1", form)
    no_temperature = payload("openai:gpt-4.1", form, "temperature")
    neither = payload("openai:gpt-4.1", form, "temperature", "seed")

    assert (all_of_them["temperature"], all_of_them["seed"]) == (0.2, 7)
    assert "temperature" not in no_temperature
    assert no_temperature["seed"] == 7
    assert not {"temperature", "seed"} & neither.keys()
    assert neither["max_completion_tokens"] == 321


# What is left out of one request is not lost to the client: it may serve another decider.
def test_client_is_left_alone() -> None:
    client, adapter = opened("openai:gpt-4.1")
    before = client.model_dump()
    adapter.bind(client, Extraction, "tool", limit=9, without=("temperature", "seed"))

    assert client.model_dump() == before


# OpenAI gets its strict words, others gentler ones.
@pytest.mark.parametrize(("name", "strict"), [("openai:gpt-4.1", True), ("ollama:qwen3", False)])
def test_tools(name: str, strict: bool) -> None:
    client, adapter = opened(name)
    bound: Any = adapter.bind(client, Extraction, "tool", limit=9)
    (tool,) = bound.kwargs["tools"]

    assert tool["function"]["name"] == "Extraction"
    assert tool["function"]["parameters"] == schema_of(Extraction)
    assert tool["function"].get("strict", False) is strict


# Claude is ordered to use the tool, unless it thinks first: then it takes no such order.
def test_thinking_claude(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    client, adapter = opened("anthropic:claude-haiku-4-5")
    thinks = client.model_copy(update={"thinking": {"type": "enabled", "budget_tokens": 1024}})
    ordered: Any = adapter.bind(client, Extraction, "tool", limit=9)
    asked: Any = adapter.bind(thinks, Extraction, "tool", limit=9)

    assert ordered.kwargs["tool_choice"]["name"] == "Extraction"
    assert "tool_choice" not in asked.kwargs


# The first form is the best that the model is not known to lack; another server's models only share
# their names with OpenAI's, so that nothing is known of them.
@pytest.mark.parametrize(
    ("name", "address", "profile", "form"),
    [
        ("openai:gpt-4.1", None, None, "schema"),
        ("openai:gpt-4.1", None, {"structured_output": False}, "tool"),
        ("openai:x", None, {"structured_output": False, "tool_calling": False}, "text"),
        ("openai:x", "http://127.0.0.1:1/v1", {"structured_output": False}, "schema"),
        ("ollama:qwen3", None, None, "schema"),
    ],
)
def test_first_form(name: str, address: str | None, profile: Any, form: ReplyForm) -> None:
    client, _ = opened(name, openai_base_url=address)
    if profile is not None:
        client = client.model_copy(update={"profile": profile})

    assert adapter_for(name.partition(":")[0], client).form == form


# A model that takes no temperature, as LangChain knows, is not even asked with one.
def test_known_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    body = payload("anthropic:claude-sonnet-5-5")

    assert "temperature" not in body
    assert body["max_tokens"] == 321
    assert payload("anthropic:claude-haiku-4-5")["temperature"] == 0.2


# A client without tools begins with plain text, and declines tools as a service would.
async def test_client_without_tools() -> None:
    client = GenericFakeChatModel(messages=iter(["{}"]))
    adapter = adapter_for("nobody", client)

    assert adapter.form == "text"
    with pytest.raises(NotImplementedError):
        await adapter.bind(client, Extraction, "tool", limit=9).ainvoke("?")


# A client that cannot make anything of our tool declines it likewise, instead of breaking the run.
async def test_client_with_other_tools() -> None:
    class Other(GenericFakeChatModel):
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            raise ValueError("Unsupported dict type. Tool must be passed in otherwise.")

    client = Other(messages=iter(["{}"]))
    adapter = adapter_for("nobody", client)

    assert adapter.form == "tool"
    with pytest.raises(NotImplementedError):
        await adapter.bind(client, Extraction, "tool", limit=9).ainvoke("?")


# What goes along goes with every form.
@pytest.mark.parametrize("form", FORMS)
def test_along(form: ReplyForm) -> None:
    client, adapter = opened("ollama:qwen3")
    bound: Any = replace(adapter, parameters={"keep_alive": 3}).bind(
        client, Extraction, form, limit=9
    )

    assert bound.kwargs["keep_alive"] == 3
    assert bound.bound.num_predict == 9


# A seed is set where the client takes one, under its own name, and never a missing one.
def test_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    openai, _ = opened("openai:gpt-4.1")
    anthropic, _ = opened("anthropic:claude-haiku-4-5")

    assert openai.seed == 7  # type: ignore[attr-defined]  # OpenAI's own
    assert with_seed(openai, None) is openai
    assert with_seed(anthropic, 8) is anthropic
