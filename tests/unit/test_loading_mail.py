"""E-mails with their attachments, mailboxes and calendars."""

import io
import time
from base64 import b64encode
from collections.abc import Callable
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import pytest

from graphreader.documents import Document, Skipped
from graphreader.ingestion.loading import mail, sources
from graphreader.ingestion.loading.content import Content, Refused
from graphreader.ingestion.loading.formats import READERS
from graphreader.ingestion.loading.mail import messages_of, read_email
from graphreader.ingestion.loading.parser_process import parse
from graphreader.ingestion.loading.sources import read_mailbox, sources_of

read: Callable[[bytes, str], Content] = READERS[".eml"]


def message(text: str, **headers: str) -> EmailMessage:
    made = EmailMessage(policy=SMTP)
    for name, value in {"From": "Åsa <asa@a.example>", "Subject": "Über Voß", **headers}.items():
        made[name] = value
    made.set_content(text)
    return made


# An e-mail is its main headers, its text, and the messages that it forwards; an attachment is
# named.
def test_emails() -> None:
    inner = message("The mill is sold.", Subject="First")
    outer = message("See below.\n", Date="Tue, 05 May 2020 10:00:00 +0200")
    outer.add_alternative("<p>See <b>below</b>.</p>", subtype="html")
    outer.add_attachment(inner)
    outer.add_attachment(b"\0\1", maintype="image", subtype="png", filename="mill.png")
    content = read_email(bytes(outer), "a.eml")

    assert content.text.split("\n\n") == [
        "From: Åsa <asa@a.example>\nDate: Tue, 05 May 2020 10:00:00 +0200\nSubject: Über Voß",
        "See below.",
        "From: Åsa <asa@a.example>\nSubject: First",
        "The mill is sold.",
    ]
    assert (content.title, content.metadata["subject"]) == ("Über Voß", "Über Voß")
    assert [one.part for one in content.skipped] == ["attachment mill.png"]


# HTML is read where there is no plain text; letters have the charset of their part, or look like
# one; broken headers and parts lose nothing else.
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            b"Subject: a\nContent-Type: text/html; charset=koi8-r\n\n<p>\xd0\xd2\xc9",
            "Subject: a|при",
        ),
        (b"Content-Type: text/plain; charset=klingon\n\nCaf\xe9 noir", "Café noir"),
        (
            b"Date: never\nTo: <<<,,@\nSubject: =?utf-8?B?w6k=?=\n\nText.",
            "To: <<<,,@\nDate: never\nSubject: é|Text.",
        ),
        (b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nOne.\n--x\n\nTwo.", "One.|Two."),
        (
            b"Content-Type: multipart/alternative; boundary=x\n\n--x\n\n \n--x\n"
            b"Content-Type: text/html\n\n<p>Only here.\n--x--",
            "Only here.",
        ),
        (b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\nVGV4dC4", "Text."),
        (b"no header at all", "no header at all"),
    ],
)
def test_odd_emails(data: bytes, text: str) -> None:
    found = read_email(data, "a.eml").text

    assert found.split("\n\n") == text.split("|")


# An attachment is read by the parser of its name or type, with a heading, and with its places and
# what it leaves out below its name; a forwarded message has its own attachments.
def test_attachments() -> None:
    inner = message("Sold.", Subject="First")
    inner.add_attachment(b"Station,Height\nVoss,56\n", "text", "csv", filename="über \u7ad9.csv")
    outer = message("See the plan.\n")
    outer.add_attachment("<h1>Plan</h1><p>Build.", "html", filename="plan.bin")
    outer.add_attachment(inner)
    outer.add_attachment(bytes(inner), "application", "octet-stream", filename="old.eml")
    outer.add_attachment(b"%PDF-1.4 broken", "application", "pdf", filename="bad.pdf")
    outer.add_attachment(b" ", "text", "plain", filename="empty.txt")
    for name in ("a.png", "b.png"):
        outer.add_attachment(b"x", "image", "png", filename=name)
    outer.add_attachment(b"x", "application", "ms-tnef", filename="winmail.dat")
    outer.add_attachment(b"x", "application", "pkcs7-signature", filename="smime.p7s")
    outer.add_attachment(b"x", "application", "zip", filename="all.zip")
    content = read(bytes(outer), "a.eml")
    table = ["über 站.csv", "Station; Height.", "Station: Voss; Height: 56."]
    first = ["From: Åsa <asa@a.example>\nSubject: First", "Sold."]

    assert content.text.split("\n\n")[1:] == [
        "See the plan.", "plan.bin", "Plan", "Build.", *first, *table, *first, *table
    ]  # fmt: skip
    place = "über 站.csv"
    assert [one.name for one in content.places] == [
        "attachment plan.bin",
        "forwarded message First",
        f"forwarded message First, attachment {place}",
        f"forwarded message First, attachment {place}, row 1",
        f"forwarded message First, attachment {place}, row 2",
        "attachment old.eml",
        f"attachment old.eml, attachment {place}",
        f"attachment old.eml, attachment {place}, row 1",
        f"attachment old.eml, attachment {place}, row 2",
    ]
    assert [(one.title, one.level) for one in content.headings] == [
        ("Über Voß", 1), ("plan.bin", 2), ("Plan", 3),
        ("First", 2), (place, 3), ("First", 2), (place, 3),
    ]  # fmt: skip
    assert all(content.text[one.start :].startswith(one.title) for one in content.headings)
    reasons = {one.part: one.reason for one in content.skipped}
    assert "damaged" in reasons.pop("attachment bad.pdf")
    assert reasons == {
        "attachment empty.txt": "it has no text",
        "attachments a.png, b.png": "not read: a picture",
        "attachment winmail.dat": "not read: in Outlook's own format (TNEF)",
        "attachment smime.p7s": "not read: a signature",
        "attachment all.zip": "not read: of another format",
    }


# Attachments of an HTML alternative are read too; plain text that only points to the HTML is not
# taken; encrypted parts are named.
def test_parts() -> None:
    both = message("Open this in a browser.\n")
    both.add_alternative(f"<p>{'The mill is sold. ' * 9}", subtype="html")
    html = both.get_payload()[1]
    html.add_related(b"x", "image", "png", filename="logo.png")
    html.make_mixed()
    html.add_attachment("Deed.", filename="deed.txt")
    content = read(bytes(both), "a.eml")
    assert content.text.split("\n\n")[1:] == [
        ("The mill is sold. " * 9).strip(),
        "deed.txt",
        "Deed.",
    ]
    assert [one.part for one in content.skipped] == ["attachment logo.png"]

    armor = "Hello.\n-----BEGIN PGP MESSAGE-----\nabc\n-----END PGP MESSAGE-----\nBye.\n"
    content = read(bytes(message(armor)), "a.eml")
    assert content.text.split("\n\n")[1:] == ["Hello.", "Bye."]
    assert content.skipped == (Skipped("attachment PGP message", "not read: encrypted"),)
    data = b"Content-Type: application/pkcs7-mime; name=smime.p7m\n\nabc"
    assert [one.reason for one in read(data, "a").skipped] == [
        "not read: encrypted or signed as a whole (S/MIME)"
    ]
    data = (
        b"Content-Type: multipart/encrypted; boundary=x\n\n--x\n\nVersion: 1\n--x\n"
        b"Content-Type: application/octet-stream\n\nabc\n--x--"
    )
    assert [one.part for one in read(data, "a").skipped] == ["attachment multipart/encrypted"]


# A part of binary bytes is left out with its reason, the other parts are read.
def test_broken_part() -> None:
    data = (
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nOne.\n--x\nContent-Type: text/plain\n"
        b"Content-Transfer-Encoding: base64\n\n" + b64encode(bytes(range(256)) * 9) + b"\n--x--"
    )
    content = read(data, "a.eml")

    assert content.text == "One."
    assert [one.part for one in content.skipped] == ["attachment text/plain"]
    assert "binary" in content.skipped[0].reason


# Forwarded messages of each type are read with their texts, reports as their lines.
@pytest.mark.parametrize("kind", ["rfc822", "global", "news"])
def test_messages_in_messages(kind: str) -> None:
    inner = b"Subject: First\n\nThe mill is sold."
    data = (
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: message/%s\n\n%s\n--x--"
    )
    report = b"Content-Type: message/delivery-status\n\nReporting-MTA: a\n\nAction: no\n"

    content = read(data % (kind.encode(), inner), "a.eml")
    assert content.text == "Subject: First\n\nThe mill is sold."
    assert [one.name for one in content.places] == ["forwarded message First"]
    assert read(report, "a.eml").text == "Reporting-MTA: a\n\nAction: no"


# Parts behind another boundary than the header names are read as one text, with a note.
def test_wrong_boundary() -> None:
    content = read(b"Content-Type: multipart/mixed; boundary=x\n\n--y\n\nSold.\n--y--", "a.eml")

    assert content.text == "--y\n\nSold.\n--y--"
    assert "boundary" in content.notes[0]


# Attachments without a name have the formats of their types, on every machine.
@pytest.mark.parametrize(
    ("kind", "data"), [("text/calendar", b""), ("text/csv", b"A,B\n1,2"), ("text/markdown", b"# A")]
)
def test_types_of_attachments(kind: str, data: bytes) -> None:
    header = f"Content-Type: {kind}\nContent-Disposition: attachment\n\n".encode()

    assert [one.reason for one in read(header + (data or INVITATION), "a.eml").skipped] == []


# Metadata: ids and the date by ISO; names of attachments in each of their codes.
def test_headers() -> None:
    content = read(
        b"From: a@b.example\nDate: Fri, 16 Jun 2023 23:21:00 +0200\nMessage-ID: <1@b>\n"
        b"In-Reply-To: <0@b>\nSubject: caf\xc3\xa9\n\nText.",
        "a.eml",
    )
    assert content.metadata == {
        "from": "a@b.example", "date": "2023-06-16T23:21:00+02:00", "subject": "café",
        "message-id": "<1@b>", "in-reply-to": "<0@b>",
    }  # fmt: skip
    for name in (
        b"filename*=utf-8''%C3%BC.txt",
        b"filename*0*=utf-8''%C3; filename*1*=%BC.txt",
        b'filename="=?utf-8?B?w7wudHh0?="',
        b'filename="\xc3\xbc.txt"',
    ):
        data = b"Content-Disposition: attachment; " + name + b"\n\nText."
        assert read(data, "a.eml").places[0].name == "attachment ü.txt", name


INVITATION = (
    b"BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nDTSTART:19700101T000000\r\nEND:VTIMEZONE\r\n"
    b"BEGIN:VEVENT\r\nSUMMARY:Sale of the\r\n  mill\r\nDTSTART;TZID=Europe/Oslo:20230616T143000\r\n"
    b"DTEND:20230616T153000Z\r\nLOCATION:Voss\\, Norway\r\n"
    b'ORGANIZER;CN="Moe, Ada":mailto:ada@moe.example\r\nDESCRIPTION:\r\nEND:VEVENT\r\n'
    b"BEGIN:VEVENT\r\nSUMMARY:Fair\r\nDTSTART;VALUE=DATE:20230617\r\nEND:VEVENT\r\n"
)


# An invitation in a mail is read as the file of a calendar.
def test_calendar() -> None:
    text = (
        "Event: Sale of the mill\nStarts: 2023-06-16 14:30 Europe/Oslo\n"
        "Ends: 2023-06-16 15:30 UTC\nPlace: Voss, Norway\nOrganizer: Moe, Ada <ada@moe.example>"
        "\n\nEvent: Fair\nStarts: 2023-06-17"
    )
    assert READERS[".ics"](INVITATION, "a.ics").text == text
    invited = message("Come.\n")
    invited.add_alternative(INVITATION.decode(), subtype="calendar")
    assert read(bytes(invited), "a.eml").text.endswith(f"Come.\n\ninvitation\n\n{text}")


# Attacks: nests of messages, many and large attachments, and huge headers end soon.
def test_hostile_mails(monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    nest = b"Subject: in\n\nCore."
    for _ in range(30):
        nest = b"Subject: in\nContent-Type: message/rfc822\n\n" + nest
    content = parse(".eml", nest, "a.eml")
    assert content.text.count("Subject: in") == mail.MAX_DEPTH
    assert "more than 5 messages" in content.skipped[0].reason

    many = message("Many.")
    for number in range(150):
        many.add_attachment("x", filename=f"{number}.txt")
    content = parse(".eml", bytes(many), "a.eml")
    assert content.text.count(".txt") == mail.MAX_ATTACHMENTS
    assert content.skipped[0].part.count(".txt") == 50

    monkeypatch.setattr(mail, "MAX_ATTACHED", 10)
    monkeypatch.setattr(
        mail._Mail.__init__, "__defaults__", (100, 10, *mail._Mail.__init__.__defaults__[2:])
    )
    large = message("Large.")
    large.add_attachment("x" * 20, filename="a.txt")
    assert "attachments have more" in read(bytes(large), "a.eml").skipped[0].reason

    for data in (
        b"Subject: " + b"=?utf-8?Q?a?= " * 300_000 + b"\n\nText.",
        b"Content-Type: text/plain; " + b"a*0=b; " * 100_000 + b"\n\nText.",
        b'Content-Disposition: attachment; filename="' + b"\\" * 500_000 + b"\n\nText.",
        b"X: y\n" * 500_000 + b"\nText.",
        b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\na\n" * 50_000,
    ):
        parse(".eml", data, "a.eml")
    assert time.monotonic() - began < 60


MAILBOX = b"""From ada@moe.example Tue May  5 10:00:00 2020
Message-ID: <1@moe>
Date: Tue, 05 May 2020 10:00:00 +0200
Subject: One

The mill.
>From here it is far.
From Oslo it is far.

From per@lie.example Wed May  6 10:00:00 2020
Subject: Two
Content-Type: text/plain; name=a.txt

Sold.

From ada@moe.example Tue May  5 10:00:00 2020
Message-ID: <1@moe>
Date: Tue, 05 May 2020 10:00:00 +0200
Subject: One

The mill.
From here it is far.
From Oslo it is far.

From ada@moe.example Tue May  7 10:00:00 2020
Message-ID: <1@moe>
Subject: Four

Other.
"""


# A sentence that begins with "From" begins no message, with a time in it or a year.
@pytest.mark.parametrize(
    ("line", "number"),
    [
        (b"From there we took the 10:30 train to Milan.\nNote: it was late.", 1),
        (b"From ada@moe.example we heard at 10:30\nthat it is sold.", 1),
        (b"From there on Mon, 10:30 it went\nin 2019", 1),
        (b"From - Tue May  5 10:00:00 2020\nSubject: Two", 2),
        (b"From MAILER-DAEMON Tue May  5 10:00\nSubject: Two", 2),
    ],
)
def test_lines_from(line: bytes, number: int) -> None:
    box = (
        b"From ada@moe.example Tue May  5 10:00:00 2020\nSubject: One\n\nText.\n\n"
        + line
        + b"\n\nEnd."
    )
    messages = [text for _, text in messages_of(io.BytesIO(box), 10_000)]

    assert len(messages) == number
    assert messages[-1].endswith(b"End.")
    assert (line.partition(b"\n")[0] in messages[0]) == (number == 1)


# A mailbox gives a document for each message; a repeated one is skipped; an empty or a too long
# one is refused; it is read piece by piece.
def test_mailbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mbox"
    path.write_bytes(b"\n" + MAILBOX)
    (source,) = sources_of([tmp_path])
    found = [one for one in source.documents("c") if isinstance(one, Document)]

    assert [one.source.rpartition("#")[0] for one in found[:2]] == [str(path)] * 2
    assert [one.source.partition("#")[2] for one in found] == ["1@moe", "2", "1@moe#2"]
    assert [one.title for one in found] == ["One", "Two", "Four"]
    assert found[0].date == "2020-05-05"
    assert found[0].text.endswith("The mill.\nFrom here it is far.\nFrom Oslo it is far.")
    assert [[one.name for one in each.places] for each in found] == [
        ["message 1"],
        ["message 2", "message 2, attachment a.txt"],
        ["message 4"],
    ]

    path.write_bytes(MAILBOX.partition(b"\n")[2])  # without the first line "From "
    assert next(read_mailbox(path, "c")).title == "One"
    monkeypatch.setattr(sources, "MAX_BYTES", 100)
    refused = [one for one in read_mailbox(path, "c") if isinstance(one, Refused)]
    assert [one.reason.partition(", message ")[2][:5] for one in refused] == ["1: it", "3: it"]
    path.write_bytes(b"")
    (refused_file,) = sources_of([path])[0].documents("c")
    assert isinstance(refused_file, Refused)

    endless = io.BytesIO(b"a" * 50_000_000)
    [(_, cut)] = messages_of(endless, 1_000)
    assert len(cut) < 3_000
