"""Files of text become documents."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import from_text
from graphreader.ingestion.loading.formats import load


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
@pytest.mark.parametrize("name", ["a.txt", "a.md"])
@pytest.mark.parametrize(
    "data",
    [
        b"a\r\nb\rc\nd",
        "\ufeffJoan of Arc\r\n".encode(),
        "却说唐太宗\u2028…😀\x0b\x85x".encode(),
        b"\r\r\n\n\rx",
        b"---\r\ntitle: x\r\n---\r\n# A #\r\n",
        "مرحبا بالعالم e\u0301 \u202eabc".encode(),
    ],
)
def test_text_is_what_open_reads(tmp_path: Path, name: str, data: bytes) -> None:
    path = write(tmp_path / name, data)

    assert load(path, "c").text == path.read_text(encoding="utf-8")


# Chinese texts are marked as such.
def test_language(tmp_path: Path) -> None:
    assert load(write(tmp_path / "a.txt", "却说唐太宗".encode()), "c").language == "zh"
    assert load(write(tmp_path / "b.txt"), "c").language == "en"


# A few NUL bytes become U+FFFD, one each, so that the spans still fit what others read.
def test_nul_bytes(tmp_path: Path) -> None:
    document = load(write(tmp_path / "a.txt", b"Joan\0was born in\0Domremy."), "c")

    assert document.text == "Joan\ufffdwas born in\ufffdDomremy."


FRENCH = "L'été dernier, nous avons visité le château près de la forêt, où l'évêque s'était caché."
CHINESE = "却说唐太宗随着崔判官、朱太尉，自脱了冤家债主，前进多时，却来到六道轮回之所。"
TRADITIONAL = "卻說唐太宗隨著崔判官、朱太尉，自脫了冤家債主，前進多時，卻來到六道輪迴之所。"
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
RUSSIAN = "Все счастливые семьи похожи друг на друга, каждая несчастлива по-своему."
POLISH = "Zażółć gęślą jaźń. Książka leży na stole, a świeca płonie."


# Encodings other than UTF-8 are recognized, and told in the metadata.
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("café noir", "cp1252"),
        ("“It’s fine,” she said — and smiled…", "cp1252"),
        (FRENCH, "cp1252"),
        (CHINESE, "gb18030"),
        ("你好世界", "gb18030"),
        (TRADITIONAL, "big5"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        ("나는 학교에 갑니다. 오늘은 날씨가 좋습니다.", "euc_kr"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (POLISH, "cp1250"),
        (FRENCH, "utf-16"),
        (CHINESE, "utf-16"),
        (FRENCH, "utf-32"),
        (FRENCH, "utf-16-le"),
        (FRENCH, "utf-16-be"),
    ],
)
def test_encodings(tmp_path: Path, text: str, encoding: str) -> None:
    document = load(write(tmp_path / "a.txt", f"{text}\r\n".encode(encoding)), "c")

    assert document.text == f"{text}\n"
    assert document.metadata == {"encoding": encoding}
    assert document.skipped == ()


# What is rare in a long text is recognized all the same.
def test_one_letter_in_a_long_text(tmp_path: Path) -> None:
    text = "The quick brown fox jumps over the lazy dog.\n" * 5000 + "It’s a café.\n"

    assert load(write(tmp_path / "a.txt", text.encode("cp1252")), "c").text == text


# A few broken bytes make no other encoding of a UTF-8 text; they are counted.
def test_broken_bytes(tmp_path: Path) -> None:
    document = load(write(tmp_path / "a.txt", CHINESE.encode() + b" \xff\xfe."), "c")

    assert document.text == f"{CHINESE} \ufffd\ufffd."
    assert [one.part for one in document.skipped] == ["2 bytes"]
    assert document.metadata == {}


# What is no text is refused with one sentence that names the file, the reason and the way out.
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"", "has no text in it"),
        ("a.txt", b" \n\t\n", "has no text in it"),
        ("a.txt", b"\xef\xbb\xbf\n", "has no text in it"),
        ("a.md", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\6\0\0\0", "is binary"),
        ("a.txt", sha256(b"x").digest() * 40, "is binary"),
        ("a.txt", b"\0" * 50, "is binary"),
        ("a.xyz", b"text", r"is not a \.docx, \.epub, .*\.txt or \.xhtml file"),
        ("a", b"text", "and no other is supported"),
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
    document = from_text("a\ud800b \ud83d\ude00 c\0", "t\udcff", "c", "s\udc80")

    assert (document.text, document.title, document.source) == (
        "a\ufffdb 😀 c\ufffd",
        "t\ufffd",
        "s\ufffd",
    )
    with pytest.raises(DocumentError, match="memory has no text in it"):
        from_text(" \n", "title", "c", "memory")
