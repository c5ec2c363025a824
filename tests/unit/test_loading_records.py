"""JSON is read as text."""

from graphreader.ingestion.loading.records import read_json


# JSON stays as it is, but that letters stand in place of their escapes.
def test_json() -> None:
    data = rb'{"name": "M\u00fcller \ud83d\ude00", "path": "C:\\u00e9", "odd": "\u0022 \ud800"}'
    text = read_json(data, "a.json").text

    assert text == r'{"name": "Müller 😀", "path": "C:\\u00e9", "odd": "\u0022 \ud800"}'
