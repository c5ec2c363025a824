"""Which files a folder gives."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path


class Patterns:
    """Which paths in a folder are wanted: those that `include` matches and `exclude` does not.

    A pattern is matched against the path relative to the folder, with "/" between its parts, and
    what matches a folder holds for all that lies in it. `*` and `?` stand for characters of one
    part, `[...]` for one of several, `**` for any number of parts. A pattern without "/" may match
    at any depth, as in .gitignore. Without `include` everything is wanted.
    """

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._include = [_compiled(pattern) for pattern in include]
        self._exclude = [_compiled(pattern) for pattern in exclude]

    def want(self, path: str) -> bool:
        """Whether a file of that relative path is wanted."""
        included = not self._include or any(one.fullmatch(path) for one in self._include)
        return included and not self.leave_out(path)

    def leave_out(self, path: str) -> bool:
        """Whether nothing at or below that relative path is wanted."""
        return any(one.fullmatch(path) for one in self._exclude)


def files_in(folder: Path, suffixes: Sequence[str], patterns: Patterns) -> list[Path]:
    """The files in a folder that end in one of `suffixes`, sorted, and folders that are closed.

    All that lies in it is searched, links are followed, each real folder once; hidden files and
    folders are left out. Folders that cannot be opened are given as they are, so that reading them
    says what is wrong.
    """
    return sorted(_walk(folder, tuple(suffixes), patterns))


def _walk(folder: Path, suffixes: tuple[str, ...], patterns: Patterns) -> Iterator[Path]:
    closed: list[Path] = []
    seen: set[str] = set()
    walk = os.walk(folder, onerror=lambda e: closed.append(Path(e.filename)), followlinks=True)
    for root, folders, files in walk:
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        inside = Path(root).relative_to(folder)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not patterns.leave_out((inside / name).as_posix())
        )
        for name in files:
            if name.startswith(".") or not name.lower().endswith(suffixes):
                continue
            if patterns.want((inside / name).as_posix()):
                yield Path(root, name)
    yield from closed


def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern as an expression that matches a whole relative path, or all below it."""
    anchored = "/" in pattern.rstrip("/")
    parts = pattern.strip("/").split("/")
    expression = "" if anchored else "(?:.*/)?"
    for part in parts[:-1]:
        expression += "(?:.*/)?" if part == "**" else _part(part) + "/"
    expression += ".*" if parts[-1] == "**" else _part(parts[-1]) + "(?:/.*)?"
    return re.compile(expression, re.DOTALL)


def _part(pattern: str) -> str:
    """One part of a path: `*`, `?` and `[...]` stand for characters, all others for themselves.

    What follows a `*` is looked for once, where it first stands, but for the last: any other place
    would leave less to the rest. So many of them take no more time than few.
    """
    first, *others = re.sub(r"\*+", "*", pattern).split("*")
    if not others:
        return _signs(first)
    middle = "".join(f"(?>[^/]*?{_signs(one)})" for one in others[:-1])
    return f"{_signs(first)}{middle}[^/]*{_signs(others[-1])}"


def _signs(pattern: str) -> str:
    return "".join(map(_sign, re.findall(r"\[!?\]?[^\]/]+\]|.", pattern, re.DOTALL)))


def _sign(sign: str) -> str:
    if sign == "?":
        return "[^/]"
    if len(sign) == 1:
        return re.escape(sign)
    negated = sign.startswith("[!")
    inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", sign[2 if negated else 1 : -1])
    return f"(?!/)[{'^' if negated else ''}{inside}]"
