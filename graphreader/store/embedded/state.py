"""Which process is our server: remembered in a file, and recognized without trusting the file.

A process is ours when its pid, the time it began and the home on its command line all fit; so a
killed server, a reboot, a pid that went to somebody else and a copied home are all noticed.
"""

import json
from dataclasses import asdict, dataclass

import psutil

from graphreader.store.embedded.folders import write_private, writing
from graphreader.store.embedded.home import VARIABLE, Home

# The system's answer for one process wavers a little when its clock is set.
_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class State:
    """A server process: `began` in seconds of the epoch, `version` as the server says it.

    `ready` is false until the server has answered for the first time.
    """

    pid: int
    began: float
    home: str
    version: str
    ready: bool

    @classmethod
    def of(cls, process: psutil.Process, home: Home, version: str, ready: bool) -> "State":
        """The state to remember for a process that runs."""
        return cls(process.pid, process.create_time(), str(home.folder), version, ready)

    @classmethod
    def read(cls, home: Home) -> "State | None":
        """What was remembered last; None when that is nothing or cannot be read."""
        try:
            return cls(**json.loads((home.folder / "server.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, home: Home) -> None:
        """Remember it, in a file that only its owner may read."""
        with writing(home.folder, VARIABLE):
            write_private(home.folder / "server.json", json.dumps(asdict(self), indent=1))

    def process(self, home: Home) -> psutil.Process | None:
        """The process, if it still runs and is the server of this home."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.began) < _SECONDS
        except psutil.Error:
            return None
        same = same and self.home == str(home.folder) and serves(process, home)
        return process if same else None


def forget(home: Home) -> None:
    """Remember that no server runs."""
    with writing(home.folder, VARIABLE):
        (home.folder / "server.json").unlink(missing_ok=True)


def home_argument(home: Home) -> str:
    """The argument on a server's command line that says whose it is."""
    return f"--home-dir={home.folder}"


def serves(process: psutil.Process, home: Home) -> bool:
    """Whether a process is a living server of this home, by its command line."""
    try:
        return home_argument(home) in process.cmdline() and not is_gone(process)
    except psutil.Error:
        return False


def is_gone(process: psutil.Process) -> bool:
    """Whether a process has ended, including one that its parent has not taken notice of."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def find(home: Home) -> psutil.Process | None:
    """The server process of this home: the remembered one, else any on this machine."""
    state = State.read(home)
    remembered = state.process(home) if state else None
    if remembered:
        return remembered
    return next((one for one in psutil.process_iter() if serves(one, home)), None)
