"""Prompts are text files, one a task: a head that is not sent, a system part, a user part.

The system part is fixed and comes first, so that providers' prompt caches work; the user part
holds `$name` places for `Task.values()`. What comes from texts stands between marks of the user
part (`<chunk>` ... `</chunk>`), and a value can neither close nor open such a mark.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any

from graphreader.deciding.tasks import Task

_PARTS = re.compile(
    r"\s*<!--(?P<head>.*?)-->\s*^# System\s*$(?P<system>.*?)^# User\s*$(?P<user>.*)",
    re.DOTALL | re.MULTILINE,
)
_END_MARK = re.compile(r"</(\w+)>")


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
        marks = "|".join(sorted(set(_END_MARK.findall(self.user))))
        if not marks:
            return Template(self.user).substitute(values)
        # "‹" instead of "<": still readable, but no mark any more.
        mark = re.compile(rf"<(?=\s*/?\s*(?:{marks})\b)", re.IGNORECASE)
        return Template(self.user).substitute(
            {name: mark.sub("‹", value) for name, value in values.items()}
        )


@cache
def load(name: str) -> Prompt:
    """The prompt of that name, read from the package once a process."""
    text = (files("graphreader.deciding") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise ValueError(f"The prompt {name}.md needs a head comment, '# System' and '# User'")
    return Prompt(**{part: content.strip() for part, content in parts.groupdict().items()})


def prompt_of(task: Task[Any]) -> Prompt:
    """The prompt that belongs to the task."""
    return load(task.prompt)


@cache
def version() -> str:
    """Eight characters that change when the sent text of any prompt file changes."""
    folder = files("graphreader.deciding") / "prompts"
    names = sorted(
        file.name.removesuffix(".md") for file in folder.iterdir() if file.name.endswith(".md")
    )
    sent = "\x00".join(f"{name}\x00{load(name).system}\x00{load(name).user}" for name in names)
    return sha256(sent.encode()).hexdigest()[:8]
