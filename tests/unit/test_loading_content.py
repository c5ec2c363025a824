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
