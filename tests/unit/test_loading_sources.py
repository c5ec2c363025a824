"""Files, folders, standard input and LangChain documents become sources."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from langchain_core.documents import Document as LangChainDocument

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.ingestion.loading import formats
from graphreader.ingestion.loading import sources as sources_module
from graphreader.ingestion.loading.content import Content, Refused
from graphreader.ingestion.loading.sources import Patterns, sources_of
from tests.unit.loading import documents, lines, nobody, read, reasons, write


# Folders are searched for what can be read, sorted, hidden files left out, each file once.
def test_folders(tmp_path: Path) -> None:
    texts = [write(tmp_path / name) for name in ("a.txt", "b/c.MD", "b/d/e.html", "z.txt")]
    for name in (".hidden.txt", ".git/x.md", "b/p.png", "noending"):
        write(tmp_path / name)
    again = (str(texts[3]), tmp_path, tmp_path / "b" / ".." / "a.txt")

    assert [one.source for one in documents(tmp_path)] == [str(one.resolve()) for one in texts]
    assert [one.title for one in documents(*again)] == ["z", "a", "c", "e"]
    assert [source.size for source in sources_of([tmp_path])] == [15, 15, 15, 15]


# Links that lead in a circle, or twice to the same file, change nothing.
def test_links(tmp_path: Path) -> None:
    text = write(tmp_path / "in" / "a.txt")
    (tmp_path / "in" / "loop").symlink_to(tmp_path)
    (tmp_path / "in" / "b.txt").symlink_to(text)
    (tmp_path / "in" / "broken.txt").symlink_to(tmp_path / "nothing")
    found = read(tmp_path)

    assert [one.source for one in found if isinstance(one, Document)] == [str(text.resolve())]
    assert len(found) == 2
    assert "does not exist" in reasons(tmp_path)[0]


# Patterns are matched against the path in the folder, and hold for all below a folder.
@pytest.mark.parametrize(
    ("include", "exclude", "found"),
    [
        ([], [], "a.md b.txt d/a.md d/e/f.md d/e/g.txt x1.md"),
        (["*.md"], [], "a.md d/a.md d/e/f.md x1.md"),
        (["*.md", "b.*"], ["a.md"], "b.txt d/e/f.md x1.md"),
        (["/*.md"], [], "a.md x1.md"),
        (["d/*"], [], "d/a.md d/e/f.md d/e/g.txt"),
        (["d/*.md"], [], "d/a.md"),
        (["d/**/*.md"], [], "d/a.md d/e/f.md"),
        (["**/e/**"], [], "d/e/f.md d/e/g.txt"),
        (["d/**"], ["d/e/"], "d/a.md"),
        ([], ["d"], "a.md b.txt x1.md"),
        (["?.md", "x[0-3].md"], ["[!a]/*"], "a.md x1.md"),
        (["x[!0-3].md", "[a", "a.md|b.txt", "."], [], ""),
        (["**"], ["**/*.md"], "b.txt d/e/g.txt"),
    ],
)
def test_patterns(
    include: Sequence[str], exclude: Sequence[str], found: str, tmp_path: Path
) -> None:
    for name in ("a.md", "b.txt", "d/a.md", "d/e/f.md", "d/e/g.txt", "x1.md", "d/p.png"):
        write(tmp_path / name)
    read_in = read(tmp_path, include=include, exclude=exclude)
    sources = [one.source for one in read_in if isinstance(one, Document)]

    assert [os.path.relpath(one, tmp_path.resolve()) for one in sources] == found.split()
    assert len(read_in) == len(sources) or not found


# What is named itself is read whatever the patterns say; an excluded folder is not even opened.
def test_patterns_are_for_folders(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt")
    write(tmp_path / "closed" / "b.txt")
    (tmp_path / "closed").chmod(0)
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)

    assert len(documents(file, exclude=["a.txt"])) == 1
    with nobody():
        assert "cannot be opened" in reasons(tmp_path)[0]
        assert reasons(tmp_path, exclude=["closed"]) == []
    (tmp_path / "closed").chmod(0o755)


# A pattern full of stars takes no more time than another.
def test_stars() -> None:
    assert not Patterns(["*a" * 12 + "b"]).includes("a" * 60)


# What is missing, empty, of no known kind: each is refused by itself, in one sentence.
def test_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    good = write(tmp_path / "good.txt")
    found = read(
        tmp_path / "missing.txt", tmp_path / "empty", good, tmp_path / "a.xyz", "nul\0.txt"
    )
    refused = [one for one in found if isinstance(one, Refused)]

    assert len(found) == 5
    assert [one.title for one in refused] == ["missing", "empty", "a", "nul\ufffd"]
    assert "does not exist" in refused[0].reason
    assert "holds no .docx, .epub, " in refused[1].reason
    assert refused[1].source == str(tmp_path / "empty")


# Whatever a library raises is a refusal, in one sentence that names what it is about.
def test_anything_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(data: bytes, shown: str) -> Content:
        raise KeyError("some\nthing")

    monkeypatch.setitem(formats.READERS, ".txt", fails)
    monkeypatch.setattr(sources_module, "read_text", fails)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"x")))
    write(tmp_path / "a.txt")
    path = lines(tmp_path / "b.jsonl", {"documents": [{"text_file": "a.txt"}]}, {"text": "One."})
    why = "cannot be read ('some\\nthing'): is it damaged?"

    assert reasons(tmp_path / "a.txt") == [f"{tmp_path}/a.txt {why}"]
    assert reasons("-", id="notes") == [f"The standard input {why}"]
    assert reasons(LangChainDocument.model_construct(page_content=None, metadata={}, id="n")) == [
        "n cannot be read ('NoneType' object has no attribute 'encode'): is it damaged?"
    ]
    assert reasons(path) == [f"{path}, line 1, document 0: it {why}"]
    assert len(read(path)) == 2


# A refusal names a file as the person did, whatever is wrong with it.
def test_refusals_name_files_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in" / "binary.txt", b"\x89PNG\0\0\0")
    write(tmp_path / "in" / "blank.txt", b" \n")
    write(tmp_path / "in" / "empty.md", b"")
    write(
        tmp_path / "in" / "marked.jsonl",
        b'{"text": "\\ufeff "}\n{"documents": [{"text_file": "x.txt"}, {"text_file": ""}]}',
    )
    write(tmp_path / "in" / "none.jsonl", b"")
    monkeypatch.chdir(tmp_path)
    found = reasons("in")

    assert [reason.split()[0] for reason in found] == [
        "in/binary.txt",
        "in/blank.txt",
        "in/empty.md",
        *["in/marked.jsonl,"] * 3,
        "in/none.jsonl",
    ]
    assert not any(str(tmp_path) in reason for reason in found)


# Text from standard input is named by its id.
def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    piped("Joan\r\nfought…".encode())
    (document,) = documents("-", id="notes")
    piped(b"\x89PNG\0\0\0")

    assert (document.title, document.source) == ("notes", "stdin:notes")
    assert document.text == "Joan\nfought…"
    assert reasons(Path("-"), id="notes") == [
        "The standard input is binary, not a text: leave it out, or save its text."
    ]
    assert reasons("-", id="notes") == ["stdin:notes has no text in it: leave it out or fill it."]


# Standard input and its id come together.
@pytest.mark.parametrize(("things", "id"), [(["-"], None), (["a.txt"], "notes")])
def test_id_of_standard_input(things: list[str], id: str | None) -> None:
    with pytest.raises(DocumentError, match="pass - as the path, and --id NAME"):
        sources_of(things, id=id)


# LangChain's documents are taken as they are: the id, else source and page, else their text.
def test_langchain() -> None:
    with_id = LangChainDocument("One.", id="n1", metadata={"title": "First", "year": 1431})
    pages = [LangChainDocument(f"{n}.", metadata={"source": "b.pdf", "page": n}) for n in (0, 1)]
    parts = [LangChainDocument(text, metadata={"source": "w"}) for text in ("Two.", "Three.")]
    bare = LangChainDocument("Four.")
    blank = LangChainDocument(" ", id="blank")
    found = documents(with_id, *pages, *parts, bare)

    assert [one.source for one in found[:5]] == [
        "n1",
        "b.pdf#page=0",
        "b.pdf#page=1",
        "w",
        "w#2",
    ]
    assert [one.title for one in found[:5]] == ["First", "b.pdf", "b.pdf", "w", "w"]
    assert found[0].metadata == {"title": "First", "year": 1431}
    assert [one.text for one in found] == ["One.", "0.", "1.", "Two.", "Three.", "Four."]
    assert found[5].source.startswith("langchain:")
    assert documents(bare)[0].id == found[5].id
    assert "has no text" in reasons(blank)[0]
