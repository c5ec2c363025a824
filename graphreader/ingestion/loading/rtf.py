"""The parser of RTF files, by striprtf: their text with the numbers of lists, no headings."""

import re

from graphreader.documents import Skipped
from graphreader.ingestion.loading.content import Content, optional_package

_NOT_READ = {  # groups that striprtf leaves out
    "footnote": ("note", "notes"),
    "annotation": ("comment", "comments"),
    "header[lrf]?": ("header", "headers"),
    "footer[lrf]?": ("footer", "footers"),
    "pict": ("picture", "pictures"),
    "object": ("embedded object", "embedded objects"),
}
_ITEM = re.compile(r"\S{1,8}\t")  # a number or bullet
_BORDER = re.compile(r"\s*\|\s*")


def read_rtf(data: bytes, shown: str) -> Content:
    """Parse an RTF file; notes, comments, headers and pictures are counted in `skipped`."""
    striprtf = optional_package("striprtf.striprtf", shown)
    source = data.decode("latin-1")  # a format of ASCII, which names the encoding of its bytes
    if not source.lstrip().startswith("{\\rtf"):
        raise ValueError("no RTF")
    pieces: list[str] = []
    was_line = False
    for line in striprtf.rtf_to_text(source).split("\n"):
        text = _BORDER.sub(" | ", " ".join(line.rstrip("| ").split()))
        if text:
            is_line = bool(_ITEM.match(line)) or "|" in line  # of a list or table
            pieces += ("\n" if is_line and was_line else "\n\n", text)
            was_line = is_line
    skipped = []
    for word, (one, several) in _NOT_READ.items():
        if number := len(re.findall(rf"\\{word}(?![a-z])", source)):
            part = f"{number:,} {one if number == 1 else several}"
            skipped.append(Skipped(part, "not read in RTF: save it as .docx"))
    return Content("".join(pieces[1:]), skipped=tuple(skipped))
