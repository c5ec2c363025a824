"""The parser of e-mails (.eml), by the standard library."""

from contextlib import suppress
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import MIMEPart

from graphreader.documents import Skipped
from graphreader.ingestion.loading.content import Content, clean, join_parts, read_text
from graphreader.ingestion.loading.encodings import BinaryDataError, decode
from graphreader.ingestion.loading.html import read_html

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
MAX_HEADER = 20_000  # characters of a header whose encoded words are decoded, slowly
MAX_NESTED = 20  # levels of parts, and of forwarded messages
_Parts = tuple[list[str], list[Skipped]]


def read_email(data: bytes, shown: str) -> Content:
    """Parse an e-mail: its main headers as lines, its text, and forwarded messages.

    Of alternatives the first with a text is taken, plain text before HTML. Attachments are not
    read, but named in `skipped`.
    """
    message = message_from_bytes(data, policy=policy.default)
    assert isinstance(message, MIMEPart)
    parts, skipped = _message(message, MAX_NESTED)
    headers = {name.lower(): value for name in _HEADERS if (value := _header(message, name))}
    text, _ = join_parts(parts)
    return Content(text, headers.get("subject", ""), headers, skipped=tuple(skipped))


def _header(message: MIMEPart, name: str) -> str:
    """The first header of that name as text; a broken address or word stays as it is."""
    raw = next((one for key, one in message.raw_items() if key.lower() == name.lower()), "")
    with suppress(BinaryDataError):
        raw = decode(str(raw).encode("utf-8", "surrogateescape")).text
    with suppress(ValueError, LookupError, HeaderParseError):  # a word in no known encoding
        if len(raw) <= MAX_HEADER:
            raw = str(make_header(decode_header(raw)))
    return clean(" ".join(raw.split()))


def _message(message: MIMEPart, levels: int) -> _Parts:
    """Return the headers and texts of a message, and its parts that are not read."""
    lines = [f"{name}: {value}" for name in _HEADERS if (value := _header(message, name))]
    texts, skipped = _part(message, levels)
    return ["\n".join(lines), *texts], skipped


def _part(part: MIMEPart, levels: int) -> _Parts:
    """Return the texts of a part of a message, and its parts that are not read."""
    kind, name = part.get_content_type(), part.get_filename()
    if kind == "message/rfc822" and part.is_multipart() and levels:
        return _joined([_message(one, levels - 1) for one in part.iter_parts()])
    if part.is_multipart() and levels:
        parts = [_part(one, levels - 1) for one in part.iter_parts()]
        if kind != "multipart/alternative":
            return _joined(parts)
        kinds = [one.get_content_type() for one in part.iter_parts()]
        preferred = sorted(zip(kinds, parts, strict=True), key=lambda one: one[0] != "text/plain")
        return next((one for _, one in preferred if any(map(str.strip, one[0]))), ([], []))
    if name or not kind.startswith("text/"):
        what = clean(" ".join((name or kind).split()))[:100]
        return [], [Skipped(f"attachment {what}", "is not read: save it as a file of its own")]
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    text = read_text(data, "it", part.get_content_charset() or "").text if data else ""
    return [read_html(text.encode(), "it").text if kind == "text/html" else text.strip()], []


def _joined(parts: list[_Parts]) -> _Parts:
    texts = [text for own, _ in parts for text in own]
    return texts, [one for _, skipped in parts for one in skipped]
