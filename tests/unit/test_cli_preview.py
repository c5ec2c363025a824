"""`graphreader preview` prints what would be read, part by part, and what is left out."""

import json
from pathlib import Path

import pytest
import typer

from graphreader.cli.preview import preview
from graphreader.documents import Place, Skipped
from graphreader.ingestion.loading.content import Content, completed, document_of
from graphreader.ingestion.loading.sources import Source
from graphreader.ingestion.preview import as_dict, parts_of
from graphreader.ingestion.preview import preview as read

TEXT = "Costs\nrose.\n\nAda paid.\n\nEnd."


def source() -> Source:
    """A source of one document with pages, of which one cannot be read."""
    content = Content(
        TEXT,
        places=(Place(13, "page 1"), Place(24, "page 3 (i)")),
        skipped=(Skipped("page 2", "has no text"),),
    )
    made = document_of(completed(content), "report", "c", "/texts/report.pdf")
    return Source("report", "report.pdf", lambda corpus, _: [made])


# Its parts are the text: before the first place, and from each place to the next.
def test_parts() -> None:
    [document] = read(source())

    assert not hasattr(document, "reason")
    assert list(parts_of(document)) == [
        ("", "Costs\nrose.\n\n"),
        ("page 1", "Ada paid.\n\n"),
        ("page 3 (i)", "End."),
    ]
    assert "".join(part["text"] for part in as_dict(document)["parts"]) == TEXT


# Files are printed with what is left out; one that cannot be read, and files of unknown formats,
# are named on stderr, and the exit code is that of `ingest`.
def test_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text("# Mill\n\nAda built [it]. " + "long words " * 90 + "\n")
    (tmp_path / "b.json").write_bytes(b"\0\1\2\3" * 99)
    (tmp_path / "c.xyz").write_text("x")
    with pytest.raises(typer.Exit) as ended:
        preview([str(tmp_path)], [], [], [])
    out, err = capfd.readouterr()

    assert ended.value.exit_code == 2
    assert out.startswith("a  a.md, 1,015 characters, 1 heading\n# Mill\n\nAda built [it]. long")
    assert "b.json is binary" in err
    assert "Not read, since their formats are not known: 1 .xyz." in err


def test_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Ada built it.", encoding="utf-16")
    preview([str(file)], [], [], [], json=True)
    shown = json.loads(capfd.readouterr().out)

    assert (shown["refused"], shown["notes"]) == ([], [])
    [document] = shown["documents"]
    assert (document["title"], document["encoding"]) == ("a", "utf-16")
    assert document["parts"] == [{"place": "", "text": "Ada built it."}]


# With --notes only sizes and what is left out are printed.
def test_notes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("Ada built it in Łódź. ".encode() * 9 + b"\xff")
    preview([str(file)], [], [], [], notes=True)

    first, second, *rest = capfd.readouterr().out.splitlines()
    assert first.startswith("a  a.txt, ")
    assert second.startswith("1 character: invalid in utf-8")
    assert "".join(rest) == ""
