"""Bytes become text, and metadata plain JSON values."""

import json
from typing import Any

import pytest

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import (
    MAX_CHARACTERS,
    document_of,
    from_text,
    join_parts,
    plain,
    read_text,
)


def decoded(data: bytes) -> Document:
    return document_of(read_text(data, "a.txt"), "a", "c", "/a.txt")


# Texts with mostly Chinese characters are marked as Chinese.
def test_language() -> None:
    assert decoded("却说唐太宗".encode()).language == "zh"
    assert decoded(b"Joan was born.").language == "en"


# A few NUL bytes become U+FFFD, one each, so that the spans still fit what others read.
def test_nul_bytes() -> None:
    document = decoded(b"Joan\0was born in\0Domremy.")

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
def test_encodings(text: str, encoding: str) -> None:
    document = decoded(f"{text}\r\n".encode(encoding))

    assert document.text == f"{text}\n"
    assert document.metadata == {"encoding": encoding}
    assert document.skipped == ()


# What is rare in a long text is recognized all the same.
def test_one_letter_in_a_long_text() -> None:
    text = "The quick brown fox jumps over the lazy dog.\n" * 5000 + "It’s a café.\n"

    assert decoded(text.encode("cp1252")).text == text


# A few broken bytes make no other encoding of a UTF-8 text; they are counted.
def test_broken_bytes() -> None:
    document = decoded(CHINESE.encode() + b" \xff\xfe.")

    assert document.text == f"{CHINESE} \ufffd\ufffd."
    assert [one.part for one in document.skipped] == ["2 bytes"]
    assert document.metadata == {}


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


# Parts are joined by blank lines; an empty one begins where the next one does.
def test_joined() -> None:
    assert join_parts(["", "ab", "", "c", ""]) == ("ab\n\nc", [0, 0, 4, 4, 5])
    assert join_parts(["", ""]) == ("", [0, 0])


class Odd:
    def __str__(self) -> str:
        return "odd"


# Metadata are plain JSON values, whatever they were.
@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (1.5, 1.5),
        (float("inf"), "inf"),
        (None, None),
        (True, True),
        ({1: (1, 2), "b": {"x"}}, {"1": [1, 2], "b": ["x"]}),
        (Odd(), "odd"),
        ("a\ud800\0", "a\ufffd\ufffd"),
    ],
)
def test_metadata(value: Any, kept: Any) -> None:
    assert plain({"key": value}) == ({"key": kept}, ())


# What is too large, too deep or endless is left out and named; the rest is kept.
def test_metadata_too_large() -> None:
    endless: list[Any] = []
    endless.append(endless)
    doubled: list[Any] = ["lol"]
    for _ in range(15):
        doubled = [doubled, doubled]
    found, left_out = plain(
        {"a": 1, "long": "x" * MAX_CHARACTERS, "endless": endless, "many": doubled, "b": "end"}
    )

    assert found == {"a": 1, "b": "end"}
    assert [one.part for one in left_out] == ["metadata long", "metadata endless", "metadata many"]
    assert len(json.dumps(plain({str(n): "x" * 90 for n in range(900)})[0])) < MAX_CHARACTERS + 99
