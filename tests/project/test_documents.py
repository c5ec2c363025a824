import ast
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values
from typer.main import get_command

from graphreader.cli.app import app
from graphreader.settings import Settings, variable
from scripts.agent_drawing import drawings_in, drawn
from tests.project.markdown import ROOT, anchors, links, marked, pages, prose, read

TARGETS = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
OTHER_VARIABLES = {"ANTHROPIC_API_KEY"}
TROUBLES = "docs/troubleshooting.md"


def commands() -> list[list[str]]:
    """Every command inside a text; those of shell blocks are run by other tests."""
    texts = "\n".join(prose(page) for page in pages() if page != "docs/commands.md")
    found = dict.fromkeys(re.findall(r"`((?:graphreader|make) [^`]+)`", texts))
    return [shlex.split(command) for command in found]


def parse(arguments: list[str]) -> None:
    """What the command line makes of arguments, without running anything."""
    command: Any = get_command(app)
    context = command.make_context("graphreader", arguments)
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(
            context, context._protected_args + context.args
        )
        context = command.make_context(name, rest, parent=context)


# Every command that a text names is accepted by the program, or stands in the Makefile.
@pytest.mark.parametrize("words", commands(), ids=shlex.join)
def test_commands_are_accepted(words: list[str]) -> None:
    tool, *arguments = words
    if tool == "graphreader":
        parse(arguments)
    else:
        assert arguments[0] in TARGETS


# Every setting says what it is.
def test_every_setting_is_described() -> None:
    assert [name for name, one in Settings.model_fields.items() if not one.description] == []


# Who opens the README or the architecture page can read it in one sitting.
@pytest.mark.parametrize(("name", "most"), [("README.md", 170), ("docs/architecture.md", 250)])
def test_pages_are_short(name: str, most: int) -> None:
    assert len(read(name).splitlines()) <= most


# Every line of .env.example is a comment or an example of a variable that something reads.
def test_the_example_of_an_environment_is_right(tmp_path: Path) -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    (tmp_path / "env").write_text(re.sub(r"^#(?=\w+=)", "", text, flags=re.MULTILINE), "utf-8")
    values = dotenv_values(tmp_path / "env")

    assert dotenv_values(ROOT / ".env.example") == {}
    assert set(values) <= {variable(name) for name in Settings.model_fields} | OTHER_VARIABLES
    assert {"OPENAI_API_KEY", "GRAPHREADER_MODEL", "NEO4J_URI", "NEO4J_PASSWORD"} <= set(values)


# The drawings of the agent are of the agent that runs.
@pytest.mark.parametrize("name", ["docs/architecture.md", "docs/how-the-agent-decides.md"])
def test_the_agent_is_drawn_as_it_is(name: str) -> None:
    assert drawings_in(ROOT / name) == [drawn()], "make pictures draws it anew"


# The layers in the document are those that import-linter checks.
def test_the_layers_are_the_checked_ones() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = [one["layers"] for one in contracts if one["type"] == "layers"]

    assert marked("docs/architecture.md", "layers").splitlines() == layers


# No link of a document leads nowhere: neither to a file that is not there, nor to no heading of it.
@pytest.mark.parametrize("name", [*pages(), "CHANGELOG.md", "notebooks/README.md"])
def test_links_lead_somewhere(name: str) -> None:
    for link in links(name):
        file, _, anchor = link.partition("#")
        target = ((ROOT / name).parent / file).resolve() if file else ROOT / name

        assert target.exists(), link
        assert not anchor or anchor in anchors(target.relative_to(ROOT).as_posix()), link


# Every page is found from the table of contents.
def test_the_contents_are_complete() -> None:
    listed = {link.partition("#")[0] for link in links("docs/README.md")}

    assert listed >= {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}


def sentences() -> list[str]:
    """All that the program may say: its strings, with a mark for what is filled in."""
    found = []
    for file in [*(ROOT / "graphreader").rglob("*.py"), ROOT / "scripts" / "studio.py"]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in silent:
                found.append(str(node.value))
            elif isinstance(node, ast.JoinedStr):
                parts = [getattr(part, "value", "") for part in node.values]
                found.append("".join(part if isinstance(part, str) else "\0" for part in parts))
    return found


# Each message that is explained is one that the program still gives; `...` stands for what varies.
def test_troubles_are_those_of_the_program() -> None:
    said = sentences()
    explained = re.findall(r"^\| `(.+?)` \|", read(TROUBLES), re.MULTILINE)

    assert len(explained) > 50
    for message in explained:
        parts = message.split("...")
        fixed = re.compile(".*?".join(map(re.escape, parts)))
        longest = max(parts, key=len)

        assert any(longest in one and fixed.search(one) for one in said), message


# Pictures are shown on some page, small, and what their names say.
def test_pictures_are_small() -> None:
    pictures = {path.name: path.read_bytes() for path in (ROOT / "docs" / "pictures").iterdir()}
    shown = {Path(link).name for page in pages() for link in links(page)}

    assert {"ask.svg", "graph.png"} <= set(pictures) <= shown
    assert all(10_000 < len(picture) < 300_000 for picture in pictures.values())
    for name, picture in pictures.items():
        assert picture.startswith({".png": b"\x89PNG", ".svg": b"<svg"}[Path(name).suffix])
    assert b"No&#160;language&#160;model&#160;is&#160;in&#160;use" in pictures["ask.svg"]
