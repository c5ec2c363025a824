"""What Docker runs, as far as it can be tested without Docker, which ran none of it here."""

import json
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from graphreader.settings import Settings
from graphreader.store.embedded.process import ServerHome
from tests.project.markdown import ROOT, read
from tests.runs.forks import Fork, Forks
from tests.terminal import environment_of, wait_for

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


def service_of(name: str) -> dict[str, Any]:
    service: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"][name]
    return service


@pytest.fixture(scope="module")
def service() -> dict[str, Any]:
    """That of Neo4j."""
    return service_of("neo4j")


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


# The server is open on this machine only, has no secret in the file, waits for its Neo4j, and can
# write into its volume and /tmp alone, without any privilege.
def test_the_server() -> None:
    service = service_of("graphreader")
    image = {name: text for _, name, text in instructions()}

    assert service["ports"] == ["127.0.0.1:8321:8321"]
    assert service["depends_on"] == {"neo4j": {"condition": "service_healthy"}}
    assert service["environment"]["NEO4J_PASSWORD"] == "${NEO4J_PASSWORD}"
    assert service["volumes"] == ["home:" + service["environment"]["GRAPHREADER_HOME"]]
    assert f"GRAPHREADER_HOME={service['environment']['GRAPHREADER_HOME']}" in image["ENV"]
    assert (service["read_only"], service["tmpfs"]) == (True, ["/tmp"])
    assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert not {"privileged", "cap_add", "network_mode", "user"} & set(service)


def instructions() -> list[tuple[int, str, str]]:
    """The instructions of the Dockerfile, each with the number of its stage, from 1."""
    text = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", read("Dockerfile")))
    found, stage = [], 0
    for line in filter(None, text.splitlines()):
        name, _, rest = line.partition(" ")
        stage += name == "FROM"
        found.append((stage, name, rest))
    return found


def copied() -> list[str]:
    """What is copied from the project into the image."""
    copies = [rest.split() for _, name, rest in instructions() if name == "COPY"]
    return [path for words in copies if not words[0].startswith("--") for path in words[:-1]]


# The images are pinned, all packages are installed by hashes, the last stage installs nothing and
# is not root, and of the project's folder only what is copied is sent to the builder.
def test_the_image() -> None:
    bases = [rest.split()[0] for _, name, rest in instructions() if name == "FROM"]
    commands = [(stage, rest) for stage, name, rest in instructions() if name == "RUN"]
    installs = re.findall(r"pip install [^&]*", " ".join(rest for _, rest in commands))
    last = [(name, rest) for stage, name, rest in instructions() if stage == len(bases)]

    assert all(re.fullmatch(r"python:3\.\d+\.\d+-slim", base) for base in bases)
    assert all("--require-hashes -r requirements/" in one for one in installs[:-1])
    assert "--no-deps dist/" in installs[-1]
    assert all((ROOT / lock).is_file() for lock in re.findall(r"requirements/\S+", str(installs)))
    assert not [rest for name, rest in last if name == "RUN" and re.search(r"pip|apt|curl", rest)]
    assert dict(last)["USER"].split(":")[0].isdecimal()
    sent = {line for line in read(".dockerignore").splitlines() if not line.startswith("#")}
    assert sent == {"*", "**/__pycache__", *(f"!{path}" for path in copied())}


# What is copied suffices to build the package, whole.
@pytest.mark.slow
def test_the_image_has_the_package(tmp_path: Path) -> None:
    for path in copied():
        if (ROOT / path).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / path, tmp_path / path, ignore=ignored)
        else:
            shutil.copy(ROOT / path, tmp_path)
    (build,) = re.findall(r"-m hatchling build -t wheel", read("Dockerfile"))
    subprocess.run([sys.executable, *build.split()], cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").iterdir()
    names = zipfile.ZipFile(wheel).namelist()

    assert "graphreader/web/app.py" in names
    assert [name for name in names if name.startswith("graphreader/cypher/")]


# The command of the image starts the server, which prints a first token once and asks for it; the
# health check fails as long as nothing answers.
@pytest.mark.slow
def test_the_command_of_the_image(forks: Forks, neo4j: Settings, tmp_path: Path) -> None:
    image = {name: text for _, name, text in instructions()}
    entry, arguments = json.loads(image["ENTRYPOINT"]), json.loads(image["CMD"])
    python, *check = json.loads(image["HEALTHCHECK"].partition(" CMD ")[2])
    environment = {**environment_of(neo4j), "GRAPHREADER_HOME": str(tmp_path)}
    secret, printed, statuses, healthy = "", [], [], []
    for lines in (2, 1):
        serving = forks.start([*arguments, "--port", "0"], environment, tmp_path / f"{lines}")
        out = tmp_path / f"{lines}" / "out.txt"
        try:
            wait_for(partial(ended_or_said, serving, out, lines))
            said = [line.split()[-1] for line in out.read_text("utf-8").splitlines()]
            address, secret = said[0], secret or said[1]
            for headers in ({}, {"Authorization": f"Bearer {secret}"}):
                url = f"{address}api/corpora"
                statuses.append(httpx.get(url, headers=headers, timeout=60).status_code)
            port = str(httpx.URL(address).port)
            command = [sys.executable, *(one.replace("8321", port) for one in check)]
            healthy.append(subprocess.run(command, check=False, stderr=-1).returncode)
        finally:
            serving.signal(signal.SIGTERM)
            printed.append(len(serving.end().out.splitlines()))
        healthy.append(subprocess.run(command, check=False, stderr=-1).returncode)

    assert (entry, python) == (["graphreader"], "python")
    assert secret.startswith("gr_")
    assert statuses == [401, 200] * 2
    assert healthy == [0, 1] * 2
    assert printed == [2, 1]


def ended_or_said(fork: Fork, out: Path, lines: int) -> bool:
    """Whether a command has printed some lines, or has ended."""
    return out.read_text("utf-8").count("\n") >= lines or not fork.runs
