import hashlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.project.markdown import ROOT

PACKAGE = ROOT / "graphreader"
SOURCES = sorted(path for path in PACKAGE.rglob("*.py"))


def build(source: Path, target: Path, *what: str) -> list[Path]:
    """What hatchling builds from a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target), *what]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return sorted(target.iterdir())


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    (archive,) = build(ROOT, folder, "-t", "sdist")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    (unpacked,) = [path for path in folder.iterdir() if path.is_dir()]
    return unpacked


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel as installers build it: from the source distribution."""
    (archive,) = build(sdist, tmp_path_factory.mktemp("wheel"), "-t", "wheel")
    return zipfile.ZipFile(archive)


# The wheel holds every file of the package and every statement, byte for byte.
def test_the_wheel_is_whole(wheel: zipfile.ZipFile) -> None:
    wanted = {
        path.relative_to(ROOT).as_posix(): path
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    statements = ROOT / "cypher"
    wanted |= {
        f"graphreader/cypher/{path.relative_to(statements).as_posix()}": path
        for path in statements.rglob("*")
        if path.is_file()
    }
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert names == set(wanted)
    for name, path in wanted.items():
        assert wheel.read(name) == path.read_bytes(), name


# Nothing that the program reads at run time is missing, and nothing that it does not need is there.
def test_the_wheel_has_what_runs(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()

    for name in (
        "graphreader/py.typed",
        "graphreader/cypher/read/chunk.cypher",
        "graphreader/cypher/inspect/chain.cypher",
        "graphreader/prompts/extraction.md",
        "graphreader/html_report/page.html",
        "graphreader/html_report/cytoscape/cytoscape.min.js",
        "graphreader/evaluation/paper_figures.json",
        "graphreader/evaluation/paper_tables.toml",
        "graphreader/ingestion/normalization/english.txt",
        "graphreader/tiktoken_ranks/o200k_base.tiktoken",
        "graphreader/store/embedded/neo4j-2026.08.1.jars.txt",
        "graphreader/store/embedded/neo4j-5.26.30.jars.txt",
    ):
        assert name in names
    assert not [name for name in names if name.startswith(("tests", "docs", "examples", "scripts"))]
    assert not [name for name in names if name.endswith((".jar", ".pyc"))]


# The licence is in the wheel, and the command is installed with it.
def test_the_wheel_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    about = {name.partition(".dist-info/")[2]: name for name in wheel.namelist()}
    metadata = wheel.read(about["METADATA"]).decode()

    assert wheel.read(about["licenses/LICENSE"]) == (ROOT / "LICENSE").read_bytes()
    assert (
        "graphreader = graphreader.cli.main:main" in wheel.read(about["entry_points.txt"]).decode()
    )
    assert "License-Expression: MIT" in metadata
    assert "# GraphReader" in metadata


# Whoever has the source distribution can test it and build from it.
@pytest.mark.parametrize(
    "name",
    [
        "cypher/read/chunk.cypher",
        "tests/conftest.py",
        "Makefile",
        "requirements/test.lock",
        "LICENSE",
    ],
)
def test_the_sdist_is_whole(sdist: Path, name: str) -> None:
    assert (sdist / name).read_bytes() == (ROOT / name).read_bytes()


# The ranks of the tokens are those that OpenAI publishes.
def test_the_ranks_are_the_published_ones() -> None:
    ranks = (PACKAGE / "tiktoken_ranks" / "o200k_base.tiktoken").read_bytes()
    published = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

    assert hashlib.sha256(ranks).hexdigest() == published


# No file tells of the machine on which it was written, or of where packages came from.
def test_files_name_no_machine(sdist: Path) -> None:
    places = [
        str(ROOT),
        str(Path.home()) + "/",
        "/".join(("", "work", "")),
        "/".join(("", "root", "")),
    ]
    hosts = [
        ".".join(host) for host in (("pypi", "org"), ("pythonhosted", "org"), ("maven", "org"))
    ]
    told = re.compile("|".join(re.escape(word) for word in (*places, *hosts) if word != "/"))
    for path in sdist.rglob("*"):
        if path.is_file() and path.name != "PKG-INFO" and path.suffix not in (".png", ".tiktoken"):
            found = told.search(path.read_text(encoding="utf-8"))

            assert not found, f"{path.relative_to(sdist)} says {found[0]}"


# The version stands in one place, and the newest changes on top of the changelog.
def test_the_changelog_begins_with_what_is_unreleased() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", changelog, re.MULTILINE)

    assert headings[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", one) for one in headings[1:])
    assert not [path for path in SOURCES if project["version"] in path.read_text(encoding="utf-8")]
