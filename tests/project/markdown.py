"""What stands in a Markdown file: fenced blocks, tables, links."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its first line in the file."""

    language: str
    text: str
    line: int


def blocks(name: str, language: str) -> list[Block]:
    """The blocks of a language in a file of the project."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text[: found.start(2)].count("\n") + 1)
        for found in _FENCE.finditer(text)
        if found[1] == language
    ]


def marked(name: str, mark: str) -> str:
    """The fenced block that follows the comment `<!-- mark -->`."""
    text = (ROOT / name).read_text(encoding="utf-8")
    found = re.search(rf"<!-- {mark} -->\n```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found, f"{name} has no block marked {mark}"
    return found[1]


def table(name: str, first_column: str) -> list[list[str]]:
    """The rows of the table whose first column is called so, without its head."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first_column} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def links(name: str) -> list[str]:
    """Where links and pictures lead that are not on the web."""
    text = (ROOT / name).read_text(encoding="utf-8")
    found = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    return [link for link in found if "://" not in link]
