"""PDF files for tests, made in code."""

import io
from collections.abc import Callable, Sequence

import pypdf
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
    PdfObject,
    StreamObject,
    TextStringObject,
)

FONTS = {"F": "Helvetica", "B": "Helvetica-Bold", "C": "Courier"}


def dictionary(**entries: PdfObject | str) -> DictionaryObject:
    """A dictionary, where a value that is a string is a name."""
    return DictionaryObject(
        {
            NameObject(f"/{key}"): NameObject(f"/{value}") if type(value) is str else value
            for key, value in entries.items()
        }
    )


def written(writer: pypdf.PdfWriter) -> bytes:
    data = io.BytesIO()
    writer.write(data)
    return data.getvalue()


def pdf(*pages: str, broken: Sequence[int] = (), outline: Sequence[tuple[str, int]] = ()) -> bytes:
    """Pages of one line each; the streams of those in `broken` cannot be decoded."""
    writer = pypdf.PdfWriter()
    for number, words in enumerate(pages, 1):
        add_page(writer, at(20, 200, words, 12), size=(300, 300), is_broken=number in broken)
    for title, number in outline:
        writer.add_outline_item(title, number - 1)
    about = {"/CreationDate": "Monday", "/Title": "untitled.doc", "/Author": "Vera Holm"}
    writer.add_metadata(about)
    return written(writer)


def drawn(*streams: str, change: Callable[[pypdf.PdfWriter], object] | None = None) -> bytes:
    """Pages of 600 to 800 points with these contents; `change` works on the writer."""
    writer = pypdf.PdfWriter()
    for stream in streams:
        add_page(writer, stream)
    if change:
        change(writer)
    return written(writer)


def add_page(
    writer: pypdf.PdfWriter,
    stream: str,
    size: tuple[int, int] = (600, 800),
    *,
    is_broken: bool = False,
) -> pypdf.PageObject:
    """Add a page with a content stream, which has the fonts F, B and C."""
    page = writer.add_blank_page(*size)
    contents = StreamObject()
    contents.set_data(stream.encode("cp1252"))
    if is_broken:
        contents[NameObject("/Filter")] = NameObject("/Unheard")
    page[NameObject("/Contents")] = writer._add_object(contents)
    fonts = {
        name: dictionary(Type="Font", Subtype="Type1", BaseFont=base, Encoding="WinAnsiEncoding")
        for name, base in FONTS.items()
    }
    page[NameObject("/Resources")] = dictionary(Font=dictionary(**fonts))
    return page


def at(x: float, y: float, words: str, size: float = 10, font: str = "F") -> str:
    """Words that begin at a place of the page."""
    escaped = words.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /{font} {size} Tf {x} {y} Td ({escaped}) Tj ET\n"


def lines(x: float, y: float, text: str, size: float = 10, leading: float = 12) -> str:
    """The lines of a text, one below the other."""
    return "".join(
        at(x, y - leading * number, line, size) for number, line in enumerate(text.split("\n"))
    )


def picture(writer: pypdf.PdfWriter, page: int, *placed: float) -> None:
    """Put a picture on a page: its width, height, left and bottom."""
    image = StreamObject()
    image.set_data(b"\x80")
    image.update(
        dictionary(
            Type="XObject",
            Subtype="Image",
            Width=NumberObject(1),
            Height=NumberObject(1),
            ColorSpace="DeviceGray",
            BitsPerComponent=NumberObject(8),
        )
    )
    one = writer.pages[page]
    resources = one["/Resources"]
    assert isinstance(resources, DictionaryObject)
    resources[NameObject("/XObject")] = dictionary(I=writer._add_object(image))
    width, height, left, bottom = placed
    contents = one["/Contents"].get_object()
    assert isinstance(contents, StreamObject)
    drawing = f"q {width} 0 0 {height} {left} {bottom} cm /I Do Q\n".encode()
    contents.set_data(contents.get_data() + drawing)


def annotate(
    writer: pypdf.PdfWriter, page: int, box: Sequence[float], **entries: PdfObject | str
) -> None:
    """Add an annotation to a page."""
    one = dictionary(
        Type="Annot", Rect=ArrayObject(map(FloatObject, box)), F=NumberObject(4), **entries
    )
    reference = writer._add_object(one)
    holder = writer.pages[page]
    holder.setdefault(NameObject("/Annots"), ArrayObject())
    annotations = holder["/Annots"]
    assert isinstance(annotations, ArrayObject)
    annotations.append(reference)
    if entries.get("Subtype") == "Widget":
        root = writer._root_object
        root.setdefault(NameObject("/AcroForm"), dictionary(Fields=ArrayObject()))
        form = root["/AcroForm"]
        assert isinstance(form, DictionaryObject)
        fields = form["/Fields"]
        assert isinstance(fields, ArrayObject)
        fields.append(reference)


def string(text: str) -> TextStringObject:
    """A string of a PDF."""
    return TextStringObject(text)
