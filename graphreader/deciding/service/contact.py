"""First contact with a model service: whether anything answers at its address at all.

Any HTTP answer will do, so no API key is sent and nothing of the answer is used; that is also why
certificates are not looked at here (the provider's client does that for every request).
"""

import asyncio
from typing import Literal

import httpx

from graphreader.deciding.secrecy import redacted, shown
from graphreader.errors import ModelUnavailableError

Contact = Literal["good", "doubtful"]
_PAUSES = (0.5, 1.0, 2.0)  # a service that is just starting gets this long


async def first_contact(address: str, seconds: float, variable: str = "") -> Contact:
    """Good, or doubtful where the answer is a server error. `address` is the base URL.

    `variable` is the one that holds it, if there is one, for messages.

    Raises ModelUnavailableError where nothing answers within `seconds`.
    """
    stands_in = f" ({variable})" if variable else ""
    try:
        async with asyncio.timeout(seconds):
            return await _knock(address, seconds)
    except (TimeoutError, httpx.TimeoutException):
        raise ModelUnavailableError(
            f"Nothing answers at {shown(address)} within {seconds:g} seconds: check the address"
            f"{stands_in} and the network."
        ) from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise ModelUnavailableError(
            f"{shown(address)} is no address of a service: {variable or 'it'} must look like "
            "http://localhost:8000/v1."
        ) from None
    except httpx.TransportError as error:
        words = redacted(str(error)) or type(error).__name__
        raise ModelUnavailableError(
            f"Nothing answers at {shown(address)} ({words}): check that the service runs, its "
            f"address{stands_in} and the network."
        ) from None


async def _knock(address: str, seconds: float) -> Contact:
    async with httpx.AsyncClient(verify=False, timeout=seconds) as client:
        for pause in _PAUSES:
            try:
                return await _answer(client, address)
            except httpx.ConnectError:
                await asyncio.sleep(pause)
        return await _answer(client, address)


async def _answer(client: httpx.AsyncClient, address: str) -> Contact:
    try:
        answer = await client.get(f"{address}/models")
    except (httpx.RemoteProtocolError, httpx.ReadError):
        return "good"  # somebody is there, though not for this request
    return "doubtful" if answer.status_code >= 500 else "good"
