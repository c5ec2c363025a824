"""RTF files give their text with numbers of lists and rows; the rest is named."""

import time
from pathlib import Path

from graphreader.ingestion.loading.rtf import read_rtf
from tests.unit.loading import reasons, write


# Text in its encoding, list numbers and rows are read; notes, headers and pictures are counted.
def test_rtf() -> None:
    data = (
        rb"{\rtf1\ansi\ansicpg1251{\header Draft}{\*\generator x}\'cf\'f0\'e8 \u8364?5{\footnote N}"
        rb".\par {\listtext 1.\tab}One\par {\listtext 2.\tab}Two\par\trowd a\cell b\cell\row"
        rb"\trowd c\cell\cell\row End{\pict 00}{\pict 01}\par}"
    )
    content = read_rtf(data, "a.rtf")

    assert content.text == "При €5.\n\n1. One\n2. Two\na | b\nc\n\nEnd"
    assert [one.part for one in content.skipped] == ["1 note", "1 header", "2 pictures"]


# Deleted and hidden text is read, so it is not counted.
def test_deleted_text() -> None:
    content = read_rtf(rb"{\rtf1 One{\deleted  old}{\v  hidden}\deleted0  end.}", "a.rtf")

    assert (content.text, content.skipped) == ("One old hidden end.", ())


# Broken, deep and endless files are refused or read in time.
def test_attacks(tmp_path: Path) -> None:
    began = time.monotonic()

    assert read_rtf(b"{\\rtf1 " + b"{" * 200_000 + b"a" + b"}" * 200_000, "a.rtf").text == "a"
    assert read_rtf(b"{\\rtf1\\uc999999999 \\u65? abc", "a.rtf").text == "A"
    for data in (b"Joan.", b"{\\rtf1\\ansicpg99999 a\\'e9}"):
        (reason,) = reasons(write(tmp_path / "a.rtf", data))
        assert "damaged" in reason
    assert time.monotonic() - began < 20
