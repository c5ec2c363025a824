"""Providers' clients and request formats; decisions read from replies."""

import json
import math
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from pydantic import SecretStr

from graphreader.agent.tasks import (
    FactsTask,
    PlanTask,
)
from graphreader.errors import DecisionError, SettingsError
from graphreader.ingestion.extraction import Extraction, ExtractionTask
from graphreader.llm import providers
from graphreader.llm.providers import (
    Option,
    ProviderAdapter,
    base_url,
    close,
    health_url,
    open_chat_model,
    provider_and_model,
    secrets_of,
)
from graphreader.llm.retry import ModelService
from graphreader.llm.structured_output import (
    ReplyForm,
    UnusableReply,
    has_reasoning,
    holds_json,
    is_complete,
    read,
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
    others |= {"studio"}
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


PLAN_TASK = PlanTask("When?")
PLAN = {"plan": "Find the year."}
TEXT = json.dumps(PLAN)
EXTRACTION = ExtractionTask("A title", "A text.")


# The decision is read from wherever models put it.
@pytest.mark.parametrize(
    "content",
    [
        f"  {TEXT}\n",
        f"Here is my plan:\n```json\n{TEXT}\n```\nI hope it helps.",
        f'<think>Perhaps {{"plan": "Find the place."}}? No.</think>{TEXT}',
        f"Perhaps some {{braces}} first. No.</think>\n{TEXT}",
        f'First {{"plan": "Find the place."}}, but better: {TEXT}',
        f'[THINK]Perhaps {{"plan": "No."}}?[/THINK]{TEXT}',
        f"<thinking>One.</thinking><thinking>Two.</thinking>\n```json\n{TEXT}\n```",
        json.dumps({"RationalPlan": PLAN}),
        json.dumps({"name": "RationalPlan", "arguments": TEXT}),
        f"[{TEXT}]",
        json.dumps({**PLAN, "confidence": 0.9}),
        "[Danny] was {here} [1]. " * 100 + TEXT,
        [{"type": "thinking", "thinking": '{"plan": "No."}'}, {"type": "text", "text": TEXT}],
    ],
)
def test_finds_the_decision(content: str | list[str | dict[str, str]]) -> None:
    assert read(AIMessage(content), PLAN_TASK).plan == "Find the year."


# A tool call's arguments are the decision, also where they are not quite JSON.
def test_tool_calls() -> None:
    called = {"name": "RationalPlan", "args": PLAN, "id": "1", "type": "tool_call"}
    broken = {
        "name": "RationalPlan", "args": '{"plan": "Find\nthe year."}', "id": "1",
        "error": None, "type": "invalid_tool_call",
    }  # fmt: skip

    assert read(AIMessage("", tool_calls=[called]), PLAN_TASK).plan == "Find the year."
    assert read(AIMessage("", invalid_tool_calls=[broken]), PLAN_TASK).plan == "Find\nthe year."


# A bare list is the one list of a decision; unknown keys deep inside are left out.
def test_bare_list() -> None:
    facts = [{"fact": "贞德生于1412年。", "key_elements": ["贞德"], "number": 1}]

    extraction = read(AIMessage(json.dumps(facts)), EXTRACTION)

    assert extraction.facts[0].fact == "贞德生于1412年。"


# Half a surrogate pair, which no database stores, and control characters, which a terminal obeys,
# do not get through, in content or in the arguments of a tool.
def test_control_characters() -> None:
    plan = read(AIMessage('{"plan": "a\\ud83d b😀\\u001b[31m\\u202e\\n"}'), PLAN_TASK).plan
    call = {"name": "RationalPlan", "args": {"plan": "b\x1b", "needs": ["c\x07"]}, "id": "1"}
    called = read(AIMessage("", tool_calls=[call]), PLAN_TASK)

    assert plan == "a b😀[31m\n"
    assert (called.plan, called.needs) == ("b", ["c"])


# A reply that is far longer than its task asks for counts as cut off, so it is asked for again.
def test_endless_reply() -> None:
    fits = json.dumps({"plan": "a" * 10 * PLAN_TASK.reply_tokens})

    assert read(AIMessage(fits), PLAN_TASK)
    with pytest.raises(UnusableReply) as raised:
        read(AIMessage(json.dumps({"plan": "a" * 400_000})), PLAN_TASK)
    assert raised.value.kind == "cut_off"


def ended(text: str, **metadata: str) -> AIMessage:
    return AIMessage(text, response_metadata=metadata)


# Each way of not being a decision has its name.
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (AIMessage(" \n"), "empty"),
        (AIMessage("I'm sorry, I can't help with that."), "no_json"),
        (AIMessage('{"plan": "Find the year. '), "no_json"),
        (AIMessage("```json\n{'plan': Find the year.}\n```"), "no_json"),
        (AIMessage('{"weather": 1}'), "no_json"),
        (AIMessage('{"plan": 1}'), "misfit"),
        (ended('{"plan": "Fin', finish_reason="length"), "cut_off"),
        (ended('{"plan": "Fin', stopReason="max_tokens"), "cut_off"),
        (ended('<think>Say {"plan": "Find it."}', stop_reason="max_tokens"), "cut_off"),
        (ended("", finish_reason="content_filter"), "refused"),
        (AIMessage("", additional_kwargs={"refusal": "I cannot."}), "refused"),
        (AIMessage([{"type": "refusal", "refusal": "I cannot."}]), "refused"),
    ],
)
def test_kinds_of_unusable_replies(message: AIMessage, kind: str) -> None:
    with pytest.raises(UnusableReply) as caught:
        read(message, PLAN_TASK)

    assert caught.value.kind == kind


# What is missing is not made up: the model is told which field it is.
def test_problem_names_the_field() -> None:
    reply = '{"notebook": "n", "rationale": "r", "function": "read_page"}'

    with pytest.raises(UnusableReply) as caught:
        read(AIMessage(reply), FactsTask("Who?", "", (), "", "D", ()))

    assert "function: Input should be 'read_chunk'" in caught.value.problem
    assert "chunks: Field required" in caught.value.problem


# A mistake inside an object never leaves a smaller decision than the one that was written.
@pytest.mark.parametrize(
    "reply",
    [
        '{"facts": [{"fact": "He said "no".", "key_elements": []}]}',
        '{"facts": [{"fact": "a", "key_elements": ["a"]}, {"fact": "b, "key_elements": ["b"]}]}',
        '{"facts": [{"fact": "a", "key_elements": ["a"]}, {"fact": "He"',
    ],
)
def test_broken_lists_are_not_read_in_part(reply: str) -> None:
    with pytest.raises(UnusableReply):
        read(AIMessage(reply), EXTRACTION)


# Whether a reply is in JSON is known even where it does not fit.
@pytest.mark.parametrize(
    ("message", "is_json"),
    [
        (AIMessage('{"weather": 1}'), True),
        (AIMessage("Find [1] the year."), False),
        (AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "1"}]), True),
    ],
)
def test_holds_json(message: AIMessage, is_json: bool) -> None:
    assert holds_json(message) is is_json


def counted(reasoning: int) -> AIMessage:
    details = {"reasoning": reasoning}
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    return AIMessage(TEXT, usage_metadata={**usage, "output_token_details": details})  # type: ignore[typeddict-item]


# Reasoning is noticed wherever it shows: in marks, blocks, further fields, in the bill.
@pytest.mark.parametrize(
    ("message", "reasons"),
    [
        (AIMessage("<think>Hm, and"), True),
        (AIMessage(f"Hm.</think>{TEXT}"), True),
        (AIMessage(f"[THINK]Hm.[/THINK]{TEXT}"), True),
        (AIMessage([{"type": "redacted_thinking", "data": "x"}]), True),
        (AIMessage(TEXT, additional_kwargs={"reasoning_content": "Hm."}), True),
        (counted(reasoning=5), True),
        (counted(reasoning=0), False),
        (AIMessage([{"type": "text", "text": TEXT}]), False),
        (AIMessage(TEXT, additional_kwargs={"reasoning_content": ""}), False),
    ],
)
def test_reasoning_is_noticed(message: AIMessage, reasons: bool) -> None:
    assert has_reasoning(message) is reasons


# A reply that is one endless run is recognized in good time; what stands before it counts.
@pytest.mark.parametrize("unit", ["{", "[", '["', "[x\n", "<think>", "7", "```", '{"a":'])
def test_endless_runs(unit: str) -> None:
    run = unit * (20_000 // len(unit))

    with pytest.raises(UnusableReply) as caught:
        read(AIMessage(run), EXTRACTION)
    assert caught.value.kind == "no_json"
    assert read(AIMessage(f"{TEXT}\n{run}".replace("<", "")), PLAN_TASK).plan == "Find the year."


# Some services give no reason for the end of a stream: JSON that is whole tells that it is one.
@pytest.mark.parametrize("tool", [False, True])
@pytest.mark.parametrize(("text", "whole"), [('{"plan": "Go."}', True), ('{"plan": "Go', False)])
def test_streams_without_an_end(tool: bool, text: str, whole: bool) -> None:
    call = tool_call_chunk(name="Plan", args=text, id="1", index=0)
    chunk = AIMessageChunk("", tool_call_chunks=[call]) if tool else AIMessageChunk(text)

    assert is_complete(chunk) is whole


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
