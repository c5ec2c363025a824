"""What a request costs, by a person's file or by the table that comes with genai-prices."""

from pathlib import Path

import pytest

from graphreader.errors import SettingsError
from graphreader.llm.pricing import Prices
from graphreader.settings import DEFAULT_MODEL

FILE = """
["openai:my-model"]
input = 0.15
output = 0.6
cached_input = 0.075

["ollama:llama3.2"]
input = 0
output = 0

["google-genai:gemini-2.5-pro"]
input = 1
output = 2
"""
M = 1_000_000


@pytest.fixture
def prices(tmp_path: Path) -> Prices:
    file = tmp_path / "prices.toml"
    file.write_text(FILE, encoding="utf-8")
    return Prices(file)


# The file's prices are dollars a million tokens, and go before those of the table.
@pytest.mark.parametrize(
    ("name", "tokens", "dollars"),
    [
        ("openai:my-model", (1000, 100, 400), 0.00018),
        ("openai:my-model", (1000, 0, 5000), 0.000075),
        ("ollama:llama3.2", (M, M, 0), 0.0),
        ("google_genai:gemini-2.5-pro", (M, M, M), 3.0),
        ("offline", (M, M, 0), 0.0),
    ],
)
def test_own_prices(
    prices: Prices, name: str, tokens: tuple[int, int, int], dollars: float
) -> None:
    assert prices.dollars(name, *tokens) == pytest.approx(dollars)


# The table knows models by LangChain's names of their providers; what is cached costs less.
@pytest.mark.parametrize(
    "name",
    [
        DEFAULT_MODEL,
        "anthropic:claude-sonnet-4-5",
        "google_genai:gemini-2.5-pro",
        "bedrock_converse:anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
)
def test_known_models(name: str) -> None:
    prices = Prices()

    fresh, cached = prices.dollars(name, 2000, 100), prices.dollars(name, 2000, 100, 1000)
    output = prices.dollars(name, 0, 100)

    assert fresh is not None
    assert cached is not None
    assert output is not None
    assert 0 < output < cached <= fresh < 0.1


# Nothing is guessed: unknown models, local ones and look-alikes of a provider have no price.
@pytest.mark.parametrize(
    "name",
    [
        "openai:no-such-model",
        "ollama:llama3.2",
        "openai_like:gpt-5.4-mini",
        "scripted",
    ],
)
def test_unknown_prices(name: str) -> None:
    assert Prices().dollars(name, 1000, 100) is None


# Behind another address the name alone says nothing: what the address charges counts, if known.
def test_other_addresses() -> None:
    own = Prices(openai_base_url="http://127.0.0.1:8000/v1")
    router = Prices(openai_base_url="https://openrouter.ai/api/v1")
    openai = Prices(openai_base_url="https://api.openai.com/v1/")
    listed = Prices().dollars("openai:gpt-5.4-mini", 1000, 100)

    assert own.dollars("openai:gpt-5.4-mini", 1000, 100) is None
    assert own.dollars("anthropic:claude-sonnet-4-5", 1000, 100) is not None
    assert router.dollars("openai:openai/gpt-5.4-mini", 1000, 100) is not None
    assert router.dollars("openai:gpt-4.1-of-my-own", 1000, 100) is None
    assert listed is not None
    assert openai.dollars("openai:gpt-5.4-mini", 1000, 100) == listed


# A wrong file is a sentence that names it and what is wrong with it.
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('["openai:m"]\ninput = 1', r"\(output: field required\): write a table"),
        ('["openai:m"]\ninput = "1"\noutput = 2', r"\(input: input should be a valid number\)"),
        ('["openai:m"]\ninput = -1\noutput = 2', r"\(input: .* greater than or equal to 0\)"),
        ("[openai.m]\ninput = 1\noutput = 2", r'write a table \["provider:model"\]'),
        ("[m]\ninput = 1\noutput = 2", r"\(m names no provider\)"),
        ("[openai:m]\ninput = 1", "line 1"),
        (None, r"\(GRAPHREADER_PRICES\) cannot be used \(.*No such file"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str | None, problem: str) -> None:
    file = tmp_path / "prices.toml"
    if text is not None:
        file.write_text(text)

    with pytest.raises(SettingsError, match=problem) as error:
        Prices(file)

    assert str(file) in str(error.value)
