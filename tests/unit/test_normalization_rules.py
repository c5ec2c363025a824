import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphreader.ingestion.normalization.rules import clean_surface, normalize

SAME = """
Hundred Years' War | Hundred Years’ War | the Hundred Years War; O'Brien | O’Brien | o`brien;
city | Cities | cities' | city's; lost battle | lost battles | Lost Battles; box | boxes;
church | churches; hero | heroes; house | houses; princess | princesses; movie | movies;
virus | viruses; child | children; U.S. | US | U.S | u.s.; 1,000 | 1000 | １,０００;
1,234,567.5 | 1234567.5; 1914–1918 | 1914-1918; ２０２０年 | 2020年;
圣女·贞德 | 圣女・贞德 | 圣女•贞德 | 《圣女‧贞德》;
“Never Too Loud” tour | "Never Too Loud" tour;
the Eiffel Tower | Eiffel Tower | The Eiffel Tower; the United States | United States;
discover | discovers | discovered | discovering | Discovered;
organize | organizes | organized | organizing; identify | identifies | identified | identifying;
occur | occurred | occurring; occupy | occupies | occupied | occupying;
invite | invites | invited | inviting; obey | obeyed;
"""
DIFFERENT = """
3.5 | 35 | 3,5 | -3.5 | 3.5%; 10² | 102 | 10; 1½ | 11/2 | ½;
30 May 1431 | 31 May 1431 | May 1431 | 1431; 1980 | 1980s; C | C++ | C#; $5 | 5 | €5 | .5;
Charles VII | Charles VI | Charles; Williams | William; Adams | Adam; aids | aid;
孙悟空 | 孫悟空 | 悟空; run | ran; find | founded | found; build | building;
record | recorded | recording; star | starred | stare | stared; unit | united | unite;
seize | size; The Who | who; The Times | time; A minor | minor; united kingdom | unite kingdom;
the battle of the river | battle of river;
"""


def groups(table: str) -> list[list[str]]:
    """Wordings between bars, in groups that end with a semicolon."""
    return [group.strip().split(" | ") for group in table.split(";") if group.strip()]


# Two wordings of one thing get one key; different things keep different keys, numbers and dates
# above all.
@pytest.mark.parametrize(
    ("wordings", "same"),
    [
        *((group, True) for group in groups(SAME)),
        *((group, False) for group in groups(DIFFERENT)),
        (
            [
                "Joan of Arc",
                " joan  of\u00a0arc ",
                "“Joan of Arc”",
                "JOAN OF ARC.",
                "_Joan of Arc_",
                "Ｊｏａｎ of Arc",
            ],
            True,
        ),
        (["Joan", "Joan's", "Joan’s", "(Joan)", "\ufeffJoan,"], True),
        (["café", "cafe\u0301", "CAFÉ"], True),
        (["《红楼梦》", "红楼梦", " 红楼梦。"], True),
    ],
)
def test_keys(wordings: list[str], same: bool) -> None:
    keys = {normalize(wording) for wording in wordings}

    assert len(keys) == (1 if same else len(wordings))
    assert "" not in keys


# What only looks like a plural stays as it is, as do short words and words before the last.
@pytest.mark.parametrize(
    "word",
    [
        "paris", "news", "james", "species", "united states", "nasa", "gas",
        "bus", "his", "texas", "physics", "mathematics", "glass", "chess", "series", "orleans",
        "athens", "wales", "star wars film", "battles of joan", "crisis", "campus", "los angeles",
        "misérables", "mp3s", "always", "las vegas", "cosmos", "the hague", "the who",
    ],
)  # fmt: skip
def test_no_plural(word: str) -> None:
    assert normalize(word) == word
    assert normalize(word.title()) == word


# Most wordings are plain words; they are normalized by the same rules as all others.
@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.sampled_from(["the", "The", "Kings", "Invited", "cities", "a-b", "Paris", "12", "1,0"]),
        max_size=5,
    ).map(" ".join)
    | st.text(st.sampled_from("abdeginrsty ABS1"), max_size=20)
)
def test_plain(surface: str) -> None:
    assert normalize(surface) == normalize(f"“{surface}”")


# Where nothing is left, the key is empty. Brackets that explain stay; brackets all around go.
def test_nothing_left_and_brackets() -> None:
    for surface in ("", "  ", "...", "—", "“”", "''", "\ud800", "\u200b", "(!)", "_"):
        assert normalize(surface) == "", surface
    assert normalize("Mercury (planet)") == "mercury (planet)"
    assert normalize("(Mercury)") == normalize("[Mercury") == "mercury"


# A key is its own key, is short, and can be written down.
@settings(deadline=None, max_examples=400)
@given(
    st.text(max_size=40)
    | st.text(st.sampled_from("sSaexiy's’.,-0 1½²()“”ﬁßİ\u0301\ud800"), max_size=40)
    | st.text(max_size=3).map(lambda text: text * 150)
    | st.lists(st.sampled_from(["the ", "The ", "invited", "cities", " ", "・", "名"])).map("".join)
)
@example("ﷺ" * 200)
@example("ß" * 150 + " buses's's")
def test_idempotent(surface: str) -> None:
    key = normalize(surface)

    assert normalize(key) == key
    assert len(key) <= 200
    key.encode()


# Everything but space, surrogates and control characters is kept.
def test_clean_surface_keeps() -> None:
    assert clean_surface("  Joan\n of\tArc’s “Voices” \ud800 ") == "Joan of Arc’s “Voices”"
    assert clean_surface("x" * 500) == "x" * 200
