"""What the documents say is true: commands, links, drawings, messages, pictures."""

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


def commands() -> list[list[str]]:
    """Every command inside a text; those of shell blocks are run by other tests."""
    texts = "\n".join(prose(page) for page in pages() if page != "docs/commands.md")
    return [shlex.split(one) for one in set(re.findall(r"`((?:graphreader|make) [^`]+)`", texts))]


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
def test_commands_are_accepted() -> None:
    targets = re.findall(r"^(\w+):", read("Makefile"), re.MULTILINE)
    for tool, *arguments in commands():
        if tool == "graphreader":
            parse(arguments)
        else:
            assert arguments[0] in targets


# The README and the architecture page can each be read in one go.
@pytest.mark.parametrize(("name", "most"), [("README.md", 170), ("docs/architecture.md", 250)])
def test_pages_are_short(name: str, most: int) -> None:
    assert len(read(name).splitlines()) <= most


# Every setting has a description; every line of .env.example is a comment or an example of one.
def test_the_example_of_an_environment_is_right(tmp_path: Path) -> None:
    text = read(".env.example")
    (tmp_path / "env").write_text(re.sub(r"^#(?=\w+=)", "", text, flags=re.MULTILINE), "utf-8")
    values = set(dotenv_values(tmp_path / "env"))

    assert all(one.description for one in Settings.model_fields.values())
    assert dotenv_values(ROOT / ".env.example") == {}
    assert values <= {*map(variable, Settings.model_fields), "ANTHROPIC_API_KEY"}
    assert {"OPENAI_API_KEY", "GRAPHREADER_MODEL", "NEO4J_URI", "NEO4J_PASSWORD"} <= values


# The drawings of the agent are of the agent that runs.
@pytest.mark.parametrize("name", ["docs/architecture.md", "docs/how-the-agent-decides.md"])
def test_the_agent_is_drawn_as_it_is(name: str) -> None:
    assert drawings_in(ROOT / name) == [drawn()], "make pictures draws it anew"


# The layers in the document are those that import-linter checks.
def test_the_layers_are_the_checked_ones() -> None:
    contracts = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (layers,) = [one["layers"] for one in contracts if one["type"] == "layers"]

    assert marked("docs/architecture.md", "layers").splitlines() == layers


# Every link of a document leads to a file and to a heading of it, and the table of contents leads
# to every page.
def test_links_lead_somewhere() -> None:
    for name in [*pages(), "CHANGELOG.md", "notebooks/README.md"]:
        for link in links(name):
            file, _, anchor = link.partition("#")
            target = ((ROOT / name).parent / file).resolve() if file else ROOT / name

            assert target.exists(), (name, link)
            assert not anchor or anchor in anchors(target.relative_to(ROOT).as_posix()), link
    listed = {link.partition("#")[0] for link in links("docs/README.md")}
    assert listed >= {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}


def sentences() -> list[str]:
    """All strings of the program, with a mark for each part that is filled in."""
    strings = []
    for file in [*(ROOT / "graphreader").rglob("*.py"), ROOT / "scripts" / "studio.py"]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in silent:
                strings.append(str(node.value))
            elif isinstance(node, ast.JoinedStr):
                parts = [getattr(part, "value", "") for part in node.values]
                strings.append("".join(part if isinstance(part, str) else "\0" for part in parts))
    return strings


# Each message that is explained is one that the program still gives; `...` stands for what varies.
def test_troubles_are_those_of_the_program() -> None:
    strings = sentences()
    explained = re.findall(r"^\| `(.+?)` \|", read("docs/troubleshooting.md"), re.MULTILINE)

    assert len(explained) > 50
    for message in explained:
        parts = [part.strip() for part in message.split("...")]
        fixed = re.compile(".*?".join(map(re.escape, parts)))
        longest = max(parts, key=len)

        assert any(longest in one and fixed.search(one) for one in strings), message
