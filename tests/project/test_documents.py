"""The documents, the public names and the package agree with the code."""

import ast
import hashlib
import inspect
import json
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values
from typer.main import get_command

import graphreader
from graphreader.cli.app import app
from graphreader.settings import Settings, variable
from scripts.agent_drawing import drawings_in, drawn
from scripts.reference import DOCS, PAGES
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
    targets = re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE)
    for tool, *arguments in commands():
        if tool == "graphreader":
            parse(arguments)
        else:
            assert arguments[0] in targets


# The pages become a site with a reference of every public name; its links lead to pages and places
# that there are, and it loads nothing from elsewhere.
@pytest.mark.slow
def test_site(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    reference = (tmp_path / "reference.html").read_text()
    for name in graphreader.__all__:
        assert re.search(rf'href="#graphreader\.(?:[a-z_.]+\.)?{name}"', reference), name
    for page in tmp_path.glob("*.html"):
        loaded = re.findall(r"<(?:script|img|iframe)[^>]* src=\"?(https?:)", page.read_text())
        assert not loaded + re.findall(r"<link[^>]* href=\"?(https?:)", page.read_text())


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
    layers = next(one["layers"] for one in contracts if one.get("containers") == ["graphreader"])

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


# The pages about commands and settings say what the code says; `python -m scripts.reference` writes
# them.
@pytest.mark.parametrize("name", PAGES)
def test_reference_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name]()


IMPORTING = """
import json, os, pkgutil, sys, time
import wsgiref.handlers  # which copies the whole environment, for prometheus_client
from importlib import import_module

seen = []
read = type(os.environ).__getitem__

def watched(environ, name):
    if str(name).startswith(("GRAPHREADER_", "NEO4J_", "OPENAI_")):
        seen.append(f"reads {name}")
    return read(environ, name)

type(os.environ).__getitem__ = watched

def hook(event, arguments):
    if event in ("socket.connect", "subprocess.Popen", "os.mkdir", "os.remove"):
        seen.append(f"{event} {arguments}")
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        seen.append(f"writes {arguments[0]}")

sys.addaudithook(hook)
before = set(sys.modules)
began = time.process_time()
import graphreader
dir(graphreader)
seconds = time.process_time() - began
light = {name.partition(".")[0] for name in set(sys.modules) - before}
for module in pkgutil.walk_packages(graphreader.__path__, "graphreader."):
    if module.name != "graphreader.__main__":
        import_module(module.name)
print(json.dumps({"seen": seen, "seconds": seconds, "light": sorted(light)}))
"""
LARGE = {"langchain", "langgraph", "neo4j", "openai", "pydantic", "rich"}


# The public names are sorted, each can be had, type checkers know the same ones, and every public
# class and its methods say what they are.
def test_public_names() -> None:
    names = graphreader.__all__
    typed = [
        alias.name
        for node in ast.walk(ast.parse(read("graphreader/__init__.py")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphreader")
        for alias in node.names
    ]

    assert names == sorted(names) == sorted(typed) == dir(graphreader)
    for thing in filter(inspect.isclass, map(graphreader.__getattr__, names)):
        methods = [one for key, one in vars(thing).items() if key[0] != "_" and callable(one)]
        assert all(map(inspect.getdoc, (thing, *methods))), thing
    with pytest.raises(AttributeError, match="Nothing"):
        graphreader.Nothing  # noqa: B018  # a name that there is not


# Importing any module reads none of our settings, connects to nothing, starts and writes nothing;
# importing the package is quick and loads none of the large libraries.
@pytest.mark.slow
def test_importing_does_nothing() -> None:
    command = [sys.executable, "-B", "-W", "error", "-c", IMPORTING]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8")
    result = json.loads(done.stdout)

    assert result["seen"] == []
    assert result["seconds"] < 0.2
    assert not set(result["light"]) & LARGE


PACKAGE = ROOT / "graphreader"


def build(source: Path, target: Path, kind: str) -> Path:
    """The archive that hatchling builds from a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target), "-t", kind]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (archive,) = target.iterdir()
    return archive


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(build(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")) as opened:
        opened.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        opened.extractall(folder)
    (unpacked,) = folder.iterdir()
    return unpacked


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel as installers build it: from the source distribution."""
    return zipfile.ZipFile(build(sdist, tmp_path_factory.mktemp("wheel"), "wheel"))


# The wheel holds every file of the package and every statement, byte for byte, and nothing else.
def test_the_wheel_is_whole(wheel: zipfile.ZipFile) -> None:
    files = {
        f"{prefix}{path.relative_to(folder).as_posix()}": path
        for prefix, folder in (
            ("graphreader/", PACKAGE),
            ("graphreader/cypher/", ROOT / "cypher"),
        )
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == set(files)
    for name, path in files.items():
        assert wheel.read(name) == path.read_bytes(), name


# The ranks of the tokens are those that OpenAI publishes.
def test_the_ranks_are_the_published_ones() -> None:
    ranks = (PACKAGE / "tiktoken_ranks" / "o200k_base.tiktoken").read_bytes()
    published = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

    assert hashlib.sha256(ranks).hexdigest() == published


# No file tells of the machine on which it was written, or of where packages came from.
def test_files_name_no_machine(sdist: Path) -> None:
    home = str(Path.home()) + "/"
    places = [str(ROOT), *([home] if home != "//" else []), "/".join(("", "work", ""))]
    hosts = [".".join(host) for host in (("pypi", "org"), ("pythonhosted", "org"))]
    hosts.append(".".join(("maven", "org")))
    secret = re.compile("|".join(map(re.escape, [*places, "/".join(("", "root", "")), *hosts])))
    unread = (".png", ".tiktoken", ".zip", ".sqlite")
    for path in sdist.rglob("*"):
        if path.is_file() and path.name != "PKG-INFO" and path.suffix not in unread:
            match = secret.search(path.read_text(encoding="utf-8"))

            assert not match, f"{path.relative_to(sdist)} says {match[0]}"
