"""One model service and how we treat it: how long we wait for it, and how often we ask again.

Nobody else retries: the providers' own clients are opened with `max_retries=0`, or they would
wait behind our back. How many requests there are at once, and a minute, is up to `traffic`, for
the whole process. The times, in seconds:

- First contact. Before the first request, anything at all must answer at the service's address
  within FIRST_CONTACT. Only so can a real reply take as long as a reasoning model needs
  (`timeout`, 60 by default), while a service that never answers is reported within 30.
- First reply. A service that answered the contact well has `timeout` for it. One that answered
  with a server error (5xx) has FIRST_REPLY, and one whose address is not known, so that no
  contact could be made, FIRST_REPLY_UNCONTACTED.
- Before the first reply, failures are tried again for PATIENCE_AT_FIRST, requests and pauses
  together; where the service asks to wait (429, Retry-After), for PATIENCE_WHEN_BUSY; a request
  that timed out is tried once more, if the first contact went well.
- Once it has replied, a request is tried again until its pauses add up to PATIENCE, and after as
  many as TIMEOUTS_FORGIVEN replies that did not come within `timeout`. A service that is given up,
  having replied to nobody meanwhile, has to reply again before it is trusted so far.
- A pause is drawn evenly between nothing and a bound that doubles with each try ("full jitter"),
  so that those who failed together do not come back together. The last one ends with our patience.
- `Retry-After` is obeyed, and by everybody in this process (`Limiter.hold_off`); where it asks for
  more than is left of our patience, we give up at once and say so.

Who pauses leaves its slot to others. Only what is known to pass is tried again (see `failures`);
a quota that is used up does not. What is a mistake in a program, such as a KeyError, is raised as
it is.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from time import monotonic
from typing import NoReturn, TypeVar

from langchain_core.messages import AIMessage

from graphreader.deciding.secrecy import shown
from graphreader.deciding.service import traffic
from graphreader.deciding.service.contact import Contact, first_contact
from graphreader.deciding.service.failures import Failure, failure_of
from graphreader.deciding.service.loops import PerLoop
from graphreader.errors import (
    GraphReaderError,
    ModelClosedError,
    ModelRefusedError,
    ModelUnavailableError,
    WindowError,
)

T = TypeVar("T")

logger = logging.getLogger("graphreader.deciding")

FIRST_CONTACT = 12.0
FIRST_REPLY = 15.0
FIRST_REPLY_UNCONTACTED = 25.0
PATIENCE_AT_FIRST = 15.0
PATIENCE_WHEN_BUSY = 60.0  # providers' limits are those of a minute
PATIENCE = 120.0  # longer than what most disturbances last; about 16 tries
TIMEOUTS_FORGIVEN = 4
_FIRST_PAUSE = 0.5  # the bound of the first pause; it doubles with each try
_LONGEST_PAUSE = 20.0  # the bound of all later ones
_DECLINED = ("temperature", "seed", "limit", "form", "stream", "content")
_PASSING = ("busy", "broken", "connection", "timeout")


class Declined(Exception):
    """The service declines this way of asking: an option, the form, a stream, the content.

    Not an error yet: the caller may ask in another way. It never leaves this package.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass(slots=True)
class _Tries:
    """What one call has been through; `replies` is how many there were when it began."""

    replies: int
    count: int = 0
    timeouts: int = 0
    asked: float = 0.0  # seconds
    paused: float = 0.0


class ModelService:
    """Calls one provider. `address` is its base URL, for first contact; None: none is made.

    `name` is the configured "provider:model", `setting` the variable in which it stands, `key` and
    `base` those of the provider's key and base URL; they only serve for messages, and so does
    `concurrency` here, which tells callers how many of them may be busy at once: the limit itself
    is the limiter's, the process's if none is given. `secrets` are blotted out of the service's
    words. For any number of event loops.
    """

    def __init__(
        self,
        name: str,
        *,
        setting: str = "GRAPHREADER_MODEL",
        key: str = "OPENAI_API_KEY",
        base: str = "OPENAI_BASE_URL",
        address: str | None = None,
        timeout: float = 60.0,
        concurrency: int = traffic.DEFAULT_CONCURRENCY,
        secrets: Collection[str] = (),
        limiter: traffic.Limiter | None = None,
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self._setting = setting
        self._key = key
        self._base = base
        self._address = address
        self._at = f" at {shown(address)}" if address else ""
        self._secrets = secrets
        self._timeout = timeout
        self._contact: Contact | None = None
        self._no_contact: tuple[float, str] | None = None  # when it failed, and how
        self._replies = 0
        self._trusted = False  # it has replied, and was not given up since
        self._contacting = PerLoop(asyncio.Lock)
        self._limiter = limiter or traffic.limiter()

    async def call(self, ask: Callable[[], Awaitable[T]], tokens: int = 0) -> T:
        """What `ask` gives, which makes one request; it is called again where that may help.

        `tokens` is what the request may take, prompt and reply; where the reply is a message that
        tells what it took, that counts instead from then on. Raises Declined, ModelRefusedError,
        ModelUnavailableError or WindowError.
        """
        tries = _Tries(self._replies)
        while True:
            begin = monotonic()
            try:
                await self._make_contact()
                async with self._limiter.slot(tokens) as slot:
                    begin = monotonic()
                    async with asyncio.timeout(self._limit()):
                        reply = await ask()
                    self._replies, self._trusted = self._replies + 1, True
                    if isinstance(reply, AIMessage) and reply.usage_metadata:
                        slot.settle(reply.usage_metadata["total_tokens"])
                    return reply
            except GraphReaderError:
                raise
            except Exception as error:
                tries.asked += monotonic() - begin
                failure = failure_of(error, self._secrets)
                pause = self._pause(failure, tries)
                if pause is None:
                    self._give_up(failure, error, tries)
            logger.debug(
                "%s is asked again in %.1f s: %s (%s)", self.name, pause, failure.kind, failure
            )
            if failure.wait:
                self._limiter.hold_off(failure.wait)
            await asyncio.sleep(pause)

    def _limit(self) -> float:
        """Seconds that the next reply may take."""
        if self._replies or self._contact == "good":
            return self._timeout
        first = FIRST_REPLY if self._contact == "doubtful" else FIRST_REPLY_UNCONTACTED
        return min(self._timeout, first)

    async def _make_contact(self) -> None:
        """First contact, once; who waited for it meanwhile fails along with it."""
        if self._contact is not None or self._address is None:
            return
        async with self._contacting.get():
            if self._contact is not None:
                return
            if self._no_contact and monotonic() - self._no_contact[0] < FIRST_CONTACT:
                raise ModelUnavailableError(self._no_contact[1])
            try:
                async with self._limiter.slot():
                    self._contact = await first_contact(self._address, FIRST_CONTACT, self._base)
            except ModelUnavailableError as error:
                self._no_contact = monotonic(), str(error)
                logger.warning("No first contact with %s%s", self.name, self._at)
                raise

    def _pause(self, failure: Failure, tries: _Tries) -> float | None:
        """Seconds until the next try, which are noted, or None where there is none."""
        if failure.kind not in _PASSING:
            return None
        tries.count += 1
        if failure.kind == "timeout":
            tries.timeouts += 1
            if tries.timeouts > self._timeouts_forgiven():
                return None
        left = self._patience(failure) - tries.paused - (0 if self._trusted else tries.asked)
        wait = failure.wait or 0.0
        if left <= 0 or wait > left:
            return None
        bound = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (tries.count - 1))
        # After the wait that was asked for we scatter less: the limiter lets in one by one.
        pause = min(left, wait + random.uniform(0, bound / 10 if wait else bound))
        tries.paused += pause
        return pause

    def _timeouts_forgiven(self) -> int:
        if self._trusted:
            return TIMEOUTS_FORGIVEN
        return 1 if self._contact == "good" else 0

    def _patience(self, failure: Failure) -> float:
        if self._trusted:
            return PATIENCE
        asks_to_wait = failure.kind == "busy" or failure.wait is not None
        return PATIENCE_WHEN_BUSY if asks_to_wait else PATIENCE_AT_FIRST

    def _give_up(self, failure: Failure, error: Exception, tries: _Tries) -> NoReturn:
        if failure.kind == "bug":
            raise error
        if failure.kind in _DECLINED:
            logger.debug("%s declines: %s (%s)", self.name, failure.kind, failure)
            raise Declined(failure) from error
        logger.warning(
            "%s: a request is given up (%s, %s)", self.name, failure.kind, failure.status
        )
        if failure.kind != "key":  # the words may repeat parts of it
            logger.debug("%s said: %s", self.name, failure)
        if failure.kind == "window":
            raise WindowError(
                f"The prompt is too large for {self.name} ({failure}): set GRAPHREADER_WINDOW, and "
                "with it GRAPHREADER_CHUNK_TOKENS, lower, or use a model with a larger window."
            ) from error
        sentence = self._refusals(failure).get(failure.kind)
        if sentence:
            refused = ModelRefusedError if failure.kind == "request" else ModelClosedError
            raise refused(sentence) from error
        if tries.replies == self._replies:  # nobody else had one either
            self._trusted = False
        raise ModelUnavailableError(self._unavailable(failure)) from error

    def _refusals(self, failure: Failure) -> dict[str, str]:
        at = self._at
        return {
            # No words of the service here, for the same reason.
            "key": f"{self.name}{at} refuses the key: check {self._key}.",
            "quota": f"The quota of {self.name} is used up: add credit there, or use another key "
            f"({self._key}).",
            "unknown": f"{self.name} is not known{at} ({failure}): check {self._setting} and "
            f"{self._base or 'the base URL'}.",
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
                f"{self.name}{at} takes no more requests for now{asked}: try again later, set "
                f"GRAPHREADER_CONCURRENCY (now {self.concurrency}) lower, or set "
                "GRAPHREADER_REQUESTS_PER_MINUTE."
            )
        what = "cannot be reached" if failure.kind == "connection" else "fails"
        return f"{self.name}{at} {what} ({failure}), also after several tries: try again later."
