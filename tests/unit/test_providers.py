import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import SecretStr

from graphreader.errors import SettingsError
from graphreader.llm.providers import PROVIDERS, provider_and_model, secrets_of
from graphreader.models import open_decider, open_embedder
from graphreader.settings import Settings

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]


# Every extra for models brings the package of a provider that we know.
def test_extras() -> None:
    packages = {one.package for one in PROVIDERS.values()}
    for name, wanted in PROJECT["optional-dependencies"].items():
        if name not in (
            "datasets",
            "documents",
            "evaluate",
            "mcp",
            "studio",
        ):  # these are not for models
            assert {re.split(r"[<>=]", one)[0] for one in wanted} <= packages, name


# OpenAI needs no extra: its package comes with us.
def test_openai_comes_along() -> None:
    assert any(one.startswith("langchain-openai") for one in PROJECT["dependencies"])


# Names are read as LangChain reads them; the model's own name may hold colons.
def test_names() -> None:
    provider, model = provider_and_model("Ollama:qwen3:8b", "GRAPHREADER_MODEL")

    assert (provider, model) == (PROVIDERS["ollama"], "qwen3:8b")
    assert provider_and_model("google-genai:x", "")[0] is PROVIDERS["google_genai"]


# A provider that we do not know is used by LangChain's habits.
def test_other_providers() -> None:
    upstage, _ = provider_and_model("upstage_ai:x", "GRAPHREADER_MODEL")

    assert upstage.key == "UPSTAGE_AI_API_KEY"
    assert upstage.package == "langchain-upstage-ai"


# What is no provider:model names the variable in which it stands.
@pytest.mark.parametrize("name", ["gpt", "openai:", ":gpt", "qwen3/8b"])
def test_half_a_name(name: str) -> None:
    settings = Settings.read(model="offline", answer_model=name)

    with pytest.raises(SettingsError, match=f"GRAPHREADER_ANSWER_MODEL is '{name}'"):
        open_decider(settings)


# A package that is missing is named with the command that installs it.
@pytest.mark.parametrize(
    ("name", "module", "command"),
    [
        ("groq:llama", "langchain_groq", "pip install langchain-groq"),
        ("mistralai:magistral", "langchain_mistralai", "pip install langchain-mistralai"),
        ("openrouter:a/b:free", "langchain_openrouter", "pip install langchain-openrouter"),
        ("google-genai:gemini", "langchain_google_genai", "pip install langchain-google-genai"),
        ("bedrock_converse:x", "langchain_aws", "pip install langchain-aws"),
        ("cohere:command", "langchain_cohere", "pip install langchain-cohere"),
        ("huggingface:x", "langchain_huggingface", "pip install langchain-huggingface"),
    ],
)
def test_missing_package(
    name: str, module: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(SettingsError) as caught:
        open_decider(Settings.read(model=name))

    assert str(caught.value) == (
        f"GRAPHREADER_MODEL is '{name}', which needs a further package: {command}"
    )


# The variable in which the model stands is named, be it one for a phase only.
@pytest.mark.parametrize(
    ("given", "purpose", "variable"),
    [
        ({"build_model": "nobody:x"}, "build", "GRAPHREADER_BUILD_MODEL"),
        ({"explore_model": "nobody:x"}, "ask", "GRAPHREADER_EXPLORE_MODEL"),
        ({"answer_model": "nobody:x"}, "ask", "GRAPHREADER_ANSWER_MODEL"),
        ({"model": "nobody:x"}, "build", "GRAPHREADER_MODEL"),
        ({"model": "nobody:x"}, "ask", "GRAPHREADER_MODEL"),
    ],
)
def test_variable_of_a_phase(given: dict[str, str], purpose: str, variable: str) -> None:
    settings = Settings.read(**{"model": "offline", **given})

    with pytest.raises(SettingsError, match=f"^{variable} is 'nobody:x', but there is no provider"):
        open_decider(settings, purpose)  # type: ignore[arg-type]  # one of the two


# A provider without embeddings is told from one that does not exist.
def test_no_embeddings() -> None:
    with pytest.raises(SettingsError, match="knows no embeddings of 'anthropic'"):
        open_embedder(Settings.read(model="offline", embeddings="anthropic:x"))


# The keys that a client holds are known as secrets, wherever it got them.
def test_secrets() -> None:
    client = SimpleNamespace(api_key=SecretStr("one-secret"), token=SecretStr(""), name="a name")

    assert "one-secret" in secrets_of(client)
    assert not {"", "a name"} & secrets_of(client)
