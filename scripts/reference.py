"""Writes docs/commands.md and docs/settings.md from the code: `python -m scripts.reference`."""

import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from typer.main import get_command

from graphreader.cli.app import app
from graphreader.settings import Settings, variable

DOCS = Path(__file__).parents[1] / "docs"
FOLDERS = {"home": "the user's data folder", "cache": "the user's cache folder"}

COMMANDS = """# Commands

All commands and their options, made from the code by `python -m scripts.reference`. Every command
explains itself with `--help`.

Exit codes: 0 for success, 1 for a failure, 2 for wrong usage, 128 plus the number of the signal for
an interruption (130 for Ctrl-C).
"""

SETTINGS = """# Settings

All settings, made from the code by `python -m scripts.reference`. A setting is an environment
variable, or a line of the file `.env` in the working folder or a folder above it; in Python it is a
field of `graphreader.Settings`. An option of a command overrides its setting. Sizes are in tokens,
times in seconds.
"""


def commands() -> str:
    """The page about the commands."""
    root: Any = get_command(app)
    sections = [COMMANDS, _section("graphreader", root)]
    sections += [_section(f"graphreader {name}", command) for name, command in _leaves(root)]
    return "\n".join(sections)


def _leaves(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def _section(name: str, command: Any) -> str:
    """A heading with the arguments, the help, and a row for each option."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    shown = " ".join([name, *map(_argument, arguments)])
    text = inspect.cleandoc(command.help or "").replace("\n\n", " ").replace("\n", " ")
    lines = [f"## `{shown}`", "", text, ""]
    rows = [(f"`{_argument(one)}`", one.help or "", "") for one in arguments]
    rows += [(_names(one), one.help or "", _default(one)) for one in options]
    if rows:
        lines += ["| argument or option | meaning | default |", "| --- | --- | --- |"]
        lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def _argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    repeated = "..." if argument.nargs == -1 else ""
    return f"{name}{repeated}" if argument.required else f"[{name}{repeated}]"


def _names(option: Any) -> str:
    names = [*option.opts, *option.secondary_opts]
    value = option.metavar
    if value is None and getattr(option, "is_flag", False) is False:
        value = "|".join(_choices(option)) or option.name.upper()
    return ", ".join(f"`{name} {value}`" if value else f"`{name}`" for name in names)


def _choices(option: Any) -> list[str]:
    """The choices of an option that has some, as its own help names them."""
    shown = option.display_type_rich(None) or ""
    return re.findall(r"[\w-]+", shown) if "|" in shown else []


def _default(option: Any) -> str:
    value = option.default
    if callable(value) or value in (None, False, "", [], ()):
        return ""
    return f"`{getattr(value, 'value', value)}`"


def settings() -> str:
    """The page about the settings."""
    lines = [SETTINGS, "| variable | type | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        row = (
            f"`{variable(name)}`",
            _type(field.annotation),
            FOLDERS.get(name, default),
            field.description or "",
        )
        lines.append(f"| {' | '.join(_cell(cell) for cell in row)} |")
    return "\n".join([*lines, ""])


def _type(annotation: Any) -> str:
    """`integer`, `text`, `"paper"` or `"fast"`, ..."""
    if get_origin(annotation) in (Union, types.UnionType):
        return _type(next(one for one in get_args(annotation) if one is not type(None)))
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(annotation))
    names = {bool: "`true` or `false`", int: "integer", float: "number", str: "text"}
    names |= {Path: "path", SecretStr: "secret"}
    return names[annotation]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


PAGES = {"commands.md": commands, "settings.md": settings}


def main() -> None:
    """Write both pages."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
