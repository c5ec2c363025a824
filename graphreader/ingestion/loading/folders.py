"""Folders of files: the files in them that patterns choose, and documents whose files are gone."""

import os
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from graphreader.errors import DocumentError, UsageError
from graphreader.files import composed, file_source
from graphreader.ingestion.loading.encodings import is_binary
from graphreader.ingestion.loading.formats import (
    CODE_SUFFIXES,
    JSON_LINES,
    MAILBOX,
    PICTURES,
    SUFFIXES,
    open_file,
)

MAX_DEPTH = 100
"""Deepest level of nested folders that is read; Python walks 1,000 at most."""


class PathPatterns:
    """Patterns of paths in a folder, as in .gitignore, and the parts of paths that they match.

    `*` and `?` match in one part, `**` any parts; without "/" a pattern matches at any depth. A
    pattern that matches a folder holds for its contents. Accents match in either way of writing.
    """

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._included = [_pattern_parts(pattern) for pattern in include or ["**"]]
        self._excluded = [_pattern_parts(pattern) for pattern in exclude]

    def exclude(self, path: Sequence[str]) -> bool:
        """Whether a file or folder is hidden or excluded."""
        path = _composed(path)
        return path[-1].startswith(".") or any(_matches(one, path) for one in self._excluded)

    def include(self, path: Sequence[str]) -> bool:
        """Whether a file is wanted, by its own name; folders above it may be hidden."""
        path = _composed(path)
        return not self.exclude(path) and any(_matches(one, path) for one in self._included)

    def name_suffix(self, path: Sequence[str]) -> bool:
        """Whether a pattern to include a file ends with its suffix, as "*.py" does."""
        path = _composed(path)
        suffix = Path(path[-1]).suffix.lower()
        named = [one for one in self._included if one[-1].lower().endswith(suffix)]
        return any(_matches(one, path) for one in named)


def _composed(path: Sequence[str]) -> list[str]:
    return [unicodedata.normalize("NFC", part) for part in path]


def _pattern_parts(pattern: str) -> list[str]:
    parts = _composed(pattern.strip("/").split("/"))
    return parts if "/" in pattern.rstrip("/") else ["**", *parts]


def _matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a pattern matches a path or a folder above it; both are given as parts."""
    if not pattern or not path:
        return not pattern
    if pattern[0] == "**":
        rest = pattern[1:]
        return not rest or any(_matches(rest, path[at:]) for at in range(len(path)))
    return fnmatchcase(path[0], pattern[0]) and _matches(pattern[1:], path[1:])


def files_in(
    folder: Path,
    include: Sequence[str],
    exclude: Sequence[str],
    targets: Sequence[str] = (),
    ocr: str = "",
) -> tuple[list[Path], dict[Path, str], Counter[str]]:
    """List the files of known formats below a folder that match `include` but not `exclude`.

    With `ocr` pictures are listed, too. The second result lists skipped entries with the reason:
    links out of the folder, unless they lead into `targets`, and folders deeper than MAX_DEPTH.
    Both are sorted; hidden files are ignored; a folder that cannot be opened is listed. The third
    result counts the other files that match by their suffixes, with source code, unless a pattern
    names its suffix ("*.py").
    """
    patterns = PathPatterns(include, exclude)
    files: list[Path] = []
    left_out: dict[Path, str] = {}
    unread: Counter[str] = Counter()
    seen: set[str] = set()
    top = os.path.realpath(folder)

    def is_followed(path: Path) -> bool:
        """Whether a path is no link, or links into `targets`. Other links would repeat files."""
        real = os.path.realpath(path) if path.is_symlink() else ""
        if not real or any(is_in(real, target) for target in targets):
            return True
        if not is_in(real, top):
            left_out[path] = (
                "is a link out of the folder: to follow it, name its target with --follow-links "
                f"{shlex.quote(real)}."
            )
        return False

    walk = os.walk(folder, onerror=lambda e: files.append(Path(e.filename)), followlinks=True)
    for root, folders, names in walk:
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        if len(Path(root).parts) - len(folder.parts) > MAX_DEPTH:
            left_out[Path(root)] = f"lies more than {MAX_DEPTH} folders deep: name it by itself."
            folders.clear()
            continue
        parts = Path(root).relative_to(folder).parts
        folders[:] = sorted(
            name
            for name in folders
            if not patterns.exclude((*parts, name)) and is_followed(Path(root, name))
        )
        for name in (one for one in names if patterns.include((*parts, one))):
            path = Path(root, name)
            if not _is_read(path, (*parts, name), patterns, ocr):
                unread[path.suffix.lower()] += 1
            elif is_followed(path):
                files.append(path)
    return sorted(files), dict(sorted(left_out.items())), unread


def _is_read(path: Path, parts: Sequence[str], patterns: PathPatterns, ocr: str) -> bool:
    """Whether a file is of a known format; source code only if a pattern names its suffix."""
    is_code = path.suffix.lower() in CODE_SUFFIXES
    return patterns.name_suffix(parts) if is_code else _is_known(path, ocr)


def _is_known(path: Path, ocr: str) -> bool:
    """Whether a file has a known suffix, or no suffix and begins like a text."""
    if path.suffix or path.is_symlink():
        return path.name.lower().endswith((*SUFFIXES, *PICTURES) if ocr else SUFFIXES)
    try:
        with open_file(path, str(path)) as file:
            start = file.read(4_096)
    except DocumentError:
        return False
    return bool(start) and not is_binary(start)


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it; both are absolute."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def sources_without_file(
    folder: Path, sources: Iterable[str], include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> list[str]:
    """Return the sources of documents that a folder had, by patterns, and has no more.

    A document of a part of a file ("notes.jsonl#3") lasts as long as the file; a file that exists
    is never gone, whether it can be read or not. Raises UsageError if the folder is missing,
    empty or not readable as a whole, or if more than half of its documents would go: then a disk
    may be missing.
    """
    given, top = str(folder), os.path.realpath(folder)
    if not os.path.isdir(top):
        raise _not_pruned(f"{given} is no folder, or is missing")
    errors = list[OSError]()
    present = {
        name
        for root, _, names in os.walk(top, onerror=errors.append)
        for one in names
        for name in _names_of(os.path.join(root, one))
    }
    if errors:
        reason = errors[0].strerror or type(errors[0]).__name__
        raise _not_pruned(f"{errors[0].filename} cannot be listed ({reason})")
    patterns, base = PathPatterns(include, exclude), file_source(top).rstrip(os.sep) + os.sep
    documents, missing = 0, list[str]()
    for source in sources:
        files = _files_of(source)
        path = files[0].removeprefix(base).split(os.sep)
        is_hidden = any(part.startswith(".") for part in path)
        if not source.startswith(base) or is_hidden or not patterns.include(path):
            continue
        documents += 1
        if not present.intersection([source, *files]):
            missing.append(source)
    if missing and not present:
        raise _not_pruned(f"{given} is empty")
    if 2 * len(missing) > documents:
        raise _not_pruned(
            f"{given} lacks the files of {len(missing):,} of its {documents:,} documents, more "
            "than half"
        )
    return missing


def _not_pruned(reason: str) -> UsageError:
    return UsageError(
        f"{reason}: is a disk missing? No document is deleted; `graphreader delete DOCUMENT` "
        "deletes one in any case."
    )


def _names_of(path: str) -> set[str]:
    """The sources that a document of a file has: its path, and where a link leads."""
    return {composed(path), file_source(path)} if os.path.islink(path) else {composed(path)}


def _files_of(source: str) -> list[str]:
    """The files to which a document may belong: before "#" a file of many, or the whole source."""
    ends = [at for at, char in enumerate(source) if char == "#"]
    files = [source[:end] for end in ends if source[:end].lower().endswith((JSON_LINES, MAILBOX))]
    return files or [source]
