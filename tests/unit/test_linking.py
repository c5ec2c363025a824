import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphreader.ingestion.normalization.linker import folded, mentions


def found(text: str, *surfaces: str) -> list[str]:
    return mentions(text, {folded(surface) for surface in surfaces})


# Key elements that stand in a text are found by the wordings that are known, the longest first.
def test_mentions() -> None:
    text = "Danko Jones is a Canadian hard rock trio from Toronto."

    assert found(text, "Toronto", "Hard Rock Trio", "Danko Jones", "Casa Loma") == [
        "hard rock trio",
        "danko jones",
        "Toronto",
    ]


# A mention inside a longer one of the same place is none; elsewhere it is one.
def test_inside() -> None:
    assert found("a hard rock band", "rock", "rock band", "hard rock band") == ["hard rock band"]
    assert found("a rock band of hard rock", "rock", "rock band") == ["rock band", "rock"]


# Only whole words count, and only as they are written.
@pytest.mark.parametrize(
    ("text", "surface"),
    [
        ("The party began.", "art"),
        ("He rose early.", "Rose"),
        ("Mr. Rose left.", "rose"),
        ("It may rain.", "May"),
        ("All of us went.", "US"),
        ("rock, band", "rock band"),
        ("a post-war film", "war"),
        ("2,500 men", "500"),
        ("3.5 km", "5"),
        ("in 10 years", "10"),
        ("It is 5 o'clock.", "5"),
        ("plan B", "B"),
        ("who was there", "The Who"),
        ("it is of the", "of the"),
        ("the king of", "king of"),
    ],
)
def test_no_mention(text: str, surface: str) -> None:
    assert found(text, surface) == []


# Signs around a word, possessives and the first word's capital do not hide it.
@pytest.mark.parametrize(
    ("text", "surface"),
    [
        ("(Toronto)", "Toronto"),
        ("“Never Too Loud” came out.", "Never Too Loud"),
        ("Joan’s brother", "Joan"),
        ("Joan of Arc's brother", "Joan of Arc"),
        ("the Hundred Years’ War ended", "Hundred Years' War"),
        ("Music is loud.", "music"),
        ("Rose left.", "Rose"),
        ("St. John came.", "St. John"),
        ("The US joined.", "US"),
        ("He died on 30 May 1431.", "30 May 1431"),
        ("It was in 1431.", "1431"),
        ("2,500 men", "2,500"),
        ("Malcolm X spoke.", "Malcolm X"),
        ("a castle-style mansion", "castle-style mansion"),
        ("Ｔｏｒｏｎｔｏ is big.", "Toronto"),
        ("in Toronto, Ontario, today", "Toronto, Ontario"),
        ("one two three four five six", "One two three four five six"[4:]),
    ],
)
def test_mention(text: str, surface: str) -> None:
    assert found(text, surface) == [folded(surface)]


# Chinese has no spaces: runs of two to eight signs count, the longest first, none that overlap.
@pytest.mark.parametrize(
    ("text", "surfaces", "expected"),
    [
        ("圣女·贞德出生于法国。", ["圣女·贞德", "贞德", "法国"], ["圣女·贞德", "法国"]),
        ("《红楼梦》是曹雪芹写的", ["《红楼梦》", "曹雪芹", "作者"], ["红楼梦", "曹雪芹"]),
        ("北京大学生", ["北京大学", "大学生", "学生"], ["北京大学"]),
        ("他在法国", ["他", "国"], []),
        ("2008年北京奥运会 Beijing", ["北京", "Beijing"], ["Beijing", "北京"]),
    ],
)  # fmt: skip
def test_chinese(text: str, surfaces: list[str], expected: list[str]) -> None:
    assert found(text, *surfaces) == expected


# Longer than six words, or eight signs, is never looked up.
def test_longest() -> None:
    six = "alpha bravo charlie delta echo foxtrot"

    assert found(six, six) == [six]
    assert found(f"{six} golf", f"{six} golf") == []
    assert found("中华人民共和国万岁", "中华人民共和国")
    assert not found("中华人民共和国中央人民", "中华人民共和国中央人民")


# A text that is nothing but a known wording of more than one word is a mention of it.
@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.sampled_from(["Joan", "Arc", "siege", "Toronto", "l'été", "trio"]),
        min_size=2,
        max_size=6,
    )
)
def test_itself(words: list[str]) -> None:
    surface = " ".join(words)

    assert found(surface, surface) == [folded(surface)]


# Any text can be looked over; what is found is known.
@settings(deadline=None, max_examples=200)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    class Everything:
        def __contains__(self, surface: object) -> bool:
            return True

    assert all(mention and folded(mention) for mention in mentions(text, Everything()))
    assert mentions(text, set()) == []
