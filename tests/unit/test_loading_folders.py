"""Folders: which documents have no file any more, and when nothing may be deleted."""

import os
import unicodedata
from pathlib import Path

import pytest

from graphreader.errors import UsageError
from graphreader.files import file_source
from graphreader.ingestion.loading.folders import files_in, sources_without_file
from tests.unit.loading import without_root, write

NFC, NFD = (unicodedata.normalize(form, "é.md") for form in ("NFC", "NFD"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with some files, and a file next to it."""
    for name in ("a.md", "b.md", "c.md", "sub/d.md", "sub/deep/e.txt", "notes.jsonl", "NOTES"):
        write(tmp_path / "texts" / name)
    write(tmp_path / "texts2/a.md")
    return tmp_path / "texts"


def sources(folder: Path, *more: str) -> list[str]:
    """The sources of the documents that were read from a folder."""
    files = [one for one in folder.rglob("*") if one.is_file() and one.name != "notes.jsonl"]
    lines = [f"{file_source(folder / 'notes.jsonl')}#{id_}" for id_ in ("1", "a#b", "c/d.md")]
    return [*map(file_source, files), *lines, *more]


def gone(folder: Path, documents: list[str], **patterns: list[str]) -> list[str]:
    missing = sources_without_file(folder, documents, **patterns)
    return sorted(one.removeprefix(file_source(folder) + "/") for one in missing)


# Only files of this folder that are gone count: not those elsewhere, uploads, pages or hidden.
def test_gone(folder: Path) -> None:
    others = [
        file_source(folder.parent / "texts2/gone.md"),
        file_source(folder.parent / "gone.md"),
        file_source(folder / ".hidden/gone.md"),
        file_source(folder / ".gone.md"),
        f"upload:{folder}/gone.md",
        f"https://example.org{folder}/gone.md",
        "stdin:gone",
        "",
    ]
    documents = sources(folder, *others)
    assert gone(folder, documents) == []

    (folder / "a.md").unlink()
    (folder / "sub/d.md").rename(folder / "sub/moved.md")
    (folder / "b.md").unlink()
    (folder / "b.md").mkdir()  # a folder is no file

    assert gone(folder, documents) == ["a.md", "b.md", "sub/d.md"]
    assert gone(folder / "sub", documents) == [f"{file_source(folder)}/sub/d.md"[-len("d.md") :]]
    assert gone(folder, documents, include=["sub"]) == ["sub/d.md"]
    assert gone(folder, documents, exclude=["sub", "a.*"]) == ["b.md"]
    assert gone(folder, documents, include=["*.txt"]) == []


# The documents of a file of many last as long as the file.
def test_parts_of_a_file(folder: Path) -> None:
    documents = sources(folder)
    (folder / "notes.jsonl").unlink()

    assert gone(folder, documents) == ["notes.jsonl#1", "notes.jsonl#a#b", "notes.jsonl#c/d.md"]


def test_names_with_number_signs(tmp_path: Path) -> None:
    texts = tmp_path / "texts #1"
    for name in ("a#b.md", "c.md#.md", "x#1/y.jsonl", "z.md", "w.md"):
        write(texts / name)
    documents = [file_source(texts / one) for one in ("a#b.md", "c.md#.md", "z.md", "w.md")]
    documents.append(file_source(texts / "x#1/y.jsonl") + "#2")
    assert gone(texts, documents) == []

    (texts / "a#b.md").unlink()
    (texts / "x#1/y.jsonl").unlink()

    assert gone(texts, documents) == ["a#b.md", "x#1/y.jsonl#2"]


# A name is one in NFC and in NFD, for documents and for patterns.
@pytest.mark.parametrize(("before", "now"), [(NFC, NFD), (NFD, NFC), (NFD, NFD)])
def test_forms_of_a_name(tmp_path: Path, before: str, now: str) -> None:
    texts = tmp_path / unicodedata.normalize("NFD", "Übung")
    write(texts / before)
    documents = [file_source(texts / before), file_source(texts / "a.md")]
    (texts / before).rename(texts / now)
    write(texts / "a.md")
    composed = Path(unicodedata.normalize("NFC", str(texts)))
    if not composed.exists():
        composed.symlink_to(texts, target_is_directory=True)

    assert gone(texts, documents) == []
    assert [one.name for one in files_in(texts, [before], [])[0]] == [now]
    assert [one.name for one in files_in(texts, [], [before])[0]] == ["a.md"]
    (texts / now).unlink()
    assert gone(texts, documents) == [NFC]
    assert gone(texts, documents, exclude=[NFD]) == []


# A file that cannot be read is not gone, nor is a link without a target, nor a name in odd bytes.
def test_unreadable_files_are_there(folder: Path) -> None:
    documents = sources(folder)
    (folder / "a.md").unlink()
    (folder / "a.md").symlink_to("nowhere")
    (folder / "b.md").write_bytes(b"\0\1damaged")
    odd = Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md"))
    write(odd)
    (folder / "c.md").chmod(0)

    assert gone(folder, [*documents, file_source(odd)]) == []


# Files behind links are known by their targets, below the folder or not.
def test_links(folder: Path) -> None:
    write(folder / "real/f.md")
    (folder / "link.md").symlink_to("real/f.md")
    (folder / "out").symlink_to(folder.parent / "texts2", target_is_directory=True)
    documents = [
        file_source(folder / "link.md"),
        file_source(folder / "out/a.md"),
        *sources(folder),
    ]
    link = folder.parent / "link"
    link.symlink_to(folder, target_is_directory=True)
    assert gone(folder, documents) == []

    (folder / "a.md").unlink()
    (folder / "out").unlink()

    assert gone(link, documents) == ["a.md"]


def refusal(folder: Path, documents: list[str], **patterns: list[str]) -> str:
    with pytest.raises(UsageError) as error:
        sources_without_file(folder, documents, **patterns)
    assert "No document is deleted" in str(error.value)
    return str(error.value)


def test_missing_folder(folder: Path) -> None:
    documents = sources(folder)
    assert "is no folder, or is missing: is a disk missing?" in refusal(folder / "x", documents)
    assert "is no folder, or is missing" in refusal(folder / "a.md", documents)


def test_empty_folder(folder: Path) -> None:
    documents = sources(folder)
    for one in folder.rglob("*"):
        if one.is_file():
            one.unlink()

    assert "texts is empty" in refusal(folder, documents)
    assert sources_without_file(folder, ["/elsewhere/a.md"]) == []


# Half of the documents may go, more not: documents of this folder that the patterns cover.
def test_more_than_half(folder: Path) -> None:
    documents = [file_source(folder / name) for name in ("a.md", "b.md", "c.md", "sub/d.md")]
    (folder / "a.md").unlink()
    (folder / "b.md").unlink()
    assert gone(folder, [*documents, "/elsewhere/x.md"]) == ["a.md", "b.md"]
    assert "lacks the files of 2 of its 3 documents, more than half" in refusal(
        folder, documents, exclude=["sub"]
    )
    (folder / "c.md").unlink()

    assert "lacks the files of 3 of its 4 documents" in refusal(folder, documents)


def test_unlisted_folder(folder: Path) -> None:
    documents = sources(folder)
    (folder / "a.md").unlink()
    (folder / "sub").chmod(0)
    for one in (folder.parent, *(one for one in folder.parents if "pytest" in str(one))):
        one.chmod(0o755)

    with without_root():
        assert "sub cannot be listed (Permission denied)" in refusal(folder, documents)
    (folder / "sub").chmod(0o755)
