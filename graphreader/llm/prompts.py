"""Prompts are text files, one per task: a comment, a system part and a user part.

The fixed system part comes first, for providers' prompt caches. Text from documents stands between
tags of the user part (`<chunk>` ... `</chunk>`), which no value can open or close.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from graphreader.errors import SettingsError
from graphreader.llm.protocols import Task

_PARTS = re.compile(
    r"\s*<!--.*?-->\s*^# System\s*$(?P<system>.*?)^# User\s*$(?P<user>.*)",
    re.DOTALL | re.MULTILINE,
)
_END_TAG = re.compile(r"</(\w+)>")
_SUFFIX = ".md"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A parsed prompt file: the system text, and the user text with `$name` places."""

    system: str
    user: str

    @property
    def names(self) -> frozenset[str]:
        """The `$name` places of the user part."""
        return frozenset(Template(self.user).get_identifiers())

    def render(self, values: Mapping[str, str]) -> str:
        """Fill the places of the user part. Raises KeyError where a value is missing."""
        tags = _tags_of(self.user)
        if tags is not None:
            # "‹" in place of "<": still readable, but no tag any more.
            values = {
                name: tags.sub("‹", value) if "<" in value else value
                for name, value in values.items()
            }
        return Template(self.user).substitute(values)


class Prompts:
    """All prompts: the files in `folder`, else the package's own. Raises SettingsError."""

    def __init__(self, folder: Path | None = None) -> None:
        own = _read_folder(folder.expanduser()) if folder else {}
        self._prompts = {**_package_prompts(), **own}
        self.version = self.version_of(*self._prompts)

    def version_of(self, *names: str) -> str:
        """A hash over the named prompts only. Raises KeyError for an unknown name."""
        prompts = [(name, self.named(name)) for name in sorted(names)]
        sent = "\x00".join(f"{name}\x00{one.system}\x00{one.user}" for name, one in prompts)
        return sha256(sent.encode()).hexdigest()[:8]

    def of(self, task: Task[Any]) -> Prompt:
        """The prompt of the task."""
        return self.named(task.prompt)

    def named(self, name: str) -> Prompt:
        """The prompt of that name. Raises KeyError for an unknown name."""
        return self._prompts[name]


@cache
def _package_prompts() -> Mapping[str, Prompt]:
    folder = files("graphreader") / "prompts"
    return {
        file.name.removesuffix(_SUFFIX): _parse(file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(_SUFFIX)
    }


@cache
def _tags_of(user: str) -> re.Pattern[str] | None:
    """Return a pattern for the start of any tag of the user part; None without tags."""
    tags = "|".join(sorted(set(_END_TAG.findall(user))))
    return re.compile(rf"<(?=\s*/?\s*(?:{tags})\b)", re.IGNORECASE) if tags else None


def _parse(text: str) -> Prompt:
    """Parse the text of a prompt file. Raises ValueError that says how to mend the file."""
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise ValueError(
            "does not have its three parts: begin it with a comment (<!-- ... -->), then put a "
            "line '# System' and a line '# User', each with its text below"
        )
    return Prompt(**{part: content.strip() for part, content in parts.groupdict().items()})


def _read_folder(folder: Path) -> dict[str, Prompt]:
    try:
        files = [one for one in sorted(folder.iterdir()) if one.suffix == _SUFFIX]
    except OSError as error:
        raise SettingsError(
            f"The folder of prompts {folder} cannot be read ({error.strerror}): set "
            "GRAPHREADER_PROMPTS to a folder with prompt files, or leave it out."
        ) from None
    return {file.stem: _read_file(file) for file in files if not file.name.startswith(".")}


def _read_file(file: Path) -> Prompt:
    try:
        original = _package_prompts().get(file.stem)
        if original is None:
            names = ", ".join(f"{name}{_SUFFIX}" for name in sorted(_package_prompts()))
            raise ValueError(f"is the file of no prompt: call it one of {names}, or move it away")
        prompt = _parse(file.read_text(encoding="utf-8-sig"))
        _check(prompt, original.names)
        return prompt
    except OSError as error:
        problem = f"cannot be read ({error.strerror}): give the permission, or move it away"
    except UnicodeDecodeError:
        problem = "is not UTF-8: save it as UTF-8"
    except ValueError as error:
        problem = str(error)
    raise SettingsError(f"The prompt file {file} {problem}.")


def _check(prompt: Prompt, names: frozenset[str]) -> None:
    """Raise ValueError where the places of the prompt are not `names`."""
    if not Template(prompt.user).is_valid():
        raise ValueError(
            "has a '$' under '# User' that begins no name: write '$$' for the sign itself"
        )
    if prompt.names != names or names & set(Template(prompt.system).get_identifiers()):
        places = " ".join(f"${name}" for name in sorted(names))
        raise ValueError(f"must have the places {places} under '# User', and no others")
