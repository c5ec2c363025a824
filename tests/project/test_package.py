"""The wheel and the source distribution hold what they need, and nothing else."""

import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.project.markdown import ROOT

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
        opened.extractall(folder, filter="data")
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
    for path in sdist.rglob("*"):
        if path.is_file() and path.name != "PKG-INFO" and path.suffix not in (".png", ".tiktoken"):
            match = secret.search(path.read_text(encoding="utf-8"))

            assert not match, f"{path.relative_to(sdist)} says {match[0]}"
