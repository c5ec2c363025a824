import pytest

from graphreader.agent.quoting import locate

TEXT = "It began.\nJoan said: “I  was\nthere – in Rouen’s tower.” It ended. 贞德生于法国。"


# A quote is found where it stands, whatever became of its white space, quotation marks and dashes.
@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("It began.", "It began."),
        ("I was there - in Rouen's tower.", "I  was\nthere – in Rouen’s tower."),
        ("“I was\tthere", "I  was\nthere"),
        ("... It ended …", "It ended"),
        ("贞德生于法国。", "贞德生于法国。"),
    ],
)
def test_quotes_are_found(quote: str, found: str) -> None:
    span = locate(quote, TEXT)

    assert span is not None
    assert TEXT[slice(*span)] == found


# What does not stand in the text is not found, however near it comes.
@pytest.mark.parametrize("quote", ["", "   ", "...", "I was not there", "it began", "贞德生于英国"])
def test_inventions_are_not_found(quote: str) -> None:
    assert locate(quote, TEXT) is None


# A quote full of signs that mean something to regular expressions is plain text.
def test_signs_are_plain_text() -> None:
    text = "The price (in $) was 3.5* [net] + tax?\nYes."

    assert locate("(in $)  was 3.5* [net] + tax?", text) == (10, 38)
