import pytest

from graphreader import tokens


# Texts have as many tokens as tiktoken counts in its own encodings (its counts stand here).
@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("", 0, 0),
        ("Joan of Arc raised the siege of Orléans in 1429.", 16, 17),
        ("孙悟空大闹天宫，如来佛祖把他压在五行山下。", 21, 30),
        ("नमस्ते दुनिया", 5, 13),
        ("<|endoftext|>", 7, 7),
    ],
)
def test_known_counts(text: str, o200k: int, cl100k: int) -> None:
    assert tokens.count(text) == o200k
    assert tokens.count(text, "o200k_base") == o200k
    assert tokens.count(text, "cl100k_base") == cl100k


# White space without end, at which tiktoken panics, is counted all the same.
def test_much_space() -> None:
    assert tokens.count(" " * 500_000) > 1000


# A model is counted in its own encoding, whatever stands around its name.
@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4", "cl100k_base"),
        ("openai:gpt-3.5-turbo", "cl100k_base"),
        ("azure_openai:gpt-35-turbo", "cl100k_base"),
        ("openai:ft:gpt-3.5-turbo-0125:acme::x1", "cl100k_base"),
        ("openai:ft:gpt-4.1-mini:acme::x1", "o200k_base"),
        ("openrouter:openai/gpt-4", "cl100k_base"),
        ("openai:gpt-5.4-mini", "o200k_base"),
        ("openai:gpt-oss-120b", "o200k_base"),
        # What tiktoken does not know, or knows by ranks that are not here:
        ("anthropic:claude-sonnet", tokens.DEFAULT),
        ("openai:davinci", tokens.DEFAULT),
    ],
)
def test_encoding_of_a_known_model(model: str, encoding: str) -> None:
    assert tokens.encoding_for(model) == encoding
