"""Access tokens in a database, with their roles, corpora and limits.

A token is shown once, when it is created; the database stores only its SHA-256, which suffices for
256 random bits. A revoked or expired token is refused from the next request on.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from graphreader.database import database_at
from graphreader.documents import check_corpus_name
from graphreader.errors import BudgetError, GraphReaderError, UsageError

T = TypeVar("T")
Role = Literal["reader", "writer", "admin"]
"""The role of a token: a reader asks, a writer also changes texts, an admin has all corpora."""

PREFIX = "gr_"
_DAY = 86_400
_TABLES = """
CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL,
    corpora TEXT,
    created REAL NOT NULL,
    expires REAL,
    questions INTEGER,
    calls INTEGER,
    tokens INTEGER
);
CREATE TABLE IF NOT EXISTS spent (
    name TEXT NOT NULL,
    day INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (name, day)
)
"""
_COLUMNS = "name, role, corpora, created, expires, questions, calls, tokens"


class AccessError(GraphReaderError):
    """The tokens cannot be read or changed."""


class NotAllowedError(Exception):
    """The token's role does not allow the request."""


class LimitError(BudgetError):
    """A limit of the token is reached."""


class InvalidTokenError(LimitError):
    """The token of a request, run or job is revoked or has expired."""


@dataclass(frozen=True, slots=True)
class Token:
    """An access token without its secret; times in epoch seconds.

    `corpora` None means all. Limits: `questions` at once, `calls` and `tokens` per day (UTC); None:
    no limit.
    """

    name: str
    role: Role
    corpora: tuple[str, ...] | None
    created: float
    expires: float | None = None
    questions: int | None = None
    calls: int | None = None
    tokens: int | None = None

    def sees(self, corpus: str) -> bool:
        """Whether the corpus exists for the holder of this token."""
        return self.corpora is None or corpus in self.corpora

    @property
    def writes(self) -> bool:
        """Whether the holder may add and delete texts."""
        return self.role != "reader"

    @property
    def is_limited(self) -> bool:
        """Whether the calls or tokens of a day are limited."""
        return self.calls is not None or self.tokens is not None

    @property
    def has_expired(self) -> bool:
        """Whether the token is refused because of its age."""
        return self.expires is not None and self.expires <= time.time()


LOCAL = Token("local", "admin", None, 0.0, questions=100)
"""The token of all users of this machine, for a server on loopback only, without tokens."""


class TokenStore:
    """The tokens in a SQLite file or PostgreSQL. Methods block, and raise AccessError."""

    def __init__(self, place: Path | str) -> None:
        remedy = "delete it and make new tokens"
        self._database = database_at(place, _TABLES, AccessError, remedy)

    def create(
        self,
        name: str,
        role: Role,
        corpora: Collection[str] = (),
        *,
        days: float | None = None,
        questions: int | None = None,
        calls: int | None = None,
        tokens: int | None = None,
    ) -> str:
        """Create a token and return its secret. Raises UsageError for senseless values."""
        if not name.strip() or len(name) > 100 or not name.isprintable():
            raise UsageError("A token's name has 1 to 100 printable characters: choose another.")
        if name == LOCAL.name:
            raise UsageError(f"{name!r} names the user of a server without tokens: choose another.")
        if role not in get_args(Role):
            raise UsageError(f"There is no role {role!r}: choose {', '.join(get_args(Role))}.")
        if (role == "admin") == bool(corpora):
            raise UsageError(
                "An admin has all corpora, and a reader or a writer the ones that are named: "
                + ("leave out --corpus." if corpora else "name each with --corpus NAME.")
            )
        for corpus in corpora:
            check_corpus_name(corpus)
        secret, now = PREFIX + secrets.token_urlsafe(32), time.time()
        row = (
            *(name, role, json.dumps(sorted(set(corpora))) if corpora else None),
            *(now, now + days * _DAY if days else None, questions, calls, tokens, _hash(secret)),
        )
        statement = (
            f"INSERT INTO tokens ({_COLUMNS}, hash) VALUES ({', '.join('?' * len(row))}) "
            "ON CONFLICT DO NOTHING"
        )
        if not self._database.write(statement, row):
            raise UsageError(
                f"There is a token {name!r} already: revoke it first, or choose another name."
            )
        return secret

    def find(self, secret: str) -> Token | None:
        """Return the token with this secret, unless it is revoked or expired."""
        query = f"SELECT {_COLUMNS} FROM tokens WHERE hash = ?"
        rows = self._database.read(query, _hash(secret))
        token = _token(rows[0]) if rows else None
        return None if token and token.has_expired else token

    async def afind(self, secret: str) -> Token | None:
        """Return the token with this secret, without blocking, like `find`."""
        return await self.arun(lambda tokens: tokens.find(secret))

    async def arun(self, work: Callable[["TokenStore"], T]) -> T:
        """Run `work`, which calls blocking methods, in the database's thread."""
        return await self._database.arun(lambda: work(self))

    def valid(self, name: str) -> Token:
        """Return the token with a name. Raises InvalidTokenError if it is revoked or expired."""
        rows = self._database.read(f"SELECT {_COLUMNS} FROM tokens WHERE name = ?", name)
        token = _token(rows[0]) if rows else None
        if token is None or token.has_expired:
            state = "has expired" if token else "is revoked"
            raise InvalidTokenError(f"The token {name!r} {state}: use another one.")
        return token

    def all(self) -> list[Token]:
        """Return all tokens that are not revoked, sorted by name."""
        rows = self._database.read(f"SELECT {_COLUMNS} FROM tokens ORDER BY name")
        return [_token(row) for row in rows]

    def revoke(self, name: str) -> None:
        """Delete a token by name. Raises UsageError if there is none."""
        if not self._database.write("DELETE FROM tokens WHERE name = ?", (name,)):
            raise UsageError(f"There is no token {name!r}: `graphreader token list` shows them.")

    def check_valid(self, token: Token) -> None:
        """Raise InvalidTokenError if a token is revoked or has expired.

        A token that was made since under its name is another token.
        """
        if self.valid(token.name).created != token.created:
            raise InvalidTokenError(f"The token {token.name!r} is revoked: use another one.")

    def check(self, token: Token) -> None:
        """Raise InvalidTokenError, or LimitError if today's calls or tokens are used up."""
        self.check_valid(token)
        if not token.is_limited:
            return
        query = "SELECT calls, tokens FROM spent WHERE name = ? AND day = ?"
        rows = self._database.read(query, token.name, _today())
        spent = rows[0] if rows else (0, 0)
        for used, most, of in zip(
            spent, (token.calls, token.tokens), ("calls of the model", "tokens"), strict=True
        ):
            if most is not None and used >= most:
                raise LimitError(
                    f"The {most:,} {of} a day of {token.name!r} are used up: ask again tomorrow "
                    "(UTC), or with another token."
                )

    def quota(self, token: Token) -> "DayQuota":
        """Return the daily quota of a token, which ends when the token is no longer valid."""
        return DayQuota(self, token)

    def spend(self, token: Token, calls: int, tokens: int) -> None:
        """Add the calls and tokens of a request to today's count, for a token with limits."""
        if not token.is_limited:
            return
        self._database.write(
            "INSERT INTO spent (name, day, calls, tokens) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (name, day) DO UPDATE SET "
            "calls = spent.calls + excluded.calls, tokens = spent.tokens + excluded.tokens",
            (token.name, _today(), calls, tokens),
        )

    def close(self) -> None:
        """Close the connection; later use opens a new connection."""
        self._database.close()


@dataclass(frozen=True, slots=True)
class DayQuota:
    """The calls and tokens of a day, which all runs and jobs of a token share (a `Quota`).

    Nothing is left of it once the token is revoked or has expired.
    """

    store: TokenStore
    token: Token

    async def check(self) -> None:
        """Raise LimitError if nothing is left."""
        await self.store.arun(lambda store: store.check(self.token))

    async def check_holder(self) -> None:
        """Raise InvalidTokenError if the token is revoked or has expired."""
        await self.store.arun(lambda store: store.check_valid(self.token))

    async def take(self, tokens: int) -> None:
        """Reserve one call and `tokens` tokens. Raises LimitError."""

        def reserve(store: TokenStore) -> None:
            store.check(self.token)
            store.spend(self.token, 1, tokens)

        await self.store.arun(reserve)

    async def settle(self, calls: int, tokens: int) -> None:
        """Correct a reservation by the real cost; a database failure fails no request."""
        with suppress(AccessError):
            await self.store.arun(lambda store: store.spend(self.token, calls, tokens))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _today() -> int:
    return int(time.time() // _DAY)


def _token(row: Any) -> Token:
    name, role, corpora, *others = row
    return Token(name, role, tuple(json.loads(corpora)) if corpora else None, *others)
