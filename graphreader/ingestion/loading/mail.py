"""The parser of e-mails (.eml, and each message of an .mbox), by the standard library.

Attachments are read by the parsers of their formats, within limits; others are named.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import chain, pairwise
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, BinaryIO, TypeAlias, cast

from graphreader.documents import Heading, Place, Skipped
from graphreader.ingestion.loading.content import (
    SUFFIXES,
    Content,
    clean,
    is_blank,
    join_contents,
    read_text,
    refusal_reason,
)
from graphreader.ingestion.loading.encodings import BinaryDataError, decode
from graphreader.ingestion.loading.html import read_html

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
MAX_HEADER = 20_000  # characters of a header whose encoded words are decoded, slowly
MAX_NESTED = 20  # levels of parts in a message
MAX_DEPTH = 5  # messages in messages
MAX_ATTACHMENTS = 100
MAX_ATTACHED = 64 * 2**20  # bytes of all attachments
MAX_NAME = 100  # characters of an attachment's name
_REPORTS = ("delivery-status", "disposition-notification", "feedback-report")  # only headers
_POORER = 3  # times as many words of HTML as of plain text, which then is only a hint
_FEW_WORDS = 100  # of a plain text that may be a hint
_BROKEN = "The boundary between the parts of a message is wrong: they are read as one plain text."
_PGP = re.compile(r"-----BEGIN PGP MESSAGE-----.*?(?:-----END PGP MESSAGE-----|\Z)", re.DOTALL)
_FROM = re.compile(rb"From .*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? .*\d\d:\d\d.*\d{4}")
_FROM_AFTER_BLANK = re.compile(
    rb"From (?=\S*@|MAILER-DAEMON|.*\d{4}(?: [+-]\d{4})?\s*\Z)\S+ .*\d\d:\d\d"
)
_FIRST_HEADER = re.compile(rb"[\w-]+:|>From ")
_QUOTED_FROM = re.compile(rb">+From ")

Readers = Mapping[str, Callable[[bytes, str], Content]]
_Part: TypeAlias = "Message[str, str]"


def read_email(data: bytes, shown: str, readers: Readers = MappingProxyType({})) -> Content:
    """Parse an e-mail: its main headers as lines, its text, and what is attached to it.

    Plain text goes before HTML, unless it is only a hint. Attachments and forwarded messages stand
    below a heading, with places such as "attachment plan.pdf, page 2"; those that none of the
    `readers` (by suffix) can read are named in `skipped`.
    """
    message = message_from_bytes(data, policy=policy.compat32)
    mail = _Mail(readers)
    content = join_contents(mail.contents(message))
    headers = {name.lower(): value for name in _HEADERS if (value := _header(message, name))}
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        headers["date"] = parsedate_to_datetime(headers.get("date", "")).isoformat()
    for name in ("Message-ID", "In-Reply-To"):
        if value := _header(message, name):
            headers[name.lower()] = value[:MAX_HEADER]
    skipped = (*content.skipped, *mail.skipped())
    return replace(content, title=headers.get("subject", ""), metadata=headers, skipped=skipped)


def messages_of(mailbox: BinaryIO, limit: int) -> Iterator[tuple[int, bytes]]:
    """Yield the messages of a mailbox (RFC 4155) with their numbers from 1.

    A message with more than `limit` bytes is cut to a few more, so that a caller can refuse it.
    """
    number, size = 0, 0
    lines: list[bytes] = []
    after_blank = True
    read = iter(partial(mailbox.readline, limit), b"")
    for line, following in pairwise(chain(read, [b""])):
        form = _FROM_AFTER_BLANK if after_blank else _FROM
        after_blank = not line.strip()
        if form.match(line) and _FIRST_HEADER.match(following):
            if size:
                number += 1
                yield number, b"".join(lines)
            lines, size = [], 0
        elif size <= limit and (size or not after_blank):
            lines.append(line[1:] if _QUOTED_FROM.match(line) else line)
            size += len(line)
    if size:
        yield number + 1, b"".join(lines)


@dataclass(slots=True)
class _Mail:
    """A message with all that is attached to it, and what is left of the limits."""

    readers: Readers
    attachments: int = MAX_ATTACHMENTS
    size: int = MAX_ATTACHED
    _left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def contents(self, message: _Part, place: str = "", depth: int = 1) -> list[Content]:
        """Return a message's headers, its texts, and its attachments; `place` names it."""
        lines = [f"{name}: {value}" for name in _HEADERS if (value := _header(message, name))]
        text = "\n".join(lines)
        subject = _header(message, "Subject")
        heading = (Heading(len(text) - len(subject), subject, depth),) if subject else ()
        texts, attached = self._part(message, place, MAX_NESTED)
        contents = [Content(text, headings=heading), *(_below(one, depth) for one in texts)]
        if place:
            whole = join_contents(contents)
            contents = [replace(whole, places=(Place(0, place),))]
        for part in attached:
            contents += self._attachment(part, place, depth)
        return contents

    def skipped(self) -> Iterator[Skipped]:
        """Yield the attachments that are not read, by their reasons."""
        for (place, reason), names in self._left_out.items():
            what = f"attachment{'s' * (len(names) > 1)} {', '.join(names)}"
            yield Skipped(f"{place}, {what}" if place else what, reason)

    def _leave_out(self, part: _Part, place: str, reason: str) -> None:
        name = _name(part) or part.get_content_type()
        self._left_out.setdefault((place, reason), []).append(name)

    def _part(self, part: _Part, place: str, levels: int) -> tuple[list[Content], list[_Part]]:
        """Return the texts of a part of a message, and its attachments."""
        kind, inner = part.get_content_type(), _parts(part)
        if kind == "multipart/encrypted":
            self._leave_out(part, place, "not read: encrypted")
            return [], []
        if kind.startswith("multipart/") and inner and levels:
            found = [self._part(one, place, levels - 1) for one in inner]
            attached = [one for _, others in found for one in others]
            if kind == "multipart/alternative":
                kinds = [one.get_content_type() for one in inner]
                alternatives = [texts for texts, _ in found]
                return _preferred(kinds, alternatives), attached
            return [one for texts, _ in found for one in texts], attached
        if kind.startswith("message/") and kind.endswith(_REPORTS) and inner:
            headers = "\n\n".join(
                "\n".join(f"{name}: {_header(one, name)}" for name in dict.fromkeys(one.keys()))
                for one in inner
            )
            return [Content(headers)], []
        is_text = kind.startswith("text/") and kind != "text/calendar"
        is_broken = kind.startswith("multipart/") and not inner
        is_attached = bool(_name(part)) or part.get_content_disposition() == "attachment"
        if not is_broken and (is_attached or not is_text):
            return [], [part]
        try:
            content = self._text(part, place)
        except Exception as error:  # of any library: the other parts are still read
            self._leave_out(part, place, refusal_reason(error, "it"))
            return [], []
        if is_broken and content.text:
            content = replace(content, notes=(*content.notes, _BROKEN))
        return [content], []

    def _text(self, part: _Part, place: str) -> Content:
        """Read a part that is a text."""
        data, kind = _data(part), part.get_content_type()
        content = read_text(data, "it", part.get_content_charset() or "") if data else Content("")
        if kind == "text/html":
            return read_html(content.text.encode(), "it")
        if "-----BEGIN PGP MESSAGE-----" in content.text:
            content = replace(content, text=_PGP.sub("", content.text))
            self._left_out.setdefault((place, "not read: encrypted"), []).append("PGP message")
        return replace(content, text=content.text.strip())

    def _attachment(self, part: _Part, place: str, depth: int) -> list[Content]:
        """Read an attachment or a forwarded message, or name it with the reason."""
        kind, name = part.get_content_type(), _name(part)
        inner = _parts(part) if kind.startswith("message/") else []
        suffix = PurePath(name).suffix.lower()
        if suffix not in self.readers:
            suffix = SUFFIXES.get(kind, suffix)
        within = f"{place}, " if place else ""
        if reason := self._refusal(kind, name, suffix, bool(inner)):
            self._leave_out(part, place, reason)
            return []
        if (inner or suffix == ".eml") and depth >= MAX_DEPTH:
            self._leave_out(part, place, f"not read: more than {MAX_DEPTH} messages in each other")
            return []
        self.attachments -= 1
        if self.attachments < 0:
            self._leave_out(
                part, place, f"not read: a message has at most {MAX_ATTACHMENTS} attachments"
            )
            return []
        if inner:
            subject = name or _header(inner[0], "Subject")[:MAX_NAME] or "without a subject"
            return self.contents(inner[0], f"{within}forwarded message {subject}", depth + 1)
        data = _data(part)
        if self.size < len(data):
            self._leave_out(
                part, place, f"not read: attachments have more than {MAX_ATTACHED >> 20} MiB"
            )
            return []
        self.size -= len(data)
        title = name or ("invitation" if suffix == ".ics" else kind)
        inside = f"{within}attachment {title}"
        if suffix == ".eml":
            message = message_from_bytes(data, policy=policy.compat32)
            return self.contents(message, inside, depth + 1)
        try:
            content = _inside(self.readers[suffix](data, "it"), inside)
        except Exception as error:  # of any library: the message is still read
            self._leave_out(part, place, refusal_reason(error, "it"))
            return []
        if is_blank(content.text):
            self._leave_out(part, place, "it has no text")
            return [Content("", skipped=content.skipped)]
        heading = Content(
            title, places=(Place(0, inside),), headings=(Heading(0, title, depth + 1),)
        )
        return [heading, _below(replace(content, text=content.text.rstrip()), depth + 1)]

    def _refusal(self, kind: str, name: str, suffix: str, is_message: bool) -> str:
        """The reason why an attachment of a kind is not read, "" if it can be."""
        if kind.startswith("image/"):
            return "not read: a picture"
        if "pkcs7-mime" in kind or suffix == ".p7m":
            return "not read: encrypted or signed as a whole (S/MIME)"
        if "signature" in kind:
            return "not read: a signature"
        if "ms-tnef" in kind or name.lower() == "winmail.dat":
            return "not read: in Outlook's own format (TNEF)"
        if not is_message and suffix not in self.readers:
            return "not read: of another format"
        return ""


def _below(content: Content, levels: int) -> Content:
    """The content with its headings some levels deeper."""
    lower = (one._replace(level=one.level + levels) for one in content.headings)
    return replace(content, headings=tuple(lower))


def _inside(content: Content, place: str) -> Content:
    """The content of an attachment, whose places and skipped parts have its name before them."""
    return replace(
        content,
        places=tuple(one._replace(name=f"{place}, {one.name}") for one in content.places),
        skipped=tuple(replace(one, part=f"{place}, {one.part}") for one in content.skipped),
        notes=tuple(f"{place}: {one}" for one in content.notes),
    )


def _preferred(kinds: list[str], alternatives: list[list[Content]]) -> list[Content]:
    """The alternative to read: plain text, or another if the plain text is only a hint."""
    words = [sum(len(one.text.split()) for one in texts) for texts in alternatives]
    ordered = sorted(range(len(kinds)), key=lambda at: kinds[at] != "text/plain")
    [best, *others] = [at for at in ordered if words[at]] or [0]
    richest = max(others, key=lambda at: words[at], default=best)
    if words[best] < _FEW_WORDS and words[richest] > _POORER * words[best]:
        best = richest
    return alternatives[best] if alternatives else []


def _parts(part: _Part) -> list[_Part]:
    """The parts of a part, [] if it has none."""
    payload = part.get_payload()
    return cast("list[_Part]", payload) if isinstance(payload, list) else []


def _data(part: _Part) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _name(part: _Part) -> str:
    """The file name of a part, "" if it has none."""
    plain: _Part = Message()
    for header in ("Content-Disposition", "Content-Type"):
        plain[header] = _raw(part, header)
    with suppress(ValueError, LookupError, TypeError):
        return _words(plain.get_filename() or "")[:MAX_NAME]
    return ""


def _header(message: _Part, name: str) -> str:
    """The first header of that name as text; a broken address or word stays as it is."""
    return _words(_raw(message, name))


def _raw(message: _Part, name: str) -> str:
    """The first header of that name; bytes that are no ASCII are decoded."""
    items: Any = message.raw_items()
    raw = str(next((one for key, one in items if key.lower() == name.lower()), ""))
    if not raw.isascii():
        with suppress(BinaryDataError):
            return decode(raw.encode("utf-8", "surrogateescape")).text
    return raw


def _words(raw: str) -> str:
    """A header in one line, its encoded words (RFC 2047) decoded."""
    with suppress(ValueError, LookupError, HeaderParseError):  # a word in no known encoding
        if len(raw) <= MAX_HEADER and "=?" in raw:
            raw = str(make_header(decode_header(raw)))
    return clean(" ".join(raw.split()))
