import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project.markdown import ROOT

LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUN = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = PROJECT["dependency-groups"]


def group(name: str) -> list[str]:
    """What a group of dependencies wants, with the groups that it includes."""
    wanted = []
    for one in GROUPS[name]:
        wanted += [one] if isinstance(one, str) else group(one["include-group"])
    return wanted


WANTED = {
    "run.lock": RUN,
    "test.lock": RUN + group("dev"),
    "studio.lock": RUN + EXTRAS["studio"],
    "install.lock": (ROOT / "requirements" / "install.in").read_text(encoding="utf-8").split("\n"),
}


def pinned(lock: Path) -> dict[str, Requirement]:
    """The requirements of a lock by their names."""
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.partition(" --hash")[0] for line in text.splitlines() if line.strip()]
    found = [Requirement(line) for line in lines if not line.startswith("#")]
    return {canonicalize_name(one.name): one for one in found}


# A lock says nothing about where packages come from, and can be used with any index.
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_locks_name_no_host(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")

    assert "://" not in text
    assert not re.search(r"^\s*--?(index|extra|find|trusted|i\b|f\b)", text, re.MULTILINE)


# Every requirement is pinned to one version by hashes.
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_requirements_have_hashes(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip()]

    assert lines
    for line in lines:
        assert re.match(r"[a-z0-9][a-z0-9._-]*==\S+ ", line), line
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", line), line


# Each lock holds all that its part of the project asks for, in versions that it allows.
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_locks_are_up_to_date(lock: Path) -> None:
    has = pinned(lock)
    for line in WANTED[lock.name]:
        if not line.strip() or line.startswith("#"):
            continue
        wanted = Requirement(line)
        (version,) = has[canonicalize_name(wanted.name)].specifier

        assert wanted.specifier.contains(version.version, prereleases=True), line


# Tests run with the very versions that users get.
def test_tests_run_with_what_users_get() -> None:
    run, test = pinned(ROOT / "requirements/run.lock"), pinned(ROOT / "requirements/test.lock")

    assert {name: str(one.specifier) for name, one in run.items()}.items() <= {
        name: str(one.specifier) for name, one in test.items()
    }.items()


# Nothing that only tests, pictures and Studio need is installed for users.
def test_users_do_not_carry_our_tools() -> None:
    run = pinned(ROOT / "requirements/run.lock")

    assert not {"playwright", "ipykernel", "matplotlib", "mcp", "langgraph-cli"} & set(run)
