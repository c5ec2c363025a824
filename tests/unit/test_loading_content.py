"""Bytes become text, and metadata plain JSON values."""

from datetime import date
from typing import Any

import pytest

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import (
    MAX_CHARACTERS,
    document_of,
    from_text,
    plain,
    read_text,
)

FRENCH = "L'été dernier, nous avons visité le château près de la forêt, où l'évêque s'était caché."
CHINESE = "却说唐太宗随着崔判官、朱太尉，自脱了冤家债主，前进多时，却来到六道轮回之所。"
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
RUSSIAN = "Все счастливые семьи похожи друг на друга, каждая несчастлива по-своему."


def decoded(data: bytes) -> Document:
    return document_of(read_text(data, "a.txt"), "a", "c", "/a.txt")


# Encodings other than UTF-8 are recognized and named in the metadata.
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("café noir", "cp1252"),
        ("“It’s fine,” she said — and smiled…", "cp1252"),
        ("The quick brown fox jumps over the lazy dog.\n" * 5000 + "It’s a café.", "cp1252"),
        (CHINESE, "gb18030"),
        ("你好世界", "gb18030"),
        ("卻說唐太宗隨著崔判官、朱太尉，自脫了冤家債主，前進多時，卻來到六道輪迴之所。", "big5"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        ("나는 학교에 갑니다. 오늘은 날씨가 좋습니다.", "euc_kr"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        ("Zażółć gęślą jaźń. Książka leży na stole, a świeca płonie.", "cp1250"),
        (FRENCH, "utf-16"),
        (CHINESE, "utf-16"),
        (FRENCH, "utf-32"),
        (FRENCH, "utf-16-le"),
        (FRENCH, "utf-16-be"),
    ],
)
def test_encodings(text: str, encoding: str) -> None:
    document = decoded(f"{text}\r\n".encode(encoding))

    assert document.text == f"{text}\n"
    assert document.metadata == {"encoding": encoding}
    assert document.skipped == ()


# A few broken bytes make no other encoding of a UTF-8 text; they are counted.
def test_broken_bytes() -> None:
    document = decoded(CHINESE.encode() + b" \xff\xfe.\0")

    assert document.text == f"{CHINESE} \ufffd\ufffd.\ufffd"
    assert [one.part for one in document.skipped] == ["2 bytes"]
    assert document.metadata == {}


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


def nested(levels: int) -> Any:
    """A value inside of so many lists."""
    return [nested(levels - 1)] if levels else "value"


# Metadata become plain JSON values, whatever they were.
@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (float("inf"), "Infinity"),
        ({1: (1.5, None), "b": {"x"}}, {"1": [1.5, None], "b": ["x"]}),
        (ValueError("odd"), "odd"),
        ("a\ud800", "a\ufffd"),
        ({date(2026, 1, 2): "a\0", ("\0",): "b"}, {"2026-01-02": "a\ufffd", "('\\x00',)": "b"}),
        ({"\0": "\\0"}, {"\ufffd": "\\0"}),
        (nested(20), nested(20)),
    ],
)
def test_metadata(value: Any, kept: Any) -> None:
    assert plain({"key": value}) == ({"key": kept}, ())


# A value that is too large, too deep or endless is left out and named; the rest is kept.
def test_metadata_too_large() -> None:
    endless: list[Any] = []
    endless.append(endless)
    doubled: list[Any] = ["lol"]
    for _ in range(40):
        doubled = [doubled, doubled]
    wide: list[Any] = [list(range(10))]
    for _ in range(18):
        wide = [wide] * 10
    values = {
        **{"long": "x" * MAX_CHARACTERS, "endless": endless, "many": doubled, "wide": wide},
        **{"deep": nested(900), "deeper": nested(21), "number": 10**5000},
    }
    kept, left_out = plain({"a": 1, **values, "b": "end"})

    assert kept == {"a": 1, "b": "end"}
    assert [one.part for one in left_out] == [f"metadata {name}" for name in values]
