"""Pauses and gists that were paid for, kept in a folder: each is a file of its own.

What is kept is found by what it was made from and by whom: the text, the size of pages, the
decider and the version of the prompt, the question of a gist for a task. So nothing becomes wrong
when a text changes, and a reading that was killed goes on at the next page. A file is whole or not
there: processes that read the same text at once may both pay, but none spoils the other's work.
"""

import asyncio
import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from graphreader.whole_file import whole

_ENDING = ".json"


class KeptEpisodes:
    """What is kept under `home`; without a home nothing is.

    `trouble` is a sentence about a folder that cannot be used, or empty: reading goes on without.
    """

    def __init__(self, home: Path | None) -> None:
        self.trouble = ""
        self._home = home

    async def of(self, *about: object) -> "Shelf":
        """What is kept about just this."""
        if self._home is None:
            return Shelf(self, None, {})
        name = sha256(json.dumps([str(one) for one in about]).encode()).hexdigest()[:32]
        folder = self._home / name[:2] / name
        return Shelf(self, folder, await asyncio.to_thread(_read, folder))


class Shelf:
    """What is kept about one text: values by name, plain JSON."""

    def __init__(
        self, kept: KeptEpisodes, folder: Path | None, values: dict[str, dict[str, Any]]
    ) -> None:
        self._kept = kept
        self._folder = folder
        self._values = values

    def get(self, name: str, key: str, kind: type) -> Any:
        """What was kept under that name, if it is of that kind; else None."""
        value = self._values.get(name, {}).get(key)
        return value if isinstance(value, kind) and not isinstance(value, bool) else None

    async def put(self, name: str, value: dict[str, Any]) -> None:
        """Keep it. On the disk when this returns, if it can be written at all."""
        self._values[name] = value
        if self._folder is None or self._kept.trouble:
            return
        try:
            await asyncio.to_thread(_write, self._folder, name, value)
        except OSError as error:
            self._kept.trouble = (
                f"Gists cannot be kept in {self._folder.parent.parent} ({error.strerror}): they "
                "are made anew next time."
            )


def name_of(kind: str, *places: int) -> str:
    """The name of what was decided at these places of a text."""
    return "-".join((kind, *map(str, places)))


def _read(folder: Path) -> dict[str, dict[str, Any]]:
    """All that is there; what cannot be read is not there."""
    try:
        files: Sequence[Path] = sorted(folder.glob(f"[!.]*{_ENDING}"))
    except OSError:
        return {}
    values = {}
    for file in files:
        try:
            value = json.loads(file.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(value, dict):
            values[file.stem] = value
    return values


def _write(folder: Path, name: str, value: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with whole(folder / f"{name}{_ENDING}") as file:
        file.write(json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"))
