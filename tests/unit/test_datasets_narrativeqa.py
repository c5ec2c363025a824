import json
from pathlib import Path

import pytest

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.load import data_files, load
from graphreader.evaluation.datasets.record import SourceText

DOCUMENTS = """\
document_id,set,kind,story_url,wiki_title
d1,test,gutenberg,http://example.org/1,The Lamp
d2,test,movie,http://example.org/2,Night Bus
d3,train,gutenberg,http://example.org/3,Old Book
"""
QUESTIONS = """\
document_id,set,question,answer1,answer2,question_tokenized
d3,train,Who?,Ann,Ann Lee,Who ?
d1,test,Who lit the lamp?,Bo,"Bo, the smith",Who lit ?
d2,test,Who drives?,Cy,Cy,Who drives ?
d1,test,Who left?,Di,,Who left ?
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "documents.csv").write_text(DOCUMENTS, encoding="utf-8")
    (tmp_path / "qaps.csv").write_text(QUESTIONS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def stories(folder: Path) -> Path:
    (folder / "tmp").mkdir()
    (folder / "tmp" / "d1.content").write_text("Bo lit the lamp.\n\nDi left.", encoding="utf-8")
    page = "<html><body><pre>INT. BUS\n\nCy drives.</pre></body></html>"
    (folder / "tmp" / "d2.content").write_text(page, encoding="utf-8")
    return folder


# Each question of the test set is a record with its story, books and scripts apart.
def test_the_published_folder(stories: Path) -> None:
    first, second, third = load(stories)

    assert first.id == "narrativeqa-d1-0"
    assert first.answers == ("Bo", "Bo, the smith")
    assert first.documents == (SourceText("The Lamp", "Bo lit the lamp.\n\nDi left."),)
    assert (first.subset, first.kind) == ("book", "story")
    assert (second.subset, second.answers) == ("script", ("Cy",))
    assert second.documents[0].text.split() == ["INT.", "BUS", "Cy", "drives."]
    assert (third.id, third.answers) == ("narrativeqa-d1-1", ("Di",))


# Questions on a story that could not be fetched are left out; the others keep their ids.
def test_a_story_that_is_missing(stories: Path) -> None:
    (stories / "tmp" / "d2.content").unlink()

    assert [record.id for record in load(stories)] == ["narrativeqa-d1-0", "narrativeqa-d1-1"]


# Where no story is there, the summaries of the repository are read.
def test_summaries(folder: Path) -> None:
    place = folder / "third_party" / "wikipedia"
    place.mkdir(parents=True)
    rows = 'document_id,set,summary\nd1,test,"Bo lights a lamp, Di goes."\nd2,test,A bus.\n'
    (place / "summaries.csv").write_text(rows, encoding="utf-8")
    records = load(folder)

    assert {record.kind for record in records} == {"summary"}
    assert records[0].documents[0].text == "Bo lights a lamp, Di goes."


# With neither stories nor summaries it is said how to get them.
def test_nothing_to_read(folder: Path) -> None:
    with pytest.raises(DatasetError, match=r"has no stories: fetch them with .*download_stories"):
        load(folder)


# A question on an unknown document is named with its line.
def test_an_unknown_document(stories: Path) -> None:
    with (stories / "qaps.csv").open("a", encoding="utf-8") as file:
        file.write("d9,test,Who?,Ann,Ann,Who ?\n")

    with pytest.raises(DatasetError, match=r'qaps.csv, line 6: documents.csv has no document "d9"'):
        load(stories)


# A download that is no text is left out like one that failed.
def test_a_story_that_is_no_text(stories: Path) -> None:
    (stories / "tmp" / "d2.content").write_bytes(bytes(range(256)) * 20)

    assert [record.id for record in load(stories)] == ["narrativeqa-d1-0", "narrativeqa-d1-1"]


# A table in another encoding is named.
def test_a_table_in_another_encoding(stories: Path) -> None:
    (stories / "qaps.csv").write_bytes(QUESTIONS.replace("Bo,", "B\xf6,").encode("latin-1"))

    with pytest.raises(DatasetError, match=r"qaps\.csv cannot be read"):
        load(stories)


# The folder counts as one data file, and a limit takes its first records.
def test_it_is_one_file(stories: Path) -> None:
    assert data_files(stories) == [stories]
    assert [record.id for record in load(stories, limit=2)] == [
        "narrativeqa-d1-0",
        "narrativeqa-d2-0",
    ]


# Rows as the `datasets` library has them become the same records.
def test_rows_of_the_library(tmp_path: Path) -> None:
    document = {
        "id": "d1",
        "kind": "movie",
        "text": "Cy drives.",
        "summary": {"text": "A bus.", "title": "Night Bus"},
    }
    row = {
        "document": document,
        "question": {"text": "Who drives?", "tokens": []},
        "answers": [{"text": "Cy", "tokens": []}, {"text": "Driver Cy", "tokens": []}],
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(row), encoding="utf-8")
    first, second = load(path)

    assert (first.id, second.id) == ("narrativeqa-d1-0", "narrativeqa-d1-1")
    assert first.documents == (SourceText("Night Bus", "Cy drives."),)
    assert (first.question, first.answers) == ("Who drives?", ("Cy", "Driver Cy"))
    assert first.subset == "script"
