"""Notes on texts that look as if they were read wrongly."""

from string import ascii_lowercase

import pytest

from graphreader.ingestion.loading.content import Content, completed
from tests.project.markdown import ROOT

JOAN = (ROOT / "examples" / "joan_of_arc.txt").read_text("utf-8")[:5_000]
SHIFTED = JOAN.lower().translate(
    str.maketrans(ascii_lowercase, ascii_lowercase[3:] + ascii_lowercase[:3])
)
GERMAN = "Die Donaudampfschifffahrtsgesellschaft vermietete das Lagerhaus an der Müllergasse. "
CZECH = "Strč prst skrz krk, řekl mlynář a zamkl vrata, protože vlk chodil kolem mlýna v noci. "
LISTING = (
    "def very_long_name_of_a_function(first_argument): return BetaManagedAgentsSessionError() "
)


# Lost letters, letters by a shifted table (a font without Unicode), and words without spaces.
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (JOAN[:460] + "\ue001\ue002" * 20, "40 of its 500 characters cannot be read"),
        (JOAN[:300] + "(cid:12)" * 30, "30 of its 540 characters cannot be read"),
        (SHIFTED, "Few of its words look like words"),
        ("".join(JOAN.split()), "not separated by spaces"),
    ],
)
def test_doubts(text: str, words: str) -> None:
    notes = completed(Content(text)).notes

    assert [words in note for note in notes] == [True]


# Languages, code, a short text and one with few lost characters have no note.
@pytest.mark.parametrize(
    "text", [JOAN, GERMAN * 9, CZECH * 9, LISTING * 9, "krk", JOAN * 2 + "\ufffd" * 9]
)
def test_no_doubts(text: str) -> None:
    assert completed(Content(text)).notes == ()
