import pytest

from graphreader.agent.fact_pages import is_thin


# A fact that points at something, or names nothing, may not be understood alone.
@pytest.mark.parametrize(
    "fact",
    [
        "The original score was rejected.",
        "He moved to Paris in 1920.",
        "This city was besieged.",
        "The king died.",
        "他于1920年移居巴黎。",
        "国王去世了。",
    ],
)
def test_thin(fact: str) -> None:
    assert is_thin(fact)


# A fact that names what it is about stands alone.
@pytest.mark.parametrize(
    "fact",
    [
        "Jerry Fielding wrote the original score of The Getaway.",
        "The album was released in 2008.",
        "The band \u201cred house\u201d played there.",
        "the castle was built of large grey stones from the quarries of the north by monks",
        "杰里·菲尔丁为电影《赌命鸳鸯》创作了最初的配乐。",
    ],
)
def test_not_thin(fact: str) -> None:
    assert not is_thin(fact)
