import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from graphreader.settings import Settings
from tests.project.markdown import ROOT

FILE = ROOT / "docker-compose.yml"


@pytest.fixture(scope="module")
def service() -> dict[str, Any]:
    """The one service."""
    services = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]
    assert list(services) == ["neo4j"]
    found: dict[str, Any] = services["neo4j"]
    return found


# The file is what the Compose specification says that it should be.
def test_the_file_fits_the_specification() -> None:
    schema = ["--builtin-schema", "vendor.compose-spec"]
    command = [sys.executable, "-m", "check_jsonschema", *schema, str(FILE)]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")

    assert done.returncode == 0, done.stdout


# It starts the version that is tested, and the one that the embedded server would be.
def test_the_image_is_pinned(service: dict[str, Any]) -> None:
    version = Settings.model_fields["neo4j_version"].default

    assert service["image"] == f"neo4j:{version}-community"


# Nobody else in the network can reach it.
def test_ports_are_on_loopback(service: dict[str, Any]) -> None:
    assert len(service["ports"]) == 2
    assert all(re.match(r"127\.0\.0\.1:\d+:\d+$", port) for port in service["ports"])


# Without a password nothing is started, and the reason is said.
def test_a_password_is_asked_for(service: dict[str, Any]) -> None:
    wanted = service["environment"]["NEO4J_AUTH"]

    assert re.fullmatch(r"neo4j/\$\{NEO4J_PASSWORD:\?[^}]*NEO4J_PASSWORD[^}]*\}", wanted)
    # The image takes every variable NEO4J_x for a setting x, and refuses one that it does not know.
    assert "NEO4J_PASSWORD" not in service["environment"]


# The graph outlives the container; memory is bounded; health is watched.
def test_the_service_can_be_relied_on(service: dict[str, Any]) -> None:
    environment = service["environment"]

    assert "data:/data" in service["volumes"]
    assert "NEO4J_server_memory_heap_max__size" in environment
    assert "NEO4J_server_memory_pagecache_size" in environment
    assert "7474" in service["healthcheck"]["test"][1]


# The saved queries are in the container, and cannot be changed from there.
def test_the_saved_queries_are_at_hand(service: dict[str, Any]) -> None:
    (mount,) = [volume for volume in service["volumes"] if volume.startswith("./")]
    source, target, mode = mount.split(":")

    assert list((ROOT / source).glob("*.cypher"))
    assert mode == "ro"
    assert f"-f {target}/documents.cypher" in (ROOT / "cypher" / "README.md").read_text("utf-8")
