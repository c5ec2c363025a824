"""Packages that only some metrics need, imported when such a metric is first computed."""

import warnings
from importlib import import_module
from typing import Any

from graphreader.errors import UsageError


def package(module: str, shown: str) -> Any:
    """The module; a UsageError that says what to install where it is missing.

    What it warns of while it is imported is about its own code (jieba: escapes, pkg_resources).
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{shown} needs the package {module.partition('.')[0].replace('_', '-')}: "
            "pip install 'graphreader[evaluate]'"
        ) from error
