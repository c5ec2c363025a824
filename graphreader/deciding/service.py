"""One model service and how we treat it: how many requests at once, how long, how often again.

Nobody else retries: the providers' own clients are opened with `max_retries=0`, or they would
wait behind our back. The times, in seconds:

- First contact. Before the first request, anything at all must answer at the service's address
  within FIRST_CONTACT. Only so can a real reply take as long as a reasoning model needs
  (`timeout`, 60 by default), while a service that never answers is reported within 30.
- First reply. A service that answered the contact well has `timeout` for it. One that answered
  with a server error (5xx) has FIRST_REPLY, and one whose address is not known, so that no
  contact could be made, FIRST_REPLY_UNCONTACTED. Until a first reply has come from the service
  in this process, no request that timed out is tried again.
- A reply must come within `timeout`; a request that timed out is then tried once more.
- Errors of the server and lost connections are tried again with growing, jittered pauses that
  add up to at most PATIENCE; where the service asks to wait (429), at most PATIENCE_WHEN_BUSY.
  `Retry-After` is obeyed; where it asks for more than that, we give up at once and say so.
  Who pauses leaves the slot to others.

Only what is known to pass is tried again (see `failures`). What is a mistake in a program, such as
a KeyError, is raised as it is.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from time import monotonic
from typing import NoReturn, TypeVar

from graphreader.deciding.contact import Contact, first_contact
from graphreader.deciding.failures import Failure, failure_of
from graphreader.deciding.loops import PerLoop
from graphreader.deciding.secrecy import shown
from graphreader.errors import (
    GraphReaderError,
    ModelRefusedError,
    ModelUnavailableError,
    WindowError,
)

T = TypeVar("T")

FIRST_CONTACT = 12.0
FIRST_REPLY = 15.0
FIRST_REPLY_UNCONTACTED = 25.0
PATIENCE = 15.0
PATIENCE_WHEN_BUSY = 60.0
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 20.0


class Declined(Exception):
    """The service declines this way of asking: the temperature, the form, the content.

    Not an error yet: the caller may ask in another way. It never leaves this package.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass(slots=True)
class _Loop:
    """What belongs to one event loop."""

    slots: asyncio.Semaphore
    contact: asyncio.Lock = field(default_factory=asyncio.Lock)


class ModelService:
    """Calls one provider. `address` is its base URL, for first contact; None: none is made.

    `name` is the configured "provider:model", `setting` the variable in which it stands and
    `key` the variable that holds the provider's key; they only serve for messages. `secrets` are
    blotted out of the service's words.
    """

    def __init__(
        self,
        name: str,
        *,
        setting: str = "GRAPHREADER_MODEL",
        key: str = "OPENAI_API_KEY",
        address: str | None = None,
        timeout: float = 60.0,
        concurrency: int = 8,
        secrets: Collection[str] = (),
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self._setting = setting
        self._key = key
        self._address = address
        self._at = f" at {shown(address)}" if address else ""
        self._secrets = secrets
        self._timeout = timeout
        self._contact: Contact | None = None
        self._no_contact: tuple[float, str] | None = None  # when it failed, and how
        self._has_replied = False
        self._loops = PerLoop(lambda: _Loop(asyncio.Semaphore(concurrency)))

    async def call(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What `ask` gives, which makes one request; it is called again where that may help.

        Raises Declined, ModelRefusedError, ModelUnavailableError or WindowError.
        """
        loop = self._loops.get()
        waited, tries = 0.0, 0
        while True:
            tries += 1
            try:
                async with loop.slots:
                    await self._make_contact(loop)
                    async with asyncio.timeout(self._limit()):
                        reply = await ask()
            except GraphReaderError:
                raise
            except Exception as error:
                failure = failure_of(error, self._secrets)
                pause = self._pause(failure, tries, waited)
                if pause is None:
                    self._give_up(failure, error)
            else:
                self._has_replied = True
                return reply
            waited += pause
            await asyncio.sleep(pause)

    def _limit(self) -> float:
        """Seconds that the next reply may take."""
        if self._has_replied or self._contact == "good":
            return self._timeout
        first = FIRST_REPLY if self._contact == "doubtful" else FIRST_REPLY_UNCONTACTED
        return min(self._timeout, first)

    async def _make_contact(self, loop: _Loop) -> None:
        """First contact, once; who waited for it meanwhile fails along with it."""
        async with loop.contact:
            if self._contact is not None or self._address is None:
                return
            if self._no_contact and monotonic() - self._no_contact[0] < FIRST_CONTACT:
                raise ModelUnavailableError(self._no_contact[1])
            try:
                self._contact = await first_contact(self._address, FIRST_CONTACT)
            except ModelUnavailableError as error:
                self._no_contact = monotonic(), str(error)
                raise

    def _pause(self, failure: Failure, tries: int, waited: float) -> float | None:
        """Seconds until the next try, or None where there is none."""
        if failure.kind not in ("busy", "broken", "connection", "timeout"):
            return None
        if failure.kind == "timeout":
            return 0.0 if self._has_replied and tries == 1 else None
        patience = PATIENCE_WHEN_BUSY if failure.kind == "busy" or failure.wait else PATIENCE
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (tries - 1)) * random.uniform(0.5, 1.0)
        if failure.wait is not None:
            pause = failure.wait + pause / 10  # not all of us at the same moment
        return pause if waited + pause <= patience else None

    def _give_up(self, failure: Failure, error: Exception) -> NoReturn:
        if failure.kind == "bug":
            raise error
        if failure.kind in ("temperature", "form", "content"):
            raise Declined(failure) from error
        if failure.kind == "window":
            raise WindowError(
                f"The prompt is too large for {self.name} ({failure}): set GRAPHREADER_WINDOW, and "
                "with it GRAPHREADER_CHUNK_TOKENS, lower, or use a model with a larger window."
            ) from error
        sentence = self._refusals(failure).get(failure.kind)
        if sentence:
            raise ModelRefusedError(sentence) from error
        raise ModelUnavailableError(self._unavailable(failure)) from error

    def _refusals(self, failure: Failure) -> dict[str, str]:
        at = self._at
        return {
            # No words of the service here: they may repeat parts of the key.
            "key": f"{self.name}{at} refuses the key: check {self._key}.",
            "quota": f"The quota of {self.name} is used up: add credit there, or use another key "
            f"({self._key}).",
            "unknown": f"{self.name} is not known{at} ({failure}): check {self._setting} and the "
            "base URL.",
            "request": f"{self.name}{at} refuses the request ({failure}).",
        }

    def _unavailable(self, failure: Failure) -> str:
        at = self._at
        if failure.kind == "timeout" and self._limit() < self._timeout:
            return (
                f"{self.name}{at} did not reply in time (its first reply has {self._limit():g} "
                "seconds): check that the service runs, its address and the network, then try "
                "again."
            )
        if failure.kind == "timeout":
            return (
                f"{self.name}{at} did not reply in time: try again later, or set "
                f"GRAPHREADER_TIMEOUT (now {self._timeout:g} seconds) higher."
            )
        if failure.kind == "busy":
            asked = f" and asks to wait {failure.wait:.0f} seconds" if failure.wait else ""
            return (
                f"{self.name}{at} takes no more requests for now{asked}: try again later, or set "
                f"GRAPHREADER_CONCURRENCY (now {self.concurrency}) lower."
            )
        what = "cannot be reached" if failure.kind == "connection" else "fails"
        return f"{self.name}{at} {what} ({failure}), also after several tries: try again later."
