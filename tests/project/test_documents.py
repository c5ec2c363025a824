import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values
from pydantic import AliasChoices
from typer.main import get_command

from graphreader import GraphReader, Settings
from graphreader.cli.main import app
from graphreader.settings import DEFAULT_EMBEDDINGS, DEFAULT_MODEL
from scripts.agent_drawing import drawings_in, drawn
from tests.project.markdown import ROOT, blocks, links, marked, table

DOCUMENTS = ("README.md", "docs/architecture.md", "cypher/README.md")
README = (ROOT / "README.md").read_text(encoding="utf-8")
TARGETS = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
TOOLS = {"make", "uv", "pip", "python3", "source", "echo", "docker"}
OTHER_VARIABLES = {"ANTHROPIC_API_KEY"}


def commands() -> list[list[str]]:
    """Every command of the documents: the lines of their shell blocks, and those inside a text."""
    found = []
    for name in DOCUMENTS:
        for block in blocks(name, "sh"):
            found += [shlex.split(line) for line in block.text.splitlines() if line.strip()]
        text = (ROOT / name).read_text(encoding="utf-8")
        found += [shlex.split(one) for one in re.findall(r"`((?:graphreader|make) [^`]+)`", text)]
    return [[Path(words[0]).name, *words[1:]] for words in found]


def parse(arguments: list[str]) -> None:
    """What the command line makes of arguments, without running anything."""
    command: Any = get_command(app)
    context = command.make_context("graphreader", arguments)
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(
            context, context._protected_args + context.args
        )
        context = command.make_context(name, rest, parent=context)


def leaves(command: Any, path: str = "graphreader") -> Iterator[str]:
    """The commands that do something, with their groups before them."""
    if not hasattr(command, "commands"):
        yield path
    for name, one in getattr(command, "commands", {}).items():
        yield from leaves(one, f"{path} {name}")


def variable(name: str) -> str:
    """The environment variable of a setting."""
    alias = Settings.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    return str(alias) if alias else f"GRAPHREADER_{name.upper()}"


# Every command that a document shows is accepted by the program, or stands in the Makefile.
@pytest.mark.parametrize("words", commands(), ids=shlex.join)
def test_commands_are_accepted(words: list[str]) -> None:
    tool, *arguments = words
    if tool == "graphreader":
        parse(arguments)
    elif tool == "make":
        assert arguments[0] in TARGETS
    else:
        assert tool in TOOLS
    files = [word for word in words if word.startswith(("requirements/", "examples/"))]
    assert all((ROOT / file).exists() for file in files)


# The table of commands is complete.
def test_every_command_is_in_the_table() -> None:
    shown = {row[0].strip("`") for row in table("README.md", "command")}
    named = {re.sub(r" [A-Z.]+$", "", one) for one in shown}

    assert named == set(leaves(get_command(app)))


# The table of settings is complete, in the order of the code, with the real defaults.
def test_every_setting_is_in_the_table() -> None:
    folders = {"home": "user data folder", "cache": "user cache folder"}
    wanted = []
    for name, field in Settings.model_fields.items():
        default = "-" if field.default is None else f"`{field.default}`"
        wanted.append([f"`{variable(name)}`", folders.get(name, default)])

    assert [row[:2] for row in table("README.md", "variable")] == wanted
    assert f"`{DEFAULT_MODEL}`" in README
    assert f"`{DEFAULT_EMBEDDINGS}`" in README


# Every line of .env.example is a comment or an example of a variable that something reads.
def test_the_example_of_an_environment_is_right(tmp_path: Path) -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    (tmp_path / "env").write_text(re.sub(r"^#(?=\w+=)", "", text, flags=re.MULTILINE), "utf-8")
    values = dotenv_values(tmp_path / "env")

    assert dotenv_values(ROOT / ".env.example") == {}
    assert set(values) <= {variable(name) for name in Settings.model_fields} | OTHER_VARIABLES
    assert {"OPENAI_API_KEY", "GRAPHREADER_MODEL", "NEO4J_URI", "NEO4J_PASSWORD"} <= set(values)


# The Python of the README runs as it stands, one block after the other.
def test_the_python_of_the_readme_runs(
    neo4j: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert neo4j.neo4j_uri
    assert neo4j.neo4j_password
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEO4J_URI", neo4j.neo4j_uri)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j.neo4j_password.get_secret_value())
    monkeypatch.setenv("GRAPHREADER_INITIAL_NODES", "2")  # the same steps in less time
    Path("mybooks").mkdir()
    shutil.copy(ROOT / "examples" / "joan_of_arc.txt", "mybooks")
    try:
        for block in blocks("README.md", "python"):
            code = compile("\n" * (block.line - 1) + block.text, "README.md", "exec")
            exec(code, {"__name__": "__main__"})
            said = capsys.readouterr().out

            assert "Benedict XV" in said, said
    finally:
        with GraphReader("books") as reader:
            reader.delete(everything=True)


# The drawings of the agent are of the agent that runs.
@pytest.mark.parametrize("name", ["README.md", "docs/architecture.md"])
def test_the_agent_is_drawn_as_it_is(name: str) -> None:
    assert drawings_in(ROOT / name) == [drawn()], "make pictures draws it anew"


# The map of the modules has every module in its place, and no other.
def test_the_map_of_the_modules_is_complete() -> None:
    mapped: set[str] = set()
    folders: list[str] = []
    for line in marked("docs/architecture.md", "modules").splitlines()[1:]:
        depth = (len(line) - len(line.lstrip())) // 2
        del folders[depth - 1 :]
        names = re.split(r" {2,}", line.strip())[0].split()
        if names[0].endswith("/"):
            folders.append(names[0])
        else:
            mapped |= {"".join(folders) + name for name in names}
    package = ROOT / "graphreader"
    modules = {
        path.relative_to(package).with_suffix("").as_posix()
        for path in package.rglob("*.py")
        if path.stem != "__init__"
    }

    assert mapped == modules


# The layers in the document are those that import-linter checks.
def test_the_layers_are_the_checked_ones() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = [one["layers"] for one in contracts if one["type"] == "layers"]

    assert marked("docs/architecture.md", "layers").splitlines() == layers


# No link of a document leads nowhere.
@pytest.mark.parametrize("name", [*DOCUMENTS, "CHANGELOG.md"])
def test_links_lead_somewhere(name: str) -> None:
    for link in links(name):
        assert ((ROOT / name).parent / link).exists(), link


# Pictures are there and small, and are what their names say.
def test_pictures_are_small() -> None:
    pictures = {path.name: path.read_bytes() for path in (ROOT / "docs" / "pictures").iterdir()}

    assert set(pictures) == {"ask.svg", "graph.png"}
    assert all(10_000 < len(picture) < 300_000 for picture in pictures.values())
    assert pictures["graph.png"].startswith(b"\x89PNG")
    assert b"<svg" in pictures["ask.svg"]
    assert b"No&#160;language&#160;model&#160;is&#160;in&#160;use" in pictures["ask.svg"]
