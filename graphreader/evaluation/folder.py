"""The folder of an evaluation: what was asked and how, and what came of it.

`run.json` holds the arguments and settings, `readings.jsonl` a line for each reading,
`equal_reading.jsonl` what rankings would have read. One process at a time works on it.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from filelock import FileLock, Timeout

from graphreader.errors import UsageError
from graphreader.whole_file import whole

READINGS, EQUAL_READING, RUN = "readings.jsonl", "equal_reading.jsonl", "run.json"


class Folder:
    """A folder that is this process's own while it is entered."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()
        self._lock = FileLock(self.path / ".lock")
        self._mark = uuid4().hex

    def __enter__(self) -> Self:
        """Make it where it is missing, and take it. Raises UsageError where that cannot be."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(
                f"Another evaluation works in {self.path}: wait for its end, or name another --out."
            ) from None
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written to ({error.strerror}): name another --out."
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    @property
    def place(self) -> str:
        """A name that no other folder has, nor a copy of it, for what is kept elsewhere for it."""
        mark = (self._run() or {}).get("mark", self._mark)
        return f"{mark} {self.path.resolve()}"

    @property
    def readings(self) -> Path:
        """A line for each reading."""
        return self.path / READINGS

    @property
    def equal_reading(self) -> Path:
        """A line for each ranking compared with a reading."""
        return self.path / EQUAL_READING

    def check(self, fixed: Mapping[str, Any]) -> None:
        """See that `fixed` is what it was when the folder was begun.

        What is asked into one folder must be asked the same way, or its figures could not be
        compared. What was not told yet is as good as the same. Raises UsageError, which names what
        is not.
        """
        before = self._run()
        if before is None and self.readings.exists() and self.readings.stat().st_size:
            raise UsageError(
                f"{self.readings} is there without its {RUN}: name another --out, or put it back."
            )
        begun = before["fixed"] if before else fixed
        for name, value in fixed.items():
            if (was := begun.get(name, value)) != value:
                raise UsageError(
                    f"{self.path} was begun with {name} {_shown(was)}, not {_shown(value)}: name "
                    "another --out, or say the same again."
                )

    def tell(self, fixed: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        """Write down what is asked, and how. `told` is that of this command, and has its words."""
        before = self._run() or {}
        commands = [*before.get("commands", []), told["command"]]
        fixed = {**before.get("fixed", {}), **fixed}
        mark = before.get("mark", self._mark)
        self._write({"fixed": fixed, **told, "commands": commands, "mark": mark})

    @property
    def leaves_graphs(self) -> bool:
        """Whether graphs may stand in Neo4j that were to be thrown away."""
        return bool((self._run() or {}).get("leaves_graphs"))

    def graphs_are_gone(self) -> None:
        """Write down that none of them does."""
        self._write({**(self._run() or {}), "leaves_graphs": False})

    def _write(self, run: Mapping[str, Any]) -> None:
        with whole(self.path / RUN) as file:
            line = json.dumps(run, ensure_ascii=False, indent=1)
            file.write(line.encode("utf-8", "replace") + b"\n")

    def _run(self) -> dict[str, Any] | None:
        path = self.path / RUN
        if not path.exists():
            return None
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("fixed"), dict):
            raise UsageError(f"{path} is none of an evaluation: name another --out.")
        return found


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
