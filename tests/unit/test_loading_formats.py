"""Files of each format become documents; bytes become text and metadata JSON."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from graphreader.documents import Document, Heading, Place
from graphreader.errors import DocumentError
from graphreader.ingestion.loading import archives, formats, parser_process
from graphreader.ingestion.loading.content import (
    MAX_CHARACTERS,
    Content,
    completed,
    document_of,
    from_text,
    plain,
    read_text,
)
from graphreader.ingestion.loading.epub import read_epub
from graphreader.ingestion.loading.formats import load
from graphreader.ingestion.loading.markdown import read_markdown
from tests.unit.loading import documents, reasons, without_root, write, zipped
from tests.unit.pdfs import pdf


# The id of a document comes from its corpus and its path with links resolved.
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


# The text is what open() reads: line ends are newlines, without byte order marks.
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt", b"a\r\nb\rc\nd"),
        ("a.md", "\ufeffJoan of Arc\r\n".encode()),
        ("a.txt", "却说唐太宗\u2028…😀\x0b\x85x".encode()),
    ],
)
def test_text_is_what_open_reads(tmp_path: Path, name: str, data: bytes) -> None:
    path = write(tmp_path / name, data)

    assert load(path, "c").text == path.read_text(encoding="utf-8-sig")


# What is no text is refused with one sentence that names the file and the reason.
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"\xef\xbb\xbf\n", "has no text in it"),
        ("a.txt", b"\0" * 50, "is binary"),
        ("a.xyz", b"text", r"is not a \.csv, .* or \.\w+ file"),
        ("a.html", b"\0\1\2\3" * 99, "is binary"),
    ],
)
def test_refused(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = write(tmp_path / name, data)
    with pytest.raises(DocumentError, match=message) as caught:
        load(path, "c")

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


# A path that cannot be read, or holds more than the limit, is refused with the reason.
def test_not_a_readable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_BYTES", 20)
    secret = write(tmp_path / "secret.txt")
    secret.chmod(0)
    os.mkfifo(tmp_path / "pipe.txt")
    for path, message in (
        (tmp_path / "missing.txt", "does not exist"),
        (tmp_path, "holds no .* file that is wanted"),
        (tmp_path / "pipe.txt", "is not a regular file"),
        (write(tmp_path / "large.txt", b"x" * 21), "more than the limit"),
    ):
        with pytest.raises(DocumentError, match=message):
            load(path, "c")
    with without_root(), pytest.raises(DocumentError, match=r"opened \(Permission denied\)"):
        load(secret, "c")
    assert load(write(tmp_path / "a.txt", b"x" * 20), "c").text == "x" * 20


DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"


def epub(
    pages: dict[str, str | bytes], order: Sequence[str], about: str = "", suffix: str = "xhtml"
) -> bytes:
    items = "".join(
        f'<item id="{name}" href="{name}.{suffix}" media-type="application/xhtml+xml"/>'
        for name in order
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in order)
    return zipped(
        **{
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": "<container><rootfiles>"
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": f'<package xmlns:dc="{DUBLIN_CORE}"><metadata>{about}</metadata>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{f"OEBPS/{name}.{suffix}": page for name, page in pages.items()},
        }
    )


# A book has its pages in reading order and headings at their positions; bad pages are skipped.
def test_epub() -> None:
    pages: dict[str, str | bytes] = {
        "one": "<html><head><title>p1</title></head><body><h1>One</h1><p>Text.</p></body></html>",
        "two": '<?xml version="1.0"?><html><body><h1>Two</h1>More.</body></html>',
        "empty": "<html><body><nav>contents</nav></body></html>",
        "noise": b"\x00\x01\x02" * 50,
    }
    about = (
        "<dc:title>The Book</dc:title><dc:creator>A</dc:creator><dc:creator>B</dc:creator>"
        "<dc:date>1899</dc:date>"
    )
    content = read_epub(epub(pages, ("two", "empty", "noise", "one", "gone"), about), "a.epub")

    assert content.text == "Two\n\nMore.\n\nOne\n\nText."
    assert content.headings == (Heading(0, "Two"), Heading(content.text.index("One"), "One"))
    assert content.title == "The Book"
    assert content.metadata == {"title": "The Book", "creator": ["A", "B"], "date": "1899"}
    assert [one.part for one in content.skipped] == ["OEBPS/noise.xhtml", "OEBPS/gone.xhtml"]


# A damaged file is refused in one sentence with the reason.
def test_unreadable(tmp_path: Path) -> None:
    for name, data, message in (
        ("a.pdf", b"no pdf", "cannot be read, it is damaged"),
        ("a.pdf", pdf("", ""), "no text, only pictures: read it with --ocr"),
        ("a.epub", zipped(mimetype="application/epub+zip"), "cannot be read, it is damaged"),
        ("a.epub", epub({"a": b"\0\1" * 99}, ["a"]), "no page that can be read"),
    ):
        (reason,) = reasons(write(tmp_path / name, data))

        assert re.search(message, reason)
        assert reason.startswith(str(tmp_path / name))
        assert "\n" not in reason
        assert not re.search("CRC|ecursion|zip|line 1|There is no item|StopIteration", reason)


# An archive that is too large when unpacked is refused before it is unpacked, and entities that
# stand for each other again and again are not expanded. Fonts and pictures are not counted, markup
# under any name is.
def test_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 100_000)
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    about = f'<!DOCTYPE x [<!ENTITY e0 "lol">{entities}]><container full-path="&e11;"/>'
    page = "<p>" + "x" * 60_000
    for read_book, data, message in (
        (read_epub, epub({"a": page + page}, ["a"]), "when it is unpacked"),
        (read_epub, epub({"a": page, "b": page}, ["a", "b"], suffix="bin"), "it is unpacked"),
        (read_epub, epub({"a": page[3:] * 2}, ["a"], suffix="bin"), "when it is unpacked"),
        (read_epub, zipped(**{"META-INF/container.xml": about}), "amplification"),
    ):
        with pytest.raises(Exception, match=message):
            read_book(data, "a")
    once = epub({"a": page}, ["a"] * 100, suffix="bin")
    assert len(read_epub(once, "a.epub").text) == 60_000


# A file on which a parser stalls, or that takes too much memory, is refused in time; the next one
# is read, by a process without the environment.
def test_parser_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    for body, message in (
        ("import time; time.sleep(600)", "more than 1 s"),
        ("bytes(4 * 2**30)", "GiB of memory"),
        ("import os; raise formats.DocumentError(os.environ.get('OPENAI_API_KEY'))", "None"),
        ("import os; os._exit(1)", "or its parser fails"),
        ("return formats.READERS['.txt'](data, shown)", ""),
    ):
        program = (
            f"from graphreader.ingestion.loading import formats, parser_process\n"
            f"def read(data, shown):\n    {body}\nparser_process.serve({{'.x': read}})"
        )
        monkeypatch.setattr(parser_process, "_PROGRAM", program)
        monkeypatch.setattr(parser_process, "MAX_SECONDS", 1.0 if "sleep" in body else 60.0)
        parser = parser_process.ParserProcess()
        try:
            if message:
                with pytest.raises(DocumentError, match=message):
                    parser.parse(".x", b"Joan.", "a.x")
            else:
                assert parser.parse(".x", b"Joan.", "a.x").text == "Joan."
        finally:
            parser.close()


# A file that controls its parser can end it, but gives neither half a text nor the reply to another
# file.
@pytest.mark.parametrize(
    "reply",
    [
        '{"bytes": 1000, "title": "", "metadata": {}, "places": [], "headings": [], '
        '"skipped": []}\\nonly this',
        '{"bytes": -1}\\n',
        '{"bytes": 10000000000000}\\n',
        "{}\\n",
        "null\\n",
        "[" * 9_999 + "\\n",
        "",
    ],
)
def test_false_replies(monkeypatch: pytest.MonkeyPatch, reply: str) -> None:
    program = (
        "import os; from graphreader.ingestion.loading import formats, parser_process\n"
        "def read(data, shown):\n"
        f"    if data == b'attack': os.write(1, b'{reply}'), os._exit(0)\n"
        "    return formats.READERS['.txt'](data, shown)\n"
        "parser_process.serve({'.x': read})"
    )
    monkeypatch.setattr(parser_process, "_PROGRAM", program)
    parser = parser_process.ParserProcess()
    try:
        with pytest.raises(DocumentError, match="or its parser fails"):
            parser.parse(".x", b"attack", "a.x")
        assert parser.parse(".x", b"Joan.", "a.x").text == "Joan."
    finally:
        parser.close()


# Metadata of any type come from the process as they would from the parser itself.
def test_metadata_of_any_type(tmp_path: Path) -> None:
    front = "---\n2021-05-03: opened\ndate: 2021-05-03 10:15:00\nset: !!set {b, a}\n---\n\nText."
    document = load(write(tmp_path / "a.md", front.encode()), "c")

    assert document.metadata == {
        **{"2021-05-03": "opened", "date": "2021-05-03 10:15:00", "set": {"a": "", "b": ""}}
    }


# MDX is Markdown, whose imports at the top are no text.
def test_mdx(tmp_path: Path) -> None:
    page = b"---\ntitle: Locks\n---\nimport N from 'n'\n\n# Keys\n\n<N>Oil it.</N>\n"
    (document,) = documents(write(tmp_path / "a.mdx", page))

    assert (document.title, document.text) == ("Locks", "# Keys\n\n<N>Oil it.</N>\n")
    assert [one.title for one in document.headings] == ["Keys"]


# A process that ended between two files, for example by Control-C, is replaced.
def test_parser_process_ended() -> None:
    parser = parser_process.ParserProcess()
    try:
        first = parser.parse(".html", b"<p>Joan.", "a.html")
        assert parser._process
        parser._process.kill()
        parser._process.wait()
        assert parser.parse(".html", b"<p>Joan.", "a.html") == first
    finally:
        parser.close()


# A process has no alarm left after a file, so that it waits for the next one without end.
@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="Windows has no alarms")
def test_parser_process_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import signal; from graphreader.ingestion.loading import formats, parser_process\n"
        "alarm = signal.alarm; signal.alarm = lambda seconds: alarm(min(seconds, 1))\n"
        "parser_process.serve(formats.READERS)"
    )
    monkeypatch.setattr(parser_process, "_PROGRAM", program)
    parser = parser_process.ParserProcess()
    try:
        parser.parse(".txt", b"Joan.", "a.txt")
        assert parser._process
        with pytest.raises(subprocess.TimeoutExpired):
            parser._process.wait(1.5)
    finally:
        parser.close()


def objects(*bodies: str) -> bytes:
    """A PDF of these objects, the first of which is its root."""
    data, starts = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(bodies, 1):
        starts.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{start:010d} 00000 n \n" for start in starts)
    return (
        data
        + (
            f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n{table}trailer\n"
            f"<</Size {len(bodies) + 1}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF"
        ).encode()
    )


ROOT = "<</Type/Catalog/Pages 2 0 R>>"


# Structures that contain themselves, are nested without end, or lie about their size are refused
# within seconds.
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", objects(ROOT, "<</Type/Pages/Count 1/Kids[2 0 R]>>")),
        ("a.pdf", objects(ROOT, "<</Type/Pages/Count 2000000000/Kids[]>>")),
        ("a.pdf", objects("1 0 R")),
        ("a.pdf", objects(ROOT, "[" * 50_000 + "]" * 50_000)),
    ],
    ids=["own-page", "many-pages", "own-root", "deep-pdf"],
)
def test_malicious_structures(tmp_path: Path, name: str, data: bytes) -> None:
    start = time.monotonic()
    (reason,) = reasons(write(tmp_path / name, data))

    assert time.monotonic() - start < 50  # less than the process may take
    assert re.search("damaged|no text|no page", reason)


# A title, which Neo4j indexes, is cut and has no escapes; a source as long is refused.
def test_long_names() -> None:
    document = from_text("Joan.", "\x1b[31m\u202eJo\nan" + "x" * 55_000, "c", "/a.txt")

    assert document.title == "[31mJo an" + "x" * 291
    with pytest.raises(DocumentError, match="shorter"):
        from_text("Joan.", "Joan", "c", "x" * 55_000)


FRENCH = "L'été dernier, nous avons visité le château près de la forêt, où l'évêque s'était caché."
CHINESE = "却说唐太宗随着崔判官、朱太尉，自脱了冤家债主，前进多时，却来到六道轮回之所。"
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
RUSSIAN = "Все счастливые семьи похожи друг на друга, каждая несчастлива по-своему."


def decoded(data: bytes) -> Document:
    return document_of(completed(read_text(data, "a.txt")), "a", "c", "/a.txt")


# Encodings other than UTF-8 are recognized and kept with the document.
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("café noir", "cp1252"),
        ("“It’s fine,” she said — and smiled…", "cp1252"),
        ("The quick brown fox jumps over the lazy dog.\n" * 5000 + "It’s a café.", "cp1252"),
        (CHINESE, "gb18030"),
        ("卻說唐太宗隨著崔判官、朱太尉，自脫了冤家債主，前進多時，卻來到六道輪迴之所。", "big5"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        ("나는 학교에 갑니다. 오늘은 날씨가 좋습니다.", "cp949"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        ("Zażółć gęślą jaźń. Książka leży na stole, a świeca płonie.", "cp1250"),
        (FRENCH, "utf-16"),
        (CHINESE, "utf-16"),
        (FRENCH, "utf-32"),
    ],
)
def test_encodings(text: str, encoding: str) -> None:
    document = decoded(f"{text}\r\n".encode(encoding))

    assert document.text == f"{text}\n"
    assert (document.encoding, document.metadata) == (encoding, {})
    assert document.skipped == ()


# A few broken bytes make no other encoding of a UTF-8 text; they are counted.
def test_broken_bytes() -> None:
    document = decoded(CHINESE.encode() + b" \xff\xfe.\0")

    assert document.text == f"{CHINESE} \ufffd\ufffd.\ufffd"
    assert [one.part for one in document.skipped] == ["2 characters"]
    assert document.encoding == ""


# Byte order marks anywhere are left out, and headings and pages stay at their places; what a
# terminal does not show is no text.
def test_invisible_characters() -> None:
    joined = "\ufeff# One\nText.\n\ufeff# Two\nOs\ufefflo.\n".encode()
    document = document_of(completed(read_markdown(joined, "a.md")), "a", "c", "/a.md")
    pages = Content("a\ufeffb\n\n\ufeffc", places=Place.pages((0, 5)), headings=(Heading(5, "c"),))
    paged = document_of(completed(pages), "a", "c", "/a.pdf")

    assert document.text == "# One\nText.\n# Two\nOslo.\n"
    assert [document.text[one.start :][:5] for one in document.headings] == ["# One", "# Two"]
    assert (paged.text, [one.start for one in paged.places]) == ("ab\n\nc", [0, 4])
    assert paged.headings == (Heading(4, "c"),)
    terminal = (
        b"\x1b[1;31mError\x1b[0m in \x1b]8;;a.b\x1b\\line\x1b]8;;\x1b\\ 3\nN\x08NA\x08A _\x08b"
    )
    assert read_text(terminal, "a.log").text == "Error in line 3\nNA b"


# An encoding that the user names goes before all but marks and declarations; what it cannot decode
# is counted, and the note about an unsure guess names the option.
def test_named_encoding(tmp_path: Path) -> None:
    text = "Książka leży na stole, a świeca płonie. Łódź."
    polish = write(tmp_path / "a.txt", text.encode("cp1250"))
    page = write(tmp_path / "a.html", f"<p>{text}".encode("iso8859-2"))
    declared = write(
        tmp_path / "b.html", f'<meta charset="iso-8859-2"><p>{text}'.encode("iso8859-2")
    )
    marked = write(tmp_path / "b.txt", text.encode("utf-8-sig"))
    plain = write(tmp_path / "c.txt", text.encode())

    assert load(polish, "c", encoding="cp1250").text == text
    assert load(polish, "c", encoding="cp1251").text == text.encode("cp1250").decode("cp1251")
    assert load(page, "c", encoding="iso8859-2").text == text
    assert load(declared, "c", encoding="cp1251").text == text
    assert load(marked, "c", encoding="cp1251").text == text
    assert load(plain, "c", encoding="cp1251").encoding == "cp1251"
    lossy = load(polish, "c", encoding="utf-8")
    assert lossy.encoding == ""
    assert lossy.text.count("\ufffd") == 8
    assert [one.part for one in lossy.skipped] == ["8 characters"]
    assert "--encoding NAME" in lossy.skipped[0].reason
    (note,) = load(write(tmp_path / "d.txt", "%d selectat(ă)".encode("cp1250")), "c").notes
    assert "is unsure" in note
    assert "--encoding NAME" in note


# Text from Python is cleaned of what a database cannot store, each character by one.
def test_from_text() -> None:
    document = from_text("a\ud800b \ud83d\ude00 c\0", "t\udcff", "c", "s\udc80")

    assert (document.text, document.title, document.source) == (
        "a\ufffdb 😀 c\ufffd",
        "t\ufffd",
        "s\ufffd",
    )
    with pytest.raises(DocumentError, match="memory has no text in it"):
        from_text(" \n", "title", "c", "memory")


# Metadata become plain JSON values. What is too large, endless or no JSON is left out and named.
def test_metadata() -> None:
    endless: list[Any] = []
    endless.append(endless)
    good = {
        **{"number": float("inf"), "map": {1: (1.5, None), "b": {"x"}}, "odd": ValueError("odd")},
        **{"text": "a\ud800", "date": date(2026, 1, 2), "days": [{date(2026, 1, 2): "a"}]},
    }
    bad = {"long": "x" * MAX_CHARACTERS, "endless": endless}
    kept, left_out = plain({**bad, **good})

    assert kept == {
        **{"number": "Infinity", "map": {"1": [1.5, None], "b": ["x"]}, "odd": "odd"},
        **{"text": "a\ufffd", "date": "2026-01-02", "days": [{"2026-01-02": "a"}]},
    }
    assert [one.part for one in left_out] == [f"metadata {name}" for name in bad]
