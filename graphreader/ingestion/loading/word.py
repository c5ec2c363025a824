"""The parser of Word documents (.docx)."""

from io import BytesIO

from graphreader.errors import DocumentError
from graphreader.ingestion.loading.archives import open_archive, xml_metadata
from graphreader.ingestion.loading.content import Content, optional_package
from graphreader.ingestion.loading.html import read_html

_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0"  # beginning of .doc, and of .docx with a password
_STYLES = "p[style-name='Title'] => h1:fresh"


def read_docx(data: bytes, shown: str) -> Content:
    """Parse a Word document, converted to HTML by mammoth; its notes stand at the end.

    Items of lists have bullets, since mammoth counts numbers anew in each part of a list.
    """
    mammoth = optional_package("mammoth", shown)
    if data.startswith(_OLE_SIGNATURE):
        raise DocumentError(
            f"{shown} is protected by a password or an old .doc file: save it as .docx without one."
        )
    with open_archive(data, shown) as archive:
        metadata = xml_metadata(archive, "docProps/core.xml")
    html = mammoth.convert_to_html(
        BytesIO(data),
        style_map=_STYLES,
        include_embedded_style_map=False,
        convert_image=mammoth.images.img_element(lambda image: {}),
    )
    bullets = html.value.replace("<ol>", "<ul>").replace("</ol>", "</ul>")  # it knows no numbers
    content = read_html(bullets.encode(), shown)
    return Content(content.text, metadata=metadata, headings=content.headings)
