"""The context of chunks in their document: headings, speakers, times, and what prompts show."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphreader.documents import AtomicFact, Chunk, Document
from graphreader.ingestion.chunking import split
from graphreader.ingestion.context import NAMES_TOKENS, DocumentContext
from graphreader.ingestion.loading.content import completed
from graphreader.ingestion.loading.content import document_of as content_document
from graphreader.ingestion.loading.markdown import read_markdown
from graphreader.tokens import count

DIALOGUE = """# Conversation on 16 June 2023

Anna: I moved to Lyon in 2019.

Ben: Lyon is a fine city. I was there last week.

Anna: You must come again.

Ben: I will.

# Conversation on 2 July

Anna: The flat is sold.

Ben: For how much?

Anna: For 200,000 euros.
"""

REPORT = """# Annual report of the Crown Prosecution Service (CPS)

The Crown Prosecution Service (CPS) was led by Marcia McHenry.

## 2020

### Revenue

It was 3.1 million. McHenry was content.

### Costs

| item | cost |
| --- | --- |
| rent | 100 |
| staff | 900 |

## 2021

### Revenue

It was 4 million, after 3.1 million in 2020. The CPS grew.
"""


def document_of(text: str, metadata: Mapping[str, Any] | None = None) -> Document:
    content = completed(read_markdown(text.encode(), "note.md"))
    return replace(
        content_document(content, "note", "demo", "/notes/note.md"), metadata=metadata or {}
    )


def placed(document: Document, words: str, fact: str = "", chunk_start: int = 0) -> AtomicFact:
    """The fact that rests on some words, in a chunk that begins at `chunk_start`."""
    start = document.text.index(words) - chunk_start
    chunk = Chunk("c", 0, document.title, document.id, chunk_start, 9999, "", 0)
    context = DocumentContext(document, for_model=False)
    return context.placed(AtomicFact("f", chunk, 0, fact or words, (), start, start + len(words)))


# A fact of a dialogue has the speaker of its turn, and the day of the heading above it.
def test_speakers_and_days() -> None:
    document = document_of(DIALOGUE)
    fine, sold = placed(document, "Lyon is a fine city."), placed(document, "The flat is sold.")

    assert (fine.speaker, fine.when) == ("Ben", "2023-06-16")
    assert fine.attributed == "Ben, 2023-06-16: Lyon is a fine city."
    assert (sold.speaker, sold.when) == ("Anna", "2023-07-02")
    assert sold.heading == "Conversation on 2 July"


# The time in a fact's own words counts, and is not repeated; a time that only its sentences name
# may belong to another fact of theirs.
def test_own_times() -> None:
    document = document_of(DIALOGUE)
    moved = placed(document, "I moved to Lyon in 2019.", "Anna moved to Lyon in 2019.")
    short = placed(document, "I moved to Lyon in 2019.", "Anna moved to Lyon.")

    century = replace(moved, text="It was built in the 15th century.", when="1401/1500")
    assert century.attributed == "Anna: It was built in the 15th century."
    assert (moved.speaker, moved.when) == ("Anna", "2019")
    assert moved.attributed == "Anna moved to Lyon in 2019."
    assert (short.when, short.attributed) == ("", "Anna moved to Lyon.")


# A fact from a question and its answer has the speaker of the answer.
def test_speaker_of_an_answer() -> None:
    document = document_of(DIALOGUE)
    words = "Ben: For how much?\n\nAnna: For 200,000 euros."

    assert placed(document, words, "It was sold for 200,000 euros.").speaker == "Anna"


# A fact from a statement and the answer to it has the speaker of the statement.
def test_speaker_of_a_statement() -> None:
    document = document_of(
        "Ann: The case is too round.\n\nBen: Yes.\n\nAnn: Then we change it.\n\nBen: Good."
    )
    words = "Ann: The case is too round.\n\nBen: Yes."

    assert placed(document, words, "The case is too round.").speaker == "Ann"


# Several times in a fact are no one time, and no heading's time takes their place.
def test_several_times() -> None:
    document = document_of(REPORT)
    grown = placed(document, "It was 4 million, after 3.1 million in 2020.")
    both = placed(document, "The CPS grew.", "The CPS was small in 2019 and large in 2021.")

    assert (grown.heading, grown.when) == ("Revenue", "2020")
    assert both.when == ""
    assert placed(document, "The CPS grew.").when == "2021"


# The date of a document counts only where somebody speaks: a page about history has a date, too.
def test_dates_of_documents() -> None:
    chat = document_of("Ann: Yes, I do.\n\nBob: So do I.\n\n" * 4, {"date": "2024-05-03"})
    page = document_of("Joan of Arc was a saint. She rode to Chinon.", {"date": "2024-05-03"})

    assert placed(chat, "Yes, I do.").when == "2024-05-03"
    assert placed(page, "She rode to Chinon.").when == ""


# A heading above the chunk belongs to the chunk's path, one in the chunk to the facts below it.
def test_headings_of_facts() -> None:
    document = document_of(REPORT)
    start = document.text.index("It was 3.1 million")

    assert placed(document, "McHenry was content.").heading == "Revenue"
    assert placed(document, "McHenry was content.", chunk_start=start).heading == ""
    title = "Annual report of the Crown Prosecution Service (CPS)"
    assert [chunk.heading_path for chunk in split(document, 40)] == [
        (),
        (title,),
        (title, "2020", "Costs"),
        (title,),
    ]


# A fact without known sentences stays as it is.
def test_unknown_sentences() -> None:
    fact = AtomicFact("f", Chunk("c", 0, "t", "d", 0, 9, "", 0), 0, "It was 1920.")

    assert DocumentContext(document_of(DIALOGUE)).placed(fact) is fact


# A prompt shows the headings over a chunk, the sentences before it, the header row of a table that
# goes on, and short names with their full names, if the chunk lacks these.
def test_shown() -> None:
    document = document_of(REPORT)
    context, text = DocumentContext(document), document.text
    revenue, row = text.index("It was 4 million"), text.index("| staff")

    assert context.title == "Annual report of the Crown Prosecution Service (CPS)"
    assert context.shown(revenue, len(text)).splitlines() == [
        "Date: 2021",
        "Section: 2021 › Revenue",
        "Names: CPS = Crown Prosecution Service",
    ]
    assert "Header of the table: | item | cost |" in context.shown(row, row + 20).splitlines()
    content = text.index("McHenry was content")
    assert "Right before: It was 3.1 million." in context.shown(content, content + 20)
    assert context.shown(0, text.index("## 2020")) == ""
    assert DocumentContext(document, for_model=False).shown(revenue, len(text)) == ""


# A chunk that begins within a turn is shown its speaker; the list of names is bounded.
def test_turns_and_many_names() -> None:
    chat = document_of(DIALOGUE.replace("I was there", "Rain. " * 200 + "I was there"))
    start = chat.text.index("I was there")
    people = [f"Ada{a}{b} Holm{b}{a}" for a in "bcdfghklmn" for b in "bcdfghklmn"]
    crowd = document_of("\n".join(f"{one} met us. {one.split()[1]} spoke." for one in people) * 2)

    assert "It begins in a turn of: Ben" in DocumentContext(chat).shown(start, len(chat.text))
    end = len(crowd.text)
    shown = DocumentContext(crowd).shown(end - 30, end)
    assert count(shown) < NAMES_TOKENS + 200


# The title of the metadata goes before a heading, a heading before the name of the file.
def test_titles() -> None:
    assert DocumentContext(document_of(REPORT, {"title": "CPS 2021"})).title == "CPS 2021"
    assert DocumentContext(document_of("Plain words. No heading.")).title == "note"
