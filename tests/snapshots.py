"""Snapshots: what users see, frozen in JSON files beside the tests that compare it.

`make snapshots` writes them anew. They change only on purpose, and CHANGELOG.md names the change.
"""

import difflib
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

VOLATILE = {"began", "updated", "created", "seconds", "progress"}
"""Keys whose values are times or durations, or how far a job was when it was seen."""


class Snapshots:
    """The snapshots of one test module, each a file in `folder`; with `renew` all are new."""

    def __init__(self, folder: Path, *, renew: bool) -> None:
        self._folder = folder
        self._renew = renew
        for former in folder.glob("*.json") if renew else ():
            former.unlink()

    def check(self, name: str, value: Any, **known: str) -> None:
        """Fail with a diff unless `value` is the snapshot; texts of `known` stand by their names.

        `known` are values of this run, such as the id of a run or the address of a server.
        """
        text = json.dumps(steady(value, known), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        file = self._folder / f"{name}.json"
        if self._renew:
            self._folder.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
            return
        kept = file.read_text(encoding="utf-8") if file.exists() else ""
        if text != kept:
            lines = difflib.unified_diff(
                kept.splitlines(), text.splitlines(), file.name, "now", lineterm="", n=2
            )
            pytest.fail("\n".join(lines), pytrace=False)


def steady(value: Any, known: Mapping[str, str]) -> Any:
    """A JSON value without what differs from run to run: values of VOLATILE keys, and `known`.

    A vector becomes its length and a hash of its rounded numbers.
    """
    match value:
        case Mapping():
            return {
                steady(str(key), known): f"<{key}>"
                if key in VOLATILE and item is not None
                else steady(item, known)
                for key, item in value.items()
            }
        case [float(), *_] if len(value) > 100:
            numbers = json.dumps([round(one, 4) for one in value])
            return f"<{len(value)} numbers: {sha256(numbers.encode()).hexdigest()[:12]}>"
        case list() | tuple():
            return [steady(item, known) for item in value]
        case str():
            for name, text in known.items():
                value = value.replace(text, f"<{name}>")
            return value
        case _:
            return value
