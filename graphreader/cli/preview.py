"""`graphreader preview`: what would be read of each file, without Neo4j or a model."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from graphreader.cli import options
from graphreader.cli.console import (
    literal,
    literal_line,
    plural,
    print_error,
    print_json,
    wide_console,
)
from graphreader.cli.startup import expand_paths

if TYPE_CHECKING:
    from graphreader.documents import Document

NotesOnly = Annotated[
    bool, options.flag("--notes", help="Print no texts, only sizes and what is left out.")
]


def preview(
    paths: options.Paths,
    include: options.Include,
    exclude: options.Exclude,
    follow_links: options.FollowLinks,
    name: options.StdinName = None,
    encoding: options.Encoding = None,
    allow_private: options.AllowPrivate = False,
    ocr: options.Ocr = False,
    ocr_languages: options.OcrLanguages = None,
    notes: NotesOnly = False,
    json: options.Json = False,
) -> None:
    """Print what would be read of files, page by page. No Neo4j and no model is needed.

    What is left out stands below each text, with its place.

    Examples:
        graphreader preview report.pdf
        graphreader preview letters/ --notes
        graphreader preview minutes.docx --json
    """
    from graphreader.ingestion.loading.content import Refused
    from graphreader.ingestion.preview import as_dict
    from graphreader.ingestion.preview import preview as read
    from graphreader.ingestion.report import unread_note

    unread = Counter[str]()
    refused, documents = [], []
    for one in read(
        *expand_paths(paths, name),
        include=include,
        exclude=exclude,
        follow_links=follow_links,
        id=name,
        encoding=encoding,
        allow_private=allow_private,
        ocr=ocr_languages or ocr,
        unread=unread,
    ):
        if isinstance(one, Refused):
            refused.append({"source": one.source, "reason": one.reason})
            if not json:
                print_error(one.reason)
        elif json:
            documents.append(as_dict(one))
        else:
            _print_document(one, with_text=not notes)
    left_out = [unread_note(unread)] if unread else []
    if json:
        print_json({"documents": documents, "refused": refused, "notes": left_out})
    else:
        for line in left_out:
            print_error(line)
    if refused:
        raise typer.Exit(2)


def _print_document(document: "Document", *, with_text: bool) -> None:
    from graphreader.ingestion.preview import parts_of

    file = document.source.rpartition("/")[2]
    title = literal_line(document.title, "bold")
    title.append(literal_line(f"  {file}, {_size(document)}", "not bold dim"))
    lines = [title]
    around = ""
    for place, text in parts_of(document) if with_text else ():
        shown = place.removeprefix(around)  # a further row of a sheet
        around = place[: place.rfind(", ") + 2] if ", " in place else ""
        lines += _part_lines(shown, text.strip("\n"))
    out = wide_console()
    for line in (*lines, *_notes(document), Text()):
        out.print(line, soft_wrap=not out.is_terminal)


def _part_lines(place: str, text: str) -> Iterator[Text]:
    """Yield a place and its text: a single line behind its place, more lines below it."""
    if place and "\n" not in text:
        yield literal_line(place, "cyan").append("  ").append(literal(text, "default"))
        return
    if place:
        yield literal_line(f"── {place} ──", "cyan")
    if text:
        yield literal(text)


def _size(document: "Document") -> str:
    words = [plural(len(document.text), "character")]
    if pages := len(document.page_starts):
        words.insert(0, plural(pages, "page"))
    if document.headings:
        words.append(plural(len(document.headings), "heading"))
    if document.date:
        words.append(document.date)
    if document.encoding:
        words.append(document.encoding)
    return ", ".join(words)


def _notes(document: "Document") -> Iterator[Text]:
    for note in document.notes:
        yield literal_line(note, "yellow")
    for part in document.skipped:
        yield literal_line(f"{part.part}: {part.reason}", "yellow")
