"""Packages that only some formats need, imported when a file of such a format is read."""

from importlib import import_module
from typing import Any

from graphreader.errors import DocumentError


def optional(package: str, shown: str) -> Any:
    """The package; a DocumentError that says what to install where it is missing."""
    try:
        return import_module(package)
    except ImportError as error:
        raise DocumentError(f"{shown} needs a further package: pip install {package}") from error
