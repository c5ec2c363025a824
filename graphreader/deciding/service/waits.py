"""How long a service asks to wait before the next request: in a header, or in words."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

# Google calls the limits of a minute a quota, too, but says when to come back.
_COME_BACK = re.compile(
    r"(?:retry|try again) in (?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d[\d.]*)(?P<unit>m?s))?"
    r"|retryDelay\W+(?P<delay>\d[\d.]*)s",
    re.IGNORECASE,
)


def wait_of(errors: Iterable[BaseException], text: str) -> float | None:
    """Seconds that the service asks to wait, by the errors' headers, or else by its words."""
    for one in errors:
        headers = _headers(one)
        milliseconds = _number(headers.get("retry-after-ms"))
        if milliseconds is not None:
            return max(0.0, milliseconds / 1000)
        if (value := headers.get("retry-after")) is not None:
            return _seconds_of(value)
    asked = _COME_BACK.search(text)
    return _seconds_in(asked) if asked else None


def _headers(error: BaseException) -> Mapping[str, str]:
    """Those of the answer; clients know it by several names."""
    for holder in (getattr(error, "response", None), error):
        headers = getattr(holder, "headers", None)
        if headers is not None:
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}


def _seconds_of(value: str) -> float | None:
    """A Retry-After header, which is a number or a date."""
    seconds = _number(value)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _seconds_in(asked: re.Match[str]) -> float | None:
    """Words such as "6m0s", "20.5s" or "132ms"; None where no time follows."""
    if asked["delay"]:
        return _number(asked["delay"])
    if not (asked["h"] or asked["m"] or asked["s"]):
        return None
    seconds = _number(asked["s"]) or 0.0
    if asked["unit"] and asked["unit"].lower() == "ms":
        seconds /= 1000
    return int(asked["h"] or 0) * 3600 + int(asked["m"] or 0) * 60 + seconds


def _number(value: str | None) -> float | None:
    """A finite number, if it is one."""
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if isfinite(number) else None
