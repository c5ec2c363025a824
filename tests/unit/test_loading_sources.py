"""Files, folders, standard input, LangChain documents and JSON Lines become documents."""

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
from tests.unit.loading import documents, lines, read, reasons, without_root, write


# A folder gives its readable files, sorted and each once; hidden ones and circular links do not
# count.
def test_folders(tmp_path: Path) -> None:
    texts = [write(tmp_path / name) for name in ("a.txt", "b/c.MD", "b/d/e.html", "z.txt")]
    for name in (".hidden.txt", ".git/x.md", "b/p.png", "noending"):
        write(tmp_path / name)
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "b" / "again.txt").symlink_to(texts[0])
    again = (str(texts[3]), tmp_path, tmp_path / "b" / ".." / "a.txt")

    assert [one.source for one in documents(tmp_path)] == [str(one.resolve()) for one in texts]
    assert [one.title for one in documents(*again)] == ["z", "a", "c", "e"]
    assert [source.size for source in sources_of([tmp_path])] == [15, 15, 15, 15]


# Patterns are matched against the path in the folder, and hold for everything below a folder.
@pytest.mark.parametrize(
    ("include", "exclude", "paths"),
    [
        ([], [], "a.md b.txt d/a.md d/e/f.md d/e/g.txt x1.md"),
        (["*.md"], [], "a.md d/a.md d/e/f.md x1.md"),
        (["*.md", "b.*"], ["a.md"], "b.txt d/e/f.md x1.md"),
        (["/*.md"], [], "a.md x1.md"),
        (["d/*"], [], "d/a.md d/e/f.md d/e/g.txt"),
        (["d/**/*.md"], [], "d/a.md d/e/f.md"),
        (["**/e/**"], [], "d/e/f.md d/e/g.txt"),
        (["d/**"], ["d/e/"], "d/a.md"),
        (["?.md", "x[0-3].md"], ["[!a]/*"], "a.md x1.md"),
        (["x[!0-3].md", "[a", "a.md|b.txt", "."], [], ""),
        (["**"], ["**/*.md"], "b.txt d/e/g.txt"),
    ],
)
def test_patterns(
    include: Sequence[str], exclude: Sequence[str], paths: str, tmp_path: Path
) -> None:
    for name in ("a.md", "b.txt", "d/a.md", "d/e/f.md", "d/e/g.txt", "x1.md", "d/p.png"):
        write(tmp_path / name)
    loaded = read(tmp_path, include=include, exclude=exclude)
    sources = [one.source for one in loaded if isinstance(one, Document)]

    assert [os.path.relpath(one, tmp_path.resolve()) for one in sources] == paths.split()
    assert len(loaded) == len(sources) or not paths


# A file that is named itself is read whatever the patterns say; an excluded folder is not opened.
def test_patterns_are_for_folders(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt")
    write(tmp_path / "closed" / "b.txt")
    (tmp_path / "closed").chmod(0)
    for folder in (tmp_path, *(one for one in tmp_path.parents if "pytest" in str(one))):
        folder.chmod(0o755)

    assert len(documents(file, exclude=["a.txt"])) == 1
    with without_root():
        assert "cannot be opened" in reasons(tmp_path)[0]
        assert reasons(tmp_path, exclude=["closed"]) == []
    (tmp_path / "closed").chmod(0o755)


# A pattern full of stars takes no more time than another.
def test_stars() -> None:
    assert not Patterns(["*a" * 12 + "b"]).includes("a" * 60)


# Each thing that cannot be read is refused by itself, in one sentence that names it as it was
# named.
def test_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.txt").symlink_to(tmp_path / "nothing")
    write(tmp_path / "in" / "binary.txt", b"\x89PNG\0\0\0")
    write(tmp_path / "in" / "blank.txt", b" \n")
    write(tmp_path / "in" / "good.txt")
    listed = b'{"text": "\\ufeff "}\n{"documents": [{"text_file": "x.txt"}, {"text_file": ""}]}'
    write(tmp_path / "in" / "marked.jsonl", listed)
    monkeypatch.chdir(tmp_path)
    loaded = read("in", "missing.txt", "empty", "a.xyz", "nul\0.txt", "broken.txt")
    refused = {one.reason.split(" ", 1)[0]: one for one in loaded if isinstance(one, Refused)}

    assert list(refused) == [
        *("in/binary.txt", "in/blank.txt", "in/marked.jsonl,"),
        *("missing.txt", "empty", "a.xyz", "nul\ufffd.txt", "broken.txt"),
    ]
    assert not any(str(tmp_path) in one.reason for one in refused.values())
    assert len(loaded) == 11
    assert "does not exist" in refused["missing.txt"].reason
    assert "holds no .docx, .epub, " in refused["empty"].reason
    assert (refused["empty"].source, refused["a.xyz"].title) == ("empty", "a")


# Whatever a library raises is a refusal, in one sentence that names the source.
def test_anything_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(data: bytes, shown: str) -> Content:
        raise KeyError("some\nthing")

    monkeypatch.setitem(formats.READERS, ".txt", fail)
    monkeypatch.setattr(sources_module, "read_text", fail)
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


# Text from standard input is named by its id; both come together.
def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def pipe(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    pipe("Joan\r\nfought…".encode())
    (document,) = read("-", id="notes")
    pipe(b"\x89PNG\0\0\0")

    assert isinstance(document, Document)
    assert (document.title, document.source) == ("notes", "stdin:notes")
    assert document.text == "Joan\nfought…"
    assert reasons(Path("-"), id="notes") == [
        "The standard input is binary, not a text: leave it out, or save its text."
    ]
    assert reasons("-", id="notes") == ["stdin:notes has no text in it: leave it out or fill it."]
    for things, id_ in (["-"], None), (["a.txt"], "notes"):
        with pytest.raises(DocumentError, match="pass - as the path, and --id NAME"):
            sources_of(things, id=id_)


# The source of a LangChain document is its id, else its source and page, else a hash of its text.
def test_langchain() -> None:
    with_id = LangChainDocument("One.", id="n1", metadata={"title": "First", "year": 1431})
    page = LangChainDocument("0.", metadata={"source": "b.pdf", "page": 0})
    parts = [LangChainDocument(text, metadata={"source": "w"}) for text in ("Two.", "Three.")]
    bare = LangChainDocument("Four.")
    loaded = documents(with_id, page, *parts, bare)

    assert [one.source for one in loaded[:4]] == ["n1", "b.pdf#page=0", "w", "w#2"]
    assert [one.title for one in loaded[:4]] == ["First", "b.pdf", "w", "w"]
    assert loaded[0].metadata == {"title": "First", "year": 1431}
    assert [one.text for one in loaded] == ["One.", "0.", "Two.", "Three.", "Four."]
    assert loaded[4].source.startswith("langchain:")
    assert documents(bare)[0].id == loaded[4].id
    assert "has no text" in reasons(LangChainDocument(" ", id="blank"))[0]


# A line is a document, identified by its id, else its title, else its number; equal ones are one.
def test_json_lines(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        {"id": 7, "title": "Paris", "text": "A city.", "year": 52, "metadata": {"by": "V"}},
        {"title": "Paris", "text": "A hero."},
        {"title": "Paris", "text": "A plaster."},
        {"title": "Paris", "text": "A hero."},
        {"text": "Nameless \ud800."},
    )
    loaded = documents(path)
    names = [one.source.removeprefix(str(path.resolve())) for one in loaded]

    assert names == ["#7", "#Paris", "#Paris#2", "#5"]
    assert [one.title for one in loaded] == ["Paris", "Paris", "Paris", "a 5"]
    assert loaded[0].metadata == {"year": 52, "by": "V"}
    assert [one.text for one in loaded] == ["A city.", "A hero.", "A plaster.", "Nameless \ufffd."]


# A question set gives the documents of its questions, each once; files by their own paths.
def test_question_set(tmp_path: Path) -> None:
    story = write(tmp_path / "texts" / "story.txt", b"Once upon a time.")
    short = {"title": "Seine", "text": "A river."}
    path = lines(
        tmp_path / "set.jsonl",
        {"id": "q1", "question": "?", "documents": [short, {"title": "Seine", "text": "A place."}]},
        {"id": "q2", "documents": [short, {"title": "Story", "text_file": "texts/story.txt"}]},
        {"id": "q3", "documents": [{"title": "Story", "text_file": "texts/../texts/story.txt"}]},
    )
    loaded = documents(path)

    assert [(one.title, one.text) for one in loaded] == [
        ("Seine", "A river."),
        ("Seine", "A place."),
        ("Story", "Once upon a time."),
    ]
    assert len({one.id for one in loaded}) == 3
    assert loaded[2].id == documents(story)[0].id


# A bad line is named with its number and the reason, and the others are read.
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{broken", "line 2: it is no JSON"),
        (b'"text"', "line 2: it is no object."),
        (b'{"text": 1}', "line 2: it has no `text`."),
        (b'{"text": " "}', "line 2: its `text` is empty."),
        (b'{"text": "caf\xe9"}', "line 2: it is not UTF-8."),
        (b"[" * 100_000, "line 2: it is no JSON"),
        (b'{"documents": 1}', "line 2: `documents` is no list."),
        (b'{"documents": [1]}', "line 2, document 0: it is no object."),
        (b'{"documents": [{"title": "x"}]}', "neither `text` nor `text_file`."),
        (b'{"documents": [{"text_file": "none.txt"}]}', "does not exist"),
        (b'{"documents": [{"text_file": "a.jsonl"}]}', "holds many texts"),
        (b'{"documents": [{"text_file": "../secret.txt"}]}', "lies outside"),
        (b'{"documents": [{"text_file": "/etc/hostname"}]}', "lies outside"),
        (b'{"documents": [{"text_file": "n\\u0000.txt"}]}', "line 2, document 0"),
        (b'{"text": "' + b"x" * 2000 + b'"}', "line 2: it has more than"),
    ],
)
def test_bad_lines(
    line: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(line) < 100_000:
        monkeypatch.setattr(sources_module, "MAX_BYTES", 1000)
    write(tmp_path / "secret.txt")
    path = write(
        tmp_path / "in" / "a.jsonl",
        b'\xef\xbb\xbf{"text": "One."}\r\n' + line + b'\n\n{"text": "Two."}',
    )
    loaded = read(path)
    (refused,) = [one for one in loaded if isinstance(one, Refused)]

    assert [one.text for one in loaded if isinstance(one, Document)] == ["One.", "Two."]
    assert refused.source == f"{path}#2"
    assert reason in refused.reason
    assert refused.reason.startswith(str(path))
    assert "\n" not in refused.reason


# A file without any line is refused as a whole.
def test_no_lines(tmp_path: Path) -> None:
    assert reasons(write(tmp_path / "a.jsonl", b"\n \n")) == [
        f"{tmp_path}/a.jsonl has no text in it: leave it out or fill it."
    ]
    assert "does not exist" in reasons(tmp_path / "b.jsonl")[0]


# A file is read line by line, as its documents are asked for.
def test_lazy(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"text": "One."}, {"text": "Two."})
    (source,) = sources_of([path])
    loading = source.documents("c")
    next(loading)
    with path.open("a") as file:
        file.write('\n{"text": "Three."}')

    assert len(list(loading)) == 2
