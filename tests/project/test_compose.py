import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphreader.settings import Settings
from graphreader.store.embedded.process import ServerHome
from tests.project.markdown import ROOT

FILE = ROOT / "docker-compose.yml"
VARIABLE = re.compile(r"\$\{(\w+):([-?][^}]*)\}")


def settings_of(service: dict[str, Any], environment: dict[str, str]) -> dict[str, str]:
    """What the image makes of its variables: `_` stands for a dot, `__` for an underscore."""

    def value(text: str) -> str:
        return VARIABLE.sub(lambda found: environment.get(found[1], found[2][1:]), text)

    return {
        re.sub("__?", lambda found: {"_": ".", "__": "_"}[found[0]], name[len("NEO4J_") :]): value(
            text
        )
        for name, text in service["environment"].items()
        if name != "NEO4J_AUTH"
    }


def embedded_settings(folder: Path) -> dict[str, str]:
    """What the embedded server is configured with, by the settings of the environment."""
    settings = Settings.read(home=folder)
    home = ServerHome.of(settings)
    home.make()
    home.configure(home.make_access(), settings)
    text = (home.conf / "neo4j.conf").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.]+)=(.*)$", text, re.MULTILINE))


@pytest.fixture(scope="module")
def service() -> dict[str, Any]:
    """The one service."""
    service: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]["neo4j"]
    return service


# The file is what the Compose specification says that it should be.
def test_the_file_fits_the_specification() -> None:
    schema = ["--builtin-schema", "vendor.compose-spec"]
    command = [sys.executable, "-m", "check_jsonschema", *schema, str(FILE)]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")

    assert done.returncode == 0, done.stdout


# It starts the version that is tested, on loopback, keeps the graph, and starts nothing without a
# password. The saved queries are in the container, and cannot be changed from there.
def test_the_service(service: dict[str, Any]) -> None:
    version = Settings.model_fields["neo4j_version"].default
    (mount,) = [volume for volume in service["volumes"] if volume.startswith("./")]
    source, _, mode = mount.split(":")

    assert service["image"] == f"neo4j:{version}-community"
    assert all(re.match(r"127\.0\.0\.1:\d+:\d+$", port) for port in service["ports"])
    assert re.match(r"neo4j/\$\{NEO4J_PASSWORD:\?", service["environment"]["NEO4J_AUTH"])
    # The image takes every variable NEO4J_x for a setting x, and refuses one that it does not know.
    assert "NEO4J_PASSWORD" not in service["environment"]
    assert "data:/data" in service["volumes"]
    assert list((ROOT / source).glob("*.cypher"))
    assert mode == "ro"


# Whatever is set is set as in the embedded server, with which all is tested, by the same variables.
# That one has more: where it listens, and what spares a small disk.
def test_settings_are_those_of_the_embedded_server(
    service: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = {"GRAPHREADER_NEO4J_HEAP": "700m", "GRAPHREADER_NEO4J_PAGE_CACHE": "300m"}
    defaults = embedded_settings(tmp_path / "defaults"), settings_of(service, {})
    for name, value in memory.items():
        monkeypatch.setenv(name, value)
    larger = embedded_settings(tmp_path / "larger"), settings_of(service, memory)
    own = re.compile(r".*_address|server\.https?\..*|db\.tx_log\..*|internal\..*")

    for embedded, composed in (defaults, larger):
        assert composed
        assert composed.items() <= embedded.items()
        assert all(own.fullmatch(name) for name in embedded.keys() - composed.keys())
    assert larger[1]["server.memory.heap.max_size"] == "700m"
    assert larger[1]["server.memory.pagecache.size"] == "300m"
