"""Prompts are text files, one a task: a head that is not sent, a system part, a user part.

The system part is fixed and comes first, so that providers' prompt caches work; the user part
holds `$name` places for `Task.values()`. What comes from texts stands between marks of the user
part (`<chunk>` ... `</chunk>`), and a value can neither close nor open such a mark.

Files of a person's own folder replace ours of the same name. They are checked when they are read,
so that a mistake in one of them is told at the start and not in the middle of a run.
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
    r"\s*<!--(?P<head>.*?)-->\s*^# System\s*$(?P<system>.*?)^# User\s*$(?P<user>.*)",
    re.DOTALL | re.MULTILINE,
)

_END_MARK = re.compile(r"</(\w+)>")
_ENDING = ".md"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt file. `head` says which figure it follows, what goes in, what comes out."""

    head: str
    system: str
    user: str

    @property
    def names(self) -> frozenset[str]:
        """The `$name` places of the user part."""
        return frozenset(Template(self.user).get_identifiers())

    def render(self, values: Mapping[str, str]) -> str:
        """The user part with its places filled. Raises KeyError where a value is missing."""
        mark = _marks_of(self.user)
        if mark is None:
            return Template(self.user).substitute(values)
        # "‹" instead of "<": still readable, but no mark any more.
        disarmed = {
            name: mark.sub("‹", value) if "<" in value else value for name, value in values.items()
        }
        return Template(self.user).substitute(disarmed)


class Prompts:
    """The prompts of all tasks: ours, or those of `folder` where it has a file of the same name.

    `version` is eight characters that change when the sent text of any prompt changes. Raises
    SettingsError where the folder or one of its files cannot be used.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._prompts = {**_ours(), **(_of_folder(folder.expanduser()) if folder else {})}
        self.version = self.version_of(*self._prompts)

    def version_of(self, *names: str) -> str:
        """The same of these prompts alone. Raises KeyError where there is none of a name."""
        prompts = [(name, self.named(name)) for name in sorted(names)]
        sent = "\x00".join(f"{name}\x00{one.system}\x00{one.user}" for name, one in prompts)
        return sha256(sent.encode()).hexdigest()[:8]

    def of(self, task: Task[Any]) -> Prompt:
        """The prompt that belongs to the task."""
        return self.named(task.prompt)

    def named(self, name: str) -> Prompt:
        """The prompt of that name. Raises KeyError where there is none."""
        return self._prompts[name]


@cache
def _ours() -> Mapping[str, Prompt]:
    """The prompts of the package, read once a process."""
    folder = files("graphreader") / "prompts"
    return {
        file.name.removesuffix(_ENDING): _parsed(file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(_ENDING)
    }


@cache
def _marks_of(user: str) -> re.Pattern[str] | None:
    """What begins like one of the marks of a user part, if it has any."""
    marks = "|".join(sorted(set(_END_MARK.findall(user))))
    return re.compile(rf"<(?=\s*/?\s*(?:{marks})\b)", re.IGNORECASE) if marks else None


def _parsed(text: str) -> Prompt:
    """The prompt in a file's text. Raises ValueError with what is wrong and what to do."""
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise ValueError(
            "does not have its three parts: begin it with a comment (<!-- ... -->), then put a "
            "line '# System' and a line '# User', each with its text below"
        )
    return Prompt(**{part: content.strip() for part, content in parts.groupdict().items()})


def _of_folder(folder: Path) -> dict[str, Prompt]:
    """The prompts of a person's folder. What is hidden, or left behind by an editor, is none."""
    try:
        found = sorted(file for file in folder.iterdir() if not _is_passed_over(file))
    except OSError as error:
        raise SettingsError(
            f"The folder of prompts {folder} cannot be read ({error.strerror}): set "
            "GRAPHREADER_PROMPTS to a folder with prompt files, or leave it out."
        ) from None
    return {file.stem: _read(file) for file in found}


def _is_passed_over(file: Path) -> bool:
    return file.name.startswith(".") or file.name.endswith("~") or file.is_dir()


def _read(file: Path) -> Prompt:
    """A person's prompt file. Raises SettingsError."""
    try:
        our = _ours().get(file.stem) if file.suffix == _ENDING else None
        if our is None:
            names = ", ".join(f"{name}{_ENDING}" for name in sorted(_ours()))
            raise ValueError(f"is the file of no prompt: call it one of {names}, or move it away")
        prompt = _parsed(file.read_text(encoding="utf-8-sig"))
        _check(prompt, our)
    except OSError as error:
        raise SettingsError(
            f"The prompt file {file} cannot be read ({error.strerror}): give the permission, or "
            "move it away."
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(f"The prompt file {file} is not UTF-8: save it as UTF-8.") from None
    except ValueError as error:
        raise SettingsError(f"The prompt file {file} {error}.") from None
    return prompt


def _check(prompt: Prompt, our: Prompt) -> None:
    """Raise ValueError where the prompt's places are not those of ours."""
    wanted = " ".join(f"${name}" for name in sorted(our.names))
    if not Template(prompt.user).is_valid():
        raise ValueError(
            "has a '$' under '# User' that begins no name: write '$$' for the sign itself"
        )
    if unknown := sorted(prompt.names - our.names):
        raise ValueError(f"has a place ${unknown[0]} that nothing fills: its places are {wanted}")
    if missing := sorted(our.names - prompt.names):
        raise ValueError(f"lacks the place ${missing[0]} under '# User': its places are {wanted}")
    if misplaced := sorted(our.names & set(Template(prompt.system).get_identifiers())):
        raise ValueError(
            f"has the place ${misplaced[0]} under '# System', where none is filled: move it under "
            "'# User'"
        )
    if not prompt.system:
        raise ValueError("says nothing under '# System': say there what is to be done")
