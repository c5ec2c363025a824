"""The import of the Neo4j driver, without packages that slow down the start of a command."""

import sys

_UNUSED = ("numpy", "pandas", "pyarrow")


def import_driver() -> None:
    """Import `graphreader.store` while numpy, pandas and pyarrow cannot be imported.

    The driver imports them, where they are installed, only to accept their types as parameters,
    which GraphReader never passes. pandas alone would take half a second of CPU time, a tenth of
    the imports of `ask`.
    """
    hidden = [name for name in _UNUSED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: not importable
    try:
        import graphreader.store.connection  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]
