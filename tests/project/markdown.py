"""What stands in a Markdown file: fenced blocks, tables, links, headings."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    `line` is that of its first line in the file; `mark` the comment right above the fence, if any.
    """

    page: str
    language: str
    text: str
    line: int
    mark: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """The documents that people read, from the root of the project."""
    docs = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
    return ["README.md", *docs, "cypher/README.md"]


def read(name: str) -> str:
    """The text of a page."""
    return (ROOT / name).read_text(encoding="utf-8")


def all_blocks(name: str) -> list[Block]:
    """All blocks of a page in their order."""
    text = read(name)
    return [
        Block(name, found[2], found[3], text[: found.start(3)].count("\n") + 1, found[1] or "")
        for found in _FENCE.finditer(text)
    ]


def blocks(name: str, language: str) -> list[Block]:
    """The blocks of one language."""
    return [block for block in all_blocks(name) if block.language == language]


def prose(name: str) -> str:
    """The page without its blocks."""
    return _FENCE.sub("", read(name))


def marked(name: str, mark: str) -> str:
    """The fenced block that follows the comment `<!-- mark -->`."""
    found = [block.text for block in all_blocks(name) if block.mark == mark]
    assert len(found) == 1, f"{name} has {len(found)} blocks marked {mark}"
    return found[0]


def table(name: str, first_column: str) -> list[list[str]]:
    """The rows of the table whose first column is called so, without its head."""
    lines = read(name).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first_column} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def links(name: str) -> list[str]:
    """Where links and pictures lead that are not on the web, with their anchors."""
    found = re.findall(r"\]\(([^)\s]+)[^)]*\)", prose(name))
    return [link for link in found if "://" not in link]


def anchors(name: str) -> set[str]:
    """What links to headings of a page may end with, as code hosts make it of their words."""
    return set(_anchors(_HEADING.findall(prose(name))))


def _anchors(headings: list[str]) -> Iterator[str]:
    met: Counter[str] = Counter()
    for heading in headings:
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", words).strip().lower().replace(" ", "-")
        yield anchor + (f"-{met[anchor]}" if met[anchor] else "")
        met[anchor] += 1


def part_of_joan(folder: Path) -> Path:
    """Write some paragraphs on Joan of Arc into a folder, a tenth of the example text.

    They tell of her saints, and have all names of the text that are spelled in two ways.
    """
    text = (ROOT / "examples" / "joan_of_arc.txt").read_text("utf-8")
    words = re.compile("Benedict|Margaret|canoni|Orleans|Saint-Loup")
    parts = [part for part in text.split("\n\n") if words.search(part)]
    file = folder / "joan_of_arc.txt"
    file.write_text("\n\n".join(parts) + "\n", "utf-8")
    return file
