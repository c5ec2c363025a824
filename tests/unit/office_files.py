"""Small Office files of a few parts, for tests."""

from tests.unit.loading import zipped

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
NAMES = (
    f'xmlns:w="{W}" xmlns:a="{A}" xmlns:p="{P}" xmlns:r="{OFFICE}/relationships" '
    f'xmlns:m="{OFFICE}/math" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml" '
    'xmlns:o="urn:schemas-microsoft-com:office:office" '
    f'xmlns:wp="{DRAWING}/wordprocessingDrawing" xmlns:pic="{DRAWING}/picture" '
    f'xmlns:c="{DRAWING}/chart" xmlns:dgm="{DRAWING}/diagram"'
)
ROOTS = {
    **{"header": "hdr", "footer": "ftr", "styles": "styles", "numbering": "numbering"},
    **{"footnotes": "footnotes", "endnotes": "endnotes", "comments": "comments"},
    **{"settings": "settings"},
}
STYLES = (
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
)


def relations(*targets: tuple[str, str]) -> str:
    """A part of relations r1, r2, ... to targets of a kind; an address is external."""
    lines = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/relationships/{kind}" Target="{target}"'
        f"{' TargetMode=' + chr(34) + 'External' + chr(34) if ':' in target else ''}/>"
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{lines}</Relationships>'


def package(main: str, parts: dict[str, str | bytes]) -> bytes:
    """An Office file of a main part and others by their names."""
    types = f'<Types xmlns="{PACKAGE}/content-types"/>'
    first = relations(("officeDocument", main))
    return zipped(**{"[Content_Types].xml": types, "_rels/.rels": first, **parts})


def docx(body: str, *links: tuple[str, str], styles: str = STYLES, **parts: str | bytes) -> bytes:
    """A Word document; `header1="..."` is the content of a part, which is related as its kind.

    `links` are further relations, the first of them r1. A part with a slash in its name is whole.
    """
    files: dict[str, str | bytes] = {}
    targets = list(links)
    for name, content in {"styles": styles, **parts}.items():
        if "/" in name:
            files[name] = content
            continue
        kind = name.rstrip("0123456789")
        targets.append((kind, f"{name}.xml"))
        files[f"word/{name}.xml"] = f"<w:{ROOTS[kind]} {NAMES}>{content!s}</w:{ROOTS[kind]}>"
    document = f"<w:document {NAMES}><w:body>{body}</w:body></w:document>"
    relation = relations(*targets)
    whole = {"word/document.xml": document, "word/_rels/document.xml.rels": relation, **files}
    return package("word/document.xml", whole)


def paragraph(text: str, style: str = "", properties: str = "") -> str:
    """A paragraph of Word of one run."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def run(content: str, properties: str = "") -> str:
    """A run of Word, of a text or of elements."""
    content = content if content.startswith("<") else f'<w:t xml:space="preserve">{content}</w:t>'
    return f"<w:r><w:rPr>{properties}</w:rPr>{content}</w:r>"


def pptx(*slides: str, **parts: str | bytes) -> bytes:
    """A presentation of slides, each the XML of its shapes; further parts are whole.

    Relations of slide 1 are the part "ppt/slides/_rels/slide1.xml.rels".
    """
    ids = "".join(f'<p:sldId r:id="r{number}"/>' for number in range(1, len(slides) + 1))
    files: dict[str, str | bytes] = {
        "ppt/presentation.xml": f"<p:presentation {NAMES}><p:sldIdLst>{ids}</p:sldIdLst>"
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            *(("slide", f"slides/slide{number}.xml") for number in range(1, len(slides) + 1))
        ),
    }
    for number, slide in enumerate(slides, 1):
        shown = ' show="0"' * slide.startswith("hidden")
        files[f"ppt/slides/slide{number}.xml"] = (
            f"<p:sld {NAMES}{shown}><p:cSld><p:spTree>{slide.removeprefix('hidden')}</p:spTree>"
            "</p:cSld></p:sld>"
        )
    return package("ppt/presentation.xml", {**files, **parts})
