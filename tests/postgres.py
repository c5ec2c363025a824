"""A PostgreSQL of the tests' own, in a temporary folder, with a new database for whoever asks."""

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import pytest

from tests.terminal import closed_port

PASSWORD = "correct-horse"
_OPTIONS = ("-c", "fsync=off", "-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1")


class Postgres:
    """The server; it refuses to run as root, so that it gets another user there."""

    def __init__(self) -> None:
        _psycopg()
        self._folder = Path(tempfile.mkdtemp(prefix="graphreader-postgres-"))
        self._user: Any = "nobody" if os.geteuid() == 0 else None
        self._port = closed_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        password = self._folder / "password"
        password.write_text(PASSWORD)
        if self._user:
            for path in (self._folder, password):
                shutil.chown(path, self._user)
        access = ("--username=tests", f"--pwfile={password}", "--auth=scram-sha-256")
        command = [program("initdb"), "--no-sync", "--encoding=UTF8", "--locale=C", *access]
        subprocess.run(
            [*command, str(self._data)],
            user=self._user,
            cwd=self._folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [program("postgres"), "-D", str(self._data), "-p", str(self._port), *_OPTIONS]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, user=self._user, cwd=self._folder, stdout=log, stderr=log
            )
        while True:
            try:
                self._connect().close()
                return
            except _psycopg().OperationalError:
                assert self._process.poll() is None, (self._folder / "log").read_text()
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop it at once; what is connected loses its connection."""
        if self._process:
            self._process.send_signal(2)  # "fast": open transactions are rolled back
            self._process.wait()
            self._process = None

    def new_database(self) -> str:
        """The address of an empty database."""
        name = f"t{uuid4().hex}"
        with closing(self._connect()) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def address(self, name: str) -> str:
        """The address of a database."""
        return f"postgresql://tests:{PASSWORD}@127.0.0.1:{self._port}/{name}"

    def _connect(self) -> Any:
        return _psycopg().connect(self.address("postgres"), autocommit=True)


def program(name: str) -> str:
    """A program of PostgreSQL; a test without one is skipped, or fails where it must run."""
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]  # Debian's are on no path
    if found := shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *map(str, newest)])):
        return found
    missing = "No PostgreSQL: install one (Debian: apt-get install postgresql)."
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


def _psycopg() -> Any:
    return (import_module if os.environ.get("CI") else pytest.importorskip)("psycopg")
