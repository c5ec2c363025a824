"""The encoding of plain texts: by marks, by declaration, and by the look of the letters."""

import pytest

from graphreader.errors import UsageError
from graphreader.ingestion.loading.encodings import (
    BinaryDataError,
    Decoded,
    decode,
    decode_as,
    known_encoding,
)

TEXTS = {
    "Czech": ("Na úsvitě šel mlynář přes řeku a zpíval.", "cp1250 iso8859-2"),
    "Polish": ("Młynarz sprzedał łąkę i poszedł do Łodzi.", "cp1250 iso8859-2"),
    "Hungarian": ("A molnár eladta a földjét, és elment a városba, hogy könyvet vegyen.", "cp1250"),
    "Romanian": ("Morarul a vândut pământul şi a plecat în oraş.", "cp1250 iso8859-2"),
    "Russian": ("Мельник продал землю и уехал в город.", "cp1251 koi8-r iso8859-5 cp866"),
    "Ukrainian": ("Мірошник продав свою землю та поїхав до міста.", "koi8-u cp1251"),
    "Bulgarian": ("Мелничарят продаде земята си и замина за града.", "cp1251"),
    "Greek": ("Ο μυλωνάς πούλησε τη γη του και πήγε στην πόλη.", "cp1253 iso8859-7"),
    "Hebrew": ("הטוחן מכר את אדמתו והלך אל העיר הגדולה.", "cp1255 iso8859-8"),
    "Arabic": ("باع الطحان أرضه وذهب إلى المدينة الكبيرة.", "cp1256 iso8859-6"),
    "Turkish": ("Değirmenci toprağını sattı ve şehre gitti, çünkü yaşlıydı.", "cp1254"),
    "Lithuanian": ("Šis žmogus ėjo į mišką ir šaukė, kad jūra yra žalia.", "cp1257"),
    "Thai": ("คนโม่แป้งขายที่ดินแล้วเดินทางไปเมือง", "tis-620"),
    "Japanese": ("粉屋は土地を売って、町へ出かけた。", "cp932 euc_jp iso2022_jp"),
    "Korean": ("방앗간 주인은 땅을 팔고 도시로 떠났다.", "cp949"),
    "Chinese": ("磨坊主卖掉了土地，到城里去了。", "gb18030"),
    "Taiwanese": ("磨坊主賣掉了土地，到城裡去了。", "big5"),
    "French": ("Le meunier, âgé, a vendu sa forêt à son frère aîné.", "cp1252 mac-roman"),
    "German": ("Der Müller verkaufte die Wiese für fünf Gulden – „billig“, sagte er.", "cp1252"),
    "Swedish": ("Mjölnaren sålde ängen och gick över ån till bäcken.", "cp1252"),
    "Portuguese": ("O moleiro não vendeu o chão à irmã, João.", "cp1252"),
    "English": ("It’s only a café; the mill cost €5, he said.", "cp1252"),
    "degrees": ("At 10 °C the mill stood still.", "cp1252"),
    "wide": ("The miller sold the field in 1931.", "utf-16-le utf-16-be utf-32-le utf-32-be"),
}
CASES = [(text, name) for text, names in TEXTS.values() for name in names.split()]


# A sentence, and a longer text, in each encoding that languages were written in.
@pytest.mark.parametrize("times", [1, 40])
@pytest.mark.parametrize(("text", "encoding"), CASES, ids=[name for _, name in CASES])
def test_encodings(text: str, encoding: str, times: int) -> None:
    data = ((text + "\n") * times).encode(encoding)

    assert decode(data).text == data.decode(encoding)


# One broken byte changes no guess, and is counted.
@pytest.mark.parametrize("encoding", ["gb18030", "big5", "cp932", "euc_jp", "cp949"])
def test_a_broken_byte(encoding: str) -> None:
    text, _ = next(pair for pair in TEXTS.values() if encoding in pair[1])
    data = (text * 20).encode(encoding)
    broken = data[:60] + b"\xff" + data[60:]
    decoded = decode(broken)

    assert decoded.text.replace("\ufffd", "")[-200:] == (text * 20)[-200:]
    assert decoded.lost <= 3  # CP 932 has a character for it


# A declared encoding goes before the look of the letters, unless it cannot be the right one.
@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("ISO-8859-2", "iso8859-2"),
        ("utf-16", "cp1250"),
        ("klingon", "cp1250"),
        ("base64", "cp1250"),
    ],
)
def test_declared(declared: str, encoding: str) -> None:
    text = "Młynarz sprzedał łąkę i poszedł do Łodzi."
    data = text.encode("iso8859-2" if encoding == "iso8859-2" else "cp1250")

    assert decode(data, declared).encoding == encoding
    assert decode(data, declared).text == text


# Letters far behind the beginning of a long line count, as do wide texts of any look; quotation
# marks and dashes around few letters do not mislead.
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("a word " * 9_000 + "été à Paris où il était né, la fenêtre", "cp1252"),
        ("A title of one line", "utf-16-be"),
        ("Привет мир, это текст", "utf-16-be"),
        ("Hello wor\xadld, this", "utf-16-le"),
        ("a b " * 6_249 + "abc\U0001f600 x", "utf-16-le"),
        ("你好，世界，这是一个文本。", "utf-16-be"),
        ("Les élèves étaient très fâchés.", "cp1252"),
        ("50 °C", "cp1252"),
        ("Café", "cp1252"),
        ("Renée quitta l’hôpital – « déjà » guérie.\n" * 30, "cp1252"),
        ("«Sì, è là» – rispose. «Perché?»\n" * 30, "cp1252"),
        ("Isn’t it “hot”…\n", "cp1252"),
        ("Isn’t it “hot”…\n", "mac-roman"),
        ("L’âne, à Sète, « ça m’a plu » – voilà.", "mac-roman"),
        ("Šárka Žáková šla domů, žába v rybníce.", "iso8859-2"),
    ],
)
def test_rare(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


# One broken byte makes no other encoding of one byte a letter, either.
@pytest.mark.parametrize("byte", [b"\x81", b"\x90", b"\x98", b"\xff"])
@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        *(("Polish", "cp1250"), ("Czech", "cp1250"), ("Russian", "cp1251"), ("Greek", "cp1253")),
        *(("Hebrew", "cp1255"), ("Thai", "tis-620"), ("French", "cp1252")),
    ],
)
def test_a_broken_byte_among_letters(language: str, encoding: str, byte: bytes) -> None:
    data = TEXTS[language][0].encode(encoding) * 20
    decoded = decode(data[:61] + byte + data[61:])

    assert decoded.text[-400:] == data.decode(encoding)[-400:]


# Lines in another encoding within a text in UTF-8 are decoded by themselves.
@pytest.mark.parametrize("lines", [1, 5])
def test_mixed(lines: int) -> None:
    polish, czech = "Młynarz sprzedał łąkę.\n", "Gdzie są żółte łąki mojego dziadka?\n"
    decoded = decode(polish.encode() * 5 + czech.encode("cp1250") * lines + polish.encode())

    assert decoded == Decoded(polish * 5 + czech * lines + polish, "utf-8 and cp1250", 0, True)


# A text with the mark of UTF-8 is in UTF-8, whatever bytes follow.
def test_broken_after_a_mark() -> None:
    data = b"\xef\xbb\xbfThe mill.\nThe caf\xe9.\n"

    assert decode(data) == Decoded("The mill.\nThe caf\ufffd.\n", "utf-8", 1)


# A guess by few letters is unsure, one by many letters is not.
@pytest.mark.parametrize(
    ("data", "unsure"),
    [
        ("Città.".encode("cp1252"), True),
        ("Город".encode("cp1251"), True),
        ("Ärger über Öl und Süßes für Jürgen Müller.".encode("cp1252"), False),
        ("Mjölnaren sålde ängen och gick över ån till bäcken.".encode("cp1252"), False),
        ("Мельник продал землю и уехал в город. ".encode("koi8-r") * 9, False),
    ],
)
def test_unsure(data: bytes, unsure: bool) -> None:
    assert decode(data).unsure == unsure


# The encoding that a user names is known by any usual name, and holds unless the text has a mark.
def test_named() -> None:
    assert known_encoding("Latin-2") == known_encoding("iso8859-2") == "iso8859-2"
    assert known_encoding(" x-mac-cyrillic") == "mac-cyrillic"
    for name in ("klingon", "", "base64", "idna", "utf8\0"):
        with pytest.raises(UsageError, match="is no encoding"):
            known_encoding(name)
    assert decode_as("Łódź".encode("iso8859-2"), "iso8859-2") == Decoded("Łódź", "iso8859-2")
    assert decode_as("“Café”".encode("cp1252"), known_encoding("latin-1")).text == "“Café”"
    assert decode_as("Łódź".encode("utf-8-sig"), "cp1250") == Decoded("Łódź", "utf-8")
    with pytest.raises(BinaryDataError):
        decode_as(bytes(99), "cp1250")


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 8, b"\x89PNG\r\n" + bytes(400), bytes(99), b"\xff\x1b$B" * 90 + bytes(99)],
)
def test_binary(data: bytes) -> None:
    with pytest.raises(BinaryDataError):
        decode(data)
