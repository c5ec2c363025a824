"""JSON and e-mails become texts whose sentences are understood alone."""

from email.message import EmailMessage
from email.policy import SMTP

import pytest

from graphreader.ingestion.loading.mail import read_email
from graphreader.ingestion.loading.records import read_json


# JSON stays as it is, but that letters stand in place of their escapes.
def test_json() -> None:
    data = rb'{"name": "M\u00fcller \ud83d\ude00", "path": "C:\\u00e9", "odd": "\u0022 \ud800"}'
    text = read_json(data, "a.json").text

    assert text == r'{"name": "Müller 😀", "path": "C:\\u00e9", "odd": "\u0022 \ud800"}'


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
