"""The texts that a person names: files, folders, documents, and things that are none."""

import io
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument

from graphreader.documents import Document
from graphreader.errors import DocumentError, UsageError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.loading import sources as sources_module
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import sources_of
from graphreader.ingestion.report import unread_note
from graphreader.settings import Settings
from tests.terminal import Terminal
from tests.unit.loading import documents, read, reasons, without_root, write


# A folder gives its readable files, sorted and each once; hidden ones and circular links do not
# count.
def test_folders(tmp_path: Path) -> None:
    texts = [write(tmp_path / name) for name in ("a.txt", "b/c.MD", "b/d/e.html", "NOTES", "z.txt")]
    texts = sorted(texts)
    for name in (".hidden.txt", ".git/x.md", "b/p.png", "b/q.PNG", "b/r.v2 final"):
        write(tmp_path / name)
    write(tmp_path / "program", bytes(range(256)))
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "b" / "again.txt").symlink_to(texts[0])
    again = (str(texts[4]), tmp_path, tmp_path / "b" / ".." / "a.txt")

    assert [one.source for one in documents(tmp_path)] == [str(one.resolve()) for one in texts]
    assert [one.title for one in documents(*again)] == ["z", "NOTES", "a", "c", "e"]
    unread = Counter[str]()
    sources_of([tmp_path], exclude=["*.v2*"], unread=unread)
    assert unread == {".png": 2, "": 1}
    assert unread_note(unread).endswith("known: 2 .png, 1 without a suffix.")


# Names with the same accents, written in two ways, are one document, or the other is refused.
def test_accents(tmp_path: Path) -> None:
    composed, decomposed = "caf\xe9.txt", "cafe\u0301.txt"
    first, second = write(tmp_path / "a" / composed), write(tmp_path / "b" / decomposed)
    write(tmp_path / "b" / composed)
    (one,) = documents(tmp_path / "b")

    assert one.source == str(tmp_path.resolve() / "b" / composed)
    assert len({one.id for one in documents(first, second)}) == 2  # of two folders
    second.write_bytes(b"Another text.")
    (reason,) = reasons(tmp_path / "b")
    assert "rename it" in reason


# Links lead out of a folder only to a target that is named; files of the system are never read.
def test_links(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    texts = [write(inside / "a.txt"), write(outside / "b.txt"), write(tmp_path / "c.txt")]
    for name, target in (("b", outside), ("c.txt", texts[2]), ("p.txt", "/proc/self/environ")):
        (inside / name).symlink_to(target)
    loaded = read(inside)
    refused = [one.reason for one in loaded if isinstance(one, Refused)]

    assert [one.source for one in loaded if isinstance(one, Document)] == [str(texts[0])]
    assert [one.rsplit(" ", 1)[1] for one in refused] == [
        *(f"{outside}.", f"{texts[2]}.", f"/proc/{os.getpid()}/environ.")
    ]
    loaded = read(inside, follow_links=[outside, texts[2], "/proc"])
    assert [one.source for one in loaded if isinstance(one, Document)] == [
        *(str(texts[0]), str(texts[1]), str(texts[2]))
    ]
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    for path in (inside / "p.txt", tmp_path / "zero.txt"):
        assert "not a regular file" in reasons(path)[0]


# Patterns are matched against the path in the folder, and hold for everything below a folder.
@pytest.mark.parametrize(
    ("include", "exclude", "paths"),
    [
        ([], [], "a.md b.txt d/a.md d/e/f.md d/e/g.txt x1.md"),
        (["*.md", "b.*"], ["a.md"], "b.txt d/e/f.md x1.md"),
        (["/*.md"], [], "a.md x1.md"),
        (["d/*"], [], "d/a.md d/e/f.md d/e/g.txt"),
        (["d/**/*.md"], [], "d/a.md d/e/f.md"),
        (["d/**"], ["d/e/"], "d/a.md"),
        (["?.md", "x[0-3].md"], ["[!a]/*"], "a.md x1.md"),
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


# Each thing that cannot be read is refused by itself, in one sentence that names it as it was
# named, also where a library raises.
def test_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.txt").symlink_to(tmp_path / "nothing")
    for name, data in (("blank.txt", b" \n"), ("good.txt", b"x"), ("z.docx", b"x")):
        write(tmp_path / "in" / name, data)
    monkeypatch.chdir(tmp_path)
    loaded = read("in", "missing.txt", "empty", "a.xyz", "broken.txt", "n\0l.txt")
    refused = {one.reason.split(" ", 1)[0]: one for one in loaded if isinstance(one, Refused)}

    assert list(refused) == [
        *(
            "in/blank.txt",
            "in/z.docx",
            "missing.txt",
            "empty",
            "a.xyz",
            "broken.txt",
            "n\ufffdl.txt",
        )
    ]
    assert not any(str(tmp_path) in one.reason for one in refused.values())
    assert len(loaded) == 8
    assert "holds no .csv, .docm, " in refused["empty"].reason
    assert (refused["empty"].source, refused["a.xyz"].title) == ("empty", "a")
    assert refused["in/z.docx"].reason == (
        "in/z.docx cannot be read, it is damaged or not of the format that its name says: save it "
        "anew, or leave it out."
    )


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


# A line is a document, identified by its id, else its title, else its number. A bad line is named
# with its number and the reason, and the others are read.
def test_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources_module, "MAX_BYTES", 1000)
    good = [
        {"id": 7, "title": "Paris", "text": "A city.", "year": 52, "metadata": {"by": "V"}},
        {"title": "Paris", "text": "A hero."},
        {"title": "Paris", "text": "A plaster."},
        {"text": "Nameless \ud800."},
    ]
    bad = {
        b"{broken": "it is no JSON.",
        b'"text"': "it is no object with a `text`.",
        b'{"text": 1}': "it is no object with a `text`.",
        b'{"text": " "}': "it has no text in it",
        b'{"text": "caf\xe9"}': "it is not UTF-8: name the encoding",
        b'{"text": "' + b"x" * 2000 + b'"}': "it has more than",
    }
    data = b"\n".join([b"\xef\xbb\xbf" + json.dumps(good[0]).encode(), *bad, b""])
    data += b"\r\n".join(json.dumps(one).encode() for one in good[1:])
    path = write(tmp_path / "a.jsonl", data)
    loaded = read(path)
    texts = [one for one in loaded if isinstance(one, Document)]
    refused = [one for one in loaded if isinstance(one, Refused)]

    names = [one.source.removeprefix(str(path.resolve())) for one in texts]
    assert names == ["#7", "#Paris", "#Paris#2", "#10"]
    assert [one.title for one in texts] == ["Paris", "Paris", "Paris", "a 10"]
    assert texts[0].metadata == {"year": 52, "by": "V"}
    assert [one.text for one in texts] == ["A city.", "A hero.", "A plaster.", "Nameless \ufffd."]
    assert [one.source for one in refused] == [f"{path}#{n}" for n in range(2, 8)]
    for number, (one, reason) in enumerate(zip(refused, bad.values(), strict=True), 2):
        assert one.reason.startswith(f"{path}, line {number}: {reason}")
        assert "\n" not in one.reason
    assert reasons(write(tmp_path / "b.jsonl", b"\n \n")) == [
        f"{tmp_path}/b.jsonl has no text in it: leave it out or fill it."
    ]


# A file of lines is read in the encoding of its beginning, or in the named one.
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1250", "iso8859-2", "cp1251"])
def test_encodings_of_json_lines(tmp_path: Path, encoding: str, named: bool) -> None:
    texts = ["Żona młynarza śpi.", "The mill.", "Łąka\r\njest żółta, a młyn stoi."]
    if encoding == "cp1251":
        texts = ["Мельник спит.", "The mill.", "Земля продана в городе."]
    lines = [json.dumps({"text": one, "by": one}, ensure_ascii=False) for one in texts]
    path = write(tmp_path / "a.jsonl", "\n".join(lines).encode(encoding))
    first, second, third = documents(path, **({"encoding": encoding} if named else {}))

    assert [one.text for one in (first, second, third)] == texts
    assert first.metadata == {"by": texts[0]}
    assert [one.encoding for one in (first, second, third)] == [encoding, "", encoding]
    assert not named or not first.notes


# A broken byte becomes U+FFFD and is counted; lines in UTF-8 stay so, whatever encoding is named.
def test_encodings_of_odd_lines(tmp_path: Path) -> None:
    broken = write(tmp_path / "a.jsonl", b'{"text": "Caf\xe9 \x81."}\n')
    plain = write(tmp_path / "b.jsonl", '{"text": "Café."}\n'.encode())

    assert documents(broken, encoding="cp1252")[0].text == "Café \ufffd."
    assert documents(broken, encoding="cp1252")[0].skipped[0].part == "1 character"
    assert documents(plain, encoding="cp1252")[0].text == "Café."


# A line that is nested without end, or has too many values for memory, is refused; long texts with
# the same signs in them are read.
def test_hostile_lines(tmp_path: Path) -> None:
    values = b"{}," * 400_000
    data = b"[" * 10_000, b'{"text": "a", "x": [' + values + b"1]}", b'{"text": "' + values + b'"}'
    nested, many, text = read(write(tmp_path / "a.jsonl", b"\n".join(data)))

    assert isinstance(nested, Refused)
    assert "line 1: it cannot be read, it is damaged or nested too deeply" in nested.reason
    assert isinstance(many, Refused)
    assert "more than 1,048,576 characters outside its strings" in many.reason
    assert isinstance(text, Document)


# The same text under the same name is one document.
def test_repeated_lines(tmp_path: Path) -> None:
    lines = [{"id": "a", "text": one} for one in ("One.", "One.", "Two.", "One.")]
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)).encode())

    assert [one.source.rpartition("/")[2] for one in documents(path)] == [
        "a.jsonl#a",
        "a.jsonl#a#2",
    ]


# A file is read line by line, as its documents are asked for, up to the end that it had at first:
# one that grows as fast as it is read has an end, too.
def test_lazy(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", b'{"text": "One."}\n' + b" " * 20_000 + b'{"text": "Two."}\n'
    )
    (source,) = sources_of([path])
    loading = source.documents("c")
    next(loading)
    with path.open("r+b") as file:
        file.seek(-5, os.SEEK_END)
        file.write(b'o!"}\n{"text": "Three."}\n')
    (second,) = loading

    assert isinstance(second, Document)
    assert second.text == "Two!"


# A file that is replaced by a link out of its folder after the walk is not read, one that is gone
# is refused too, and the others are read.
def test_folder_that_changes(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.txt", b"A key.")
    (tmp_path / "folder").mkdir()
    paths = [write(tmp_path / "folder" / f"{name}.txt", b"Joan.") for name in "abc"]
    sources = sources_of([tmp_path / "folder"])
    paths[0].unlink()
    paths[0].symlink_to(secret)
    paths[1].unlink()
    first, second, third = [next(source.documents("c")) for source in sources]

    assert isinstance(first, Refused)
    assert "leads to another file" in first.reason
    assert isinstance(second, Refused)
    assert "does not exist" in second.reason
    assert isinstance(third, Document)


# So is a file that is replaced in the moment in which it is opened.
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_link_in_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    secret = write(tmp_path / "secret" / name, b'{"text": "A key."}')
    path = write(tmp_path / "folder" / name)
    open_now = os.open

    def opened(target: str, flags: int, mode: int = 0o777) -> int:
        path.unlink()
        path.symlink_to(secret)
        file = open_now(target, flags, mode)
        path.unlink()
        write(path)
        return file

    sources = sources_of([tmp_path / "folder"])
    monkeypatch.setattr(os, "open", opened)
    (refused,) = sources[0].documents("c")

    assert isinstance(refused, Refused)
    assert "leads to another file" in refused.reason


# Files whose names differ in bytes that are no characters are different documents.
@pytest.mark.skipif(sys.platform != "linux", reason="others have no such names")
def test_names_that_are_no_text(tmp_path: Path) -> None:
    for name in (b"a\xff.txt", b"a\xfe.txt"):
        write(tmp_path / os.fsdecode(name))
    first, second = documents(tmp_path)

    assert first.id != second.id
    assert second.source == f"{tmp_path.resolve()}/a\\xff.txt"


# Folders in folders without an end are left out with a sentence, the others are read.
def test_deep_folders(tmp_path: Path) -> None:
    for depth in range(120):
        write(tmp_path.joinpath(*"d" * depth, "a.txt"))
    loaded = read(tmp_path)

    assert [isinstance(one, Document) for one in loaded] == [True] * 101 + [False]
    assert isinstance(loaded[-1], Refused)
    assert "more than 100 folders deep: name it by itself" in loaded[-1].reason


EMPTY = "A path is empty: name a file or a folder, or leave it out."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a text in it that nobody named."""
    (tmp_path / "secret.txt").write_text("Alpha met Beta.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# An empty path is not the working folder, and what is no path at all is refused as well.
@pytest.mark.parametrize(
    ("things", "message"),
    [
        (["secret.txt", ""], EMPTY),
        ([" \t"], EMPTY),
        ([5], "5 is neither a path nor a document: give each by itself."),
        ([b"secret.txt"], "b'secret.txt' is neither a path nor a document: give each by itself."),
    ],
)
def test_no_texts(folder: Path, things: list[Any], message: str) -> None:
    with GraphReader(settings=Settings(home=folder, model="offline")) as reader:
        for call in (reader.ingest, reader.estimate):
            with pytest.raises(UsageError) as refused:
                call(*things)
            assert str(refused.value) == message
        assert reader.estimate(os.curdir, known=False).documents == 1


# The command refuses an empty path, which a shell makes of a variable that is not set.
def test_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(monkeypatch, capsys, folder)
    terminal.set(GRAPHREADER_HOME=str(folder), GRAPHREADER_MODEL="offline")
    outcome = terminal.run("ingest", "", "--dry-run")

    assert (outcome.code, outcome.err) == (2, f"{EMPTY}\n")
