"""Where a Neo4j is, and how to enter."""

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from graphreader.errors import SettingsError

_SCHEME = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://.")


@dataclass(frozen=True, slots=True)
class Address:
    """`uri` is for drivers; `database` None is the user's home database.

    `embedded`: the server is one that we start ourselves.
    """

    uri: str
    username: str
    password: str = field(repr=False)
    database: str | None = None
    embedded: bool = False

    @property
    def place(self) -> str:
        """Host and port, for logs."""
        return urlsplit(self.uri).netloc

    @property
    def routed(self) -> bool:
        """Whether it may be a cluster, whose members do not know everything at once."""
        return self.uri.startswith("neo4j")

    def check(self) -> None:
        """Say what is wrong with it before a driver does, and without a password in it.

        Raises SettingsError.
        """
        uri = self.uri
        if "@" in uri:
            raise SettingsError(
                "NEO4J_URI holds a user or a password: put them into NEO4J_USERNAME and "
                "NEO4J_PASSWORD."
            )
        if not _SCHEME.match(uri):
            raise SettingsError(
                f"NEO4J_URI is {uri!r}, but must begin with bolt://, neo4j://, bolt+s:// or "
                "neo4j+s://: the address of a Neo4j as drivers use it."
            )
        try:
            known = bool(urlsplit(uri).hostname) and urlsplit(uri).port != 0
        except ValueError:
            known = False
        if not known:
            raise SettingsError(
                f"NEO4J_URI is {uri!r}, but must look like bolt://HOST:PORT, with a port up to "
                "65535."
            )

    def nobody(self) -> str:
        """A sentence where nobody answers there."""
        if self.embedded:
            return (
                "The embedded Neo4j has ended: the same command starts it again, and what was read "
                "is kept."
            )
        encrypted = "+s" in self.uri.partition(":")[0]
        scheme = ", its scheme too: +s asks for encryption" if encrypted else ""
        return (
            f"No Neo4j answers at {self.uri}: start it, or check NEO4J_URI{scheme} (unset it to "
            "use the embedded server)."
        )
