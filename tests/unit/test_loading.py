import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from graphreader.errors import DocumentError
from graphreader.ingestion.loading import find_files, from_text, load


def write(path: Path, data: bytes = b"Joan was born.\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of root, which no permission stops."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


# Folders are searched for texts, sorted, hidden ones left out, each file once.
def test_find_files(tmp_path: Path) -> None:
    texts = [write(tmp_path / name) for name in ("a.txt", "b/c.MD", "b/d/e.md", "z.txt")]
    for name in (".hidden.txt", ".git/x.md", "b/p.pdf", "noending"):
        write(tmp_path / name)

    assert find_files([tmp_path]) == texts
    assert find_files([texts[3], tmp_path, tmp_path / "b" / ".." / "a.txt"]) == texts


# Links that lead in a circle, or twice to the same file, change nothing.
def test_links(tmp_path: Path) -> None:
    text = write(tmp_path / "in" / "a.txt")
    (tmp_path / "in" / "loop").symlink_to(tmp_path)
    (tmp_path / "in" / "b.txt").symlink_to(text)
    (tmp_path / "in" / "broken.txt").symlink_to(tmp_path / "nothing")

    assert {os.path.realpath(file) for file in find_files([tmp_path])} == {
        str(text.resolve()),
        str((tmp_path / "nothing").resolve()),
    }


# A folder without a text says so; a named file is passed on whatever it is.
def test_nothing_found(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    named = [tmp_path / ".hidden.txt", tmp_path / "missing.txt"]

    assert find_files(named) == named
    with pytest.raises(DocumentError, match=r"holds no \.md or \.txt file"):
        find_files([tmp_path / "empty"])


# A folder in a folder that cannot be opened is not passed over in silence.
def test_closed_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    write(tmp_path / "a.txt")
    write(tmp_path / "closed" / "b.txt")
    (tmp_path / "closed").chmod(0)
    with nobody():
        found = find_files([tmp_path])

        assert [path.name for path in found] == ["a.txt", "closed"]
        with pytest.raises(DocumentError, match=r"cannot be opened \(Permission denied\)"):
            load(found[1], "c")
    (tmp_path / "closed").chmod(0o755)


# A document is one path in one corpus: its id comes from both, links resolved.
def test_identity(tmp_path: Path) -> None:
    path = write(tmp_path / "joan_of_arc.v2.txt")
    (tmp_path / "link.txt").symlink_to(path)
    document = load(path, "saints")
    expected = sha256(f"saints\0{path.resolve()}".encode()).hexdigest()[:24]

    assert (document.id, document.title) == (expected, "joan_of_arc.v2")
    assert (document.corpus, document.source) == ("saints", str(path.resolve()))
    assert document.sha256 == sha256(b"Joan was born.\n").hexdigest()
    assert load(tmp_path / "link.txt", "saints").id == document.id
    assert load(path, "others").id != document.id


# The text is what open() reads: line ends are newlines, and a byte order mark stays.
@pytest.mark.parametrize(
    "data",
    [
        b"a\r\nb\rc\nd",
        "\ufeffJoan of Arc\r\n".encode(),
        "却说唐太宗\u2028…😀\x0b\x85x".encode(),
        b"\r\r\n\n\rx",
    ],
)
def test_text_is_what_open_reads(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path / "a.txt", data)

    assert load(path, "c").text == path.read_text(encoding="utf-8")


# Chinese texts are marked as such.
def test_language(tmp_path: Path) -> None:
    assert load(write(tmp_path / "a.txt", "却说唐太宗".encode()), "c").language == "zh"
    assert load(write(tmp_path / "b.txt"), "c").language == "en"


# What is no text is refused with one sentence that names the file, the reason and the way out.
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"", "has no text in it"),
        ("a.txt", b" \n\t\n", "has no text in it"),
        ("a.txt", b"\xef\xbb\xbf\n", "has no text in it"),
        ("a.txt", b"abc\0def", r"is binary \(a NUL byte at position 3\)"),
        ("a.txt", b"caf\xe9 noir", r"byte 0xe9 at position 3.*iconv -f WINDOWS-1252 -t UTF-8"),
        ("a.md", "却说唐太宗随着崔判官。".encode("gb18030"), r"iconv -f GB18030 .* > new\.md"),
        ("a.txt", "Joan".encode("utf-16"), "begins as UTF-16 does.*iconv -f UTF-16 "),
        ("a.pdf", b"%PDF", r"is not a \.md or \.txt file"),
        ("a", b"text", r"is not a \.md or \.txt file"),
    ],
)
def test_refused(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = write(tmp_path / name, data)
    with pytest.raises(DocumentError, match=message) as caught:
        load(path, "c")

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


# A missing file, a folder, a pipe, a path that cannot be, a file of others: each says what it is.
def test_not_a_readable_file(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.txt")
    secret.chmod(0)
    os.mkfifo(tmp_path / "pipe.txt")
    for path, message in (
        (tmp_path / "missing.txt", "does not exist"),
        (tmp_path, "is a folder, not a file"),
        (tmp_path / "pipe.txt", "is not a regular file"),
        (tmp_path / ("n" * 300 + ".txt"), "cannot be opened"),
        (tmp_path / "nul\0.txt", "cannot be opened"),
        (secret / "a.txt", "cannot be opened"),
    ):
        with pytest.raises(DocumentError, match=message):
            load(path, "c")
    with nobody(), pytest.raises(DocumentError, match=r"cannot be opened \(Permission denied\)"):
        load(secret, "c")


# A file of exactly the limit is read; one byte more is too large, and both sizes are said.
def test_too_large(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"x" * 2**20)

    assert len(load(path, "c", max_bytes=2**20).text) == 2**20
    with pytest.raises(DocumentError, match=r"has 1\.0 MiB, more than the limit of 0\.5 MiB"):
        load(path, "c", max_bytes=2**19)


# Text handed in from Python is cleaned of what no database takes.
def test_from_text() -> None:
    document = from_text("a\ud800b \ud83d\ude00 c", "t\udcff", "c", "s\udc80")

    assert (document.text, document.title, document.source) == (
        "a\ufffdb 😀 c",
        "t\ufffd",
        "s\ufffd",
    )
    with pytest.raises(DocumentError, match="memory has no text in it"):
        from_text(" \n", "title", "c", "memory")
