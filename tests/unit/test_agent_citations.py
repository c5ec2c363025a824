import pytest

from graphreader.agent.citations import add_quotes, locate, passages
from graphreader.store.records import StoredChunk

TEXT = "It began.\nJoan said: “I  was\nthere – in Rouen’s tower.” It ended. 贞德生于法国。"


# A quote is found where it stands, whatever became of its white space, quotation marks and dashes.
@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("It began.", "It began."),
        ("I was there - in Rouen's tower.", "I  was\nthere – in Rouen’s tower."),
        ("“I was\tthere", "I  was\nthere"),
        ("... It ended …", "It ended"),
        ("it began.", "It began."),
        ("贞德生于法国。", "贞德生于法国。"),
    ],
)
def test_quotes_are_found(quote: str, found: str) -> None:
    span = locate(quote, TEXT)

    assert span is not None
    assert TEXT[slice(*span)] == found


# What does not stand in the text is not found, however near it comes.
@pytest.mark.parametrize("quote", ["", "   ", "...", "I was not there", "IT began", "贞德生于英国"])
def test_inventions_are_not_found(quote: str) -> None:
    assert locate(quote, TEXT) is None


# A quote full of signs that mean something to regular expressions is plain text.
def test_signs_are_plain_text() -> None:
    text = "The price (in $) was 3.5* [net] + tax?\nYes."

    assert locate("(in $)  was 3.5* [net] + tax?", text) == (10, 38)


# Full-width and half-width punctuation are the same; so are the usual quotation marks.
def test_punctuation_of_any_width() -> None:
    text = "祖师说：“也罢，你要学哪一般？”悟空道。"

    assert locate('祖师说:"也罢,你要学哪一般?"', text) == (0, 15)


# Quotation marks within others change their kind when they are copied; Chinese stays the same with
# white space beside other letters and without.
@pytest.mark.parametrize(
    "quote",
    [
        "祖师说：‘也罢’，悟空（Wukong）在2008年道。",
        "祖师说:'也罢', 悟空（Wukong）在 2008 年道.",
        "祖师说：『也罢』、悟空",
    ],
)
def test_chinese_with_other_marks_and_spaces(quote: str) -> None:
    text = "祖师说：“也罢”，悟空 （Wukong）在2008 年道。"

    assert locate(quote, text) is not None
    assert locate("祖师说：‘不罢’，悟空", text) is None


# A quote with an ellipsis in it is found piece by piece, and only if every piece is there.
def test_ellipses_leave_something_out() -> None:
    text = "The assault at Paris ensued. It rained for days. The army withdrew to the north."
    spans = passages("The assault at Paris ensued … the army withdrew to the north.", text)

    assert [text[slice(*span)] for span in spans] == [
        "The assault at Paris ensued",
        "The army withdrew to the north.",
    ]
    assert passages("The assault at Paris ensued ... the army won.", text) == []
    assert passages("The ... north.", text) == []
    assert passages("It rained for days.", text) == [(29, 48)]


# A quote knows its page and the heading above it.
def test_page_and_heading() -> None:
    chunk = StoredChunk(
        *("c", 0, "life", "d", 100, TEXT, None, None),
        first_page=7,
        page_starts=(110,),
        headings=((90, "Youth"), (105, "Trial")),
    )
    quotes = add_quotes([], chunk, ["It began.", "It ended."])

    assert [(one["page"], one["heading"]) for one in quotes] == [(7, "Youth"), (8, "Trial")]
