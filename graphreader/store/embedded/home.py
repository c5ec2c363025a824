"""Where an embedded server keeps what is its own: folders, configuration, password, ports.

One folder for each major version of Neo4j, because another major version cannot read the data:

    GRAPHREADER_HOME/neo4j-2026/
        access.json    user, password, ports: made once, kept (mode 0600)
        server.json    the process that runs now (mode 0600), see `state`
        conf data logs run ...
"""

import json
import os
import random
import secrets
import shutil
import socket
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from graphreader.errors import ServerError
from graphreader.settings import Settings
from graphreader.store.embedded.folders import write_private, writing

VARIABLE = "GRAPHREADER_HOME"
LOOPBACK = "127.0.0.1"

# Below the ports that systems hand out to outgoing connections (from 32768 or 49152): such a port
# could be gone at the next start, and a driver that calls again and again could meet itself.
_PORTS = range(20000, 32000)

# What an empty graph takes with its logs, and some reserve.
_ROOM = 50 * 10**6

# A killed server holds its ports until the system has cleared it away.
_PORT_SECONDS = 5.0

_CONF = """\
# Written anew by graphreader at every start.
server.default_listen_address={loopback}
server.bolt.listen_address={loopback}:{bolt}
server.bolt.advertised_address=localhost:{bolt}
server.http.listen_address={loopback}:{http}
server.http.advertised_address=localhost:{http}
server.https.enabled=false
server.memory.heap.initial_size={heap}
server.memory.heap.max_size={heap}
server.memory.pagecache.size={page_cache}
# Transaction logs may be a few files of 32 MB; by default Neo4j reserves 512 MB for them.
db.tx_log.preallocate=false
db.tx_log.rotation.size=32M
db.tx_log.rotation.retention_policy=100M size
dbms.usage_report.enabled=false
client.allow_telemetry=false
server.bolt.telemetry.enabled=false
"""
# Without the quiet period after the last connection, stopping takes 0.4 s instead of 10 s.
_CONF_5 = """\
internal.dbms.bolt.netty_server_shutdown_quiet_period=0
"""
_CONF_2026 = """\
internal.dbms.bolt.netty_server_shutdown_quiet_period_duration=0s
server.http.x_forward.enabled=false
# No broadcasts into the network that a laptop happens to be in.
server.fleet_discovery.enabled=false
dbms.fleet_manager.enabled=false
"""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach and enter the server, whenever it runs. Ports are on loopback."""

    bolt: int
    http: int
    username: str
    password: str

    def __repr__(self) -> str:
        return f"Access(bolt={self.bolt}, http={self.http})"

    @property
    def uri(self) -> str:
        """The address for a driver."""
        return f"bolt://{LOOPBACK}:{self.bolt}"


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one server; `version` is that of Neo4j."""

    folder: Path
    version: str

    @classmethod
    def of(cls, settings: Settings) -> "Home":
        """The home that the settings choose. Nothing is looked at or made."""
        major = settings.neo4j_version.partition(".")[0]
        folder = Path(os.path.expanduser(settings.home), f"neo4j-{major}").resolve()
        return cls(folder, settings.neo4j_version)

    @property
    def conf(self) -> Path:
        """The folder of neo4j.conf."""
        return self.folder / "conf"

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.folder / "logs"

    @property
    def has_data(self) -> bool:
        """Whether a server has run here, with a password that can no longer be chosen."""
        return (self.folder / "data" / "databases" / "system").exists()

    def make(self) -> None:
        """Make the folder, for its owner only, unless it is there.

        Raises ServerError on a full disk: there Neo4j would neither start nor end.
        """
        with writing(self.folder, VARIABLE):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        free = shutil.disk_usage(self.folder).free
        if free < _ROOM:
            raise ServerError(
                f"{self.folder} has {free // 10**6} MB of room and Neo4j needs {_ROOM // 10**6} MB"
                f" to start: make room, or set {VARIABLE} to a folder on another disk."
            )

    def access(self) -> Access | None:
        """What `make_access` has kept; None when there is nothing readable."""
        try:
            return Access(**json.loads((self.folder / "access.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def make_access(self) -> Access:
        """The kept access with ports that are free now; made and kept where there is none.

        A kept port that somebody else has taken, and does not leave within 5 seconds, is replaced
        for good: a server at a new port helps more than a refusal, and all commands find it.
        Raises ServerError when data are here but their password is lost.
        """
        kept = self.access()
        if kept is None and self.has_data:
            raise ServerError(
                f"The password of the graph in {self.folder} is lost: access.json is missing or"
                " damaged. Put it back, or move the folder away and read the texts again."
            )
        bolt, http = _ports(kept)
        access = Access(
            bolt=bolt or _free_port(other=http),
            http=http or _free_port(other=bolt),
            username=kept.username if kept else "neo4j",
            # Hexadecimal, because neo4j-admin takes a leading "-" for an option.
            password=kept.password if kept else secrets.token_hex(16),
        )
        if access != kept:
            with writing(self.folder, VARIABLE):
                write_private(self.folder / "access.json", json.dumps(asdict(access), indent=1))
        return access

    def configure(self, access: Access, settings: Settings) -> None:
        """Write neo4j.conf and make the folders that Neo4j expects."""
        text = _CONF + (_CONF_5 if self.version.startswith("5.") else _CONF_2026)
        with writing(self.folder, VARIABLE):
            for folder in (self.conf, self.logs, self.folder / "data", self.folder / "run"):
                folder.mkdir(exist_ok=True)
            (self.conf / "neo4j.conf").write_text(
                text.format(
                    loopback=LOOPBACK,
                    bolt=access.bolt,
                    http=access.http,
                    heap=settings.neo4j_heap,
                    page_cache=settings.neo4j_page_cache,
                ),
                encoding="utf-8",
            )


def is_free(port: int) -> bool:
    """Whether a server could listen at this loopback port now."""
    with socket.socket() as probe:
        if sys.platform != "win32":
            # As Java does it: what an earlier server's connections left behind is no hindrance.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _ports(kept: Access | None) -> tuple[int, int]:
    """The kept ports; 0 for one that is not free, or not known."""
    if kept is None:
        return 0, 0
    deadline = time.monotonic() + _PORT_SECONDS
    while time.monotonic() < deadline and not (is_free(kept.bolt) and is_free(kept.http)):
        time.sleep(0.05)
    return kept.bolt * is_free(kept.bolt), kept.http * is_free(kept.http)


def _free_port(other: int) -> int:
    for port in random.sample(_PORTS, 200):
        if port != other and is_free(port):
            return port
    raise ServerError(
        f"No free port was found on {LOOPBACK} between {_PORTS.start} and {_PORTS.stop}: end the"
        " programs that hold them, or set NEO4J_URI to a Neo4j of your own."
    )
