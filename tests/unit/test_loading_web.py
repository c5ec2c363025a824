"""Web pages by their addresses: formats, robots.txt, and attacks on addresses and bodies."""

import gzip
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.ingestion.loading import web
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import sources_of, uploaded
from graphreader.ingestion.loading.web import WebLimits, is_public, load_page
from tests.terminal import closed_port
from tests.unit.pdfs import pdf

HTML = (
    b"<html><head><title>The mill</title></head><body><h1>Mill</h1><p>It burned.</p></body></html>"
)
TABLE = b"Station,Height\nVoss,56\nOslo,12\n"
ROWS = "Station; Height.\n\nStation: Voss; Height: 56.\n\nStation: Oslo; Height: 12."
Answer = tuple[int, dict[str, str], bytes | Callable[[Any], None]]


class Site:
    """A server on this machine that answers each path as given, and keeps what it was asked."""

    def __init__(self, answers: dict[str, Answer], context: ssl.SSLContext | None = None) -> None:
        self.asked: list[tuple[str, str]] = []  # Host and path
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.asked.append((self.headers["Host"], self.path))
                status, headers, body = answers.get(self.path, (404, {}, b""))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if isinstance(body, bytes):
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                    return
                self.close_connection = True
                self.end_headers()
                with suppress(OSError):  # the reader has gone
                    body(self.wfile.write)

            def do_CONNECT(self) -> None:
                site.asked.append(("CONNECT", self.path))
                self.send_error(403)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [path for _, path in self.asked]


@contextmanager
def site(answers: dict[str, Answer], context: ssl.SSLContext | None = None) -> Iterator[Site]:
    made = Site(answers, context)
    threading.Thread(target=made.server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()


def page(
    body: bytes | Callable[[Any], None] = HTML, kind: str = "text/html", **more: str
) -> Answer:
    return 200, {"Content-Type": kind, **more}, body


def to(location: str, status: int = 302) -> Answer:
    return status, {"Location": location}, b""


def load(url: str, **options: Any) -> Document:
    return load_page(url, "c", **{"allow_private": True, **options})


def refusal(url: str, **options: Any) -> str:
    with pytest.raises(DocumentError) as error:
        load(url, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


# Pages


# A page is a document: its title, the final address as its source, address and time as metadata.
def test_page() -> None:
    with site({"/old": to("/new#part", 301), "/new": page()}) as one:
        document = load(f"{one.url}/old#top")

        assert (document.title, document.source) == ("The mill", f"{one.url}/new")
        assert document.text == "Mill\n\nIt burned."
        assert document.metadata["address"] == f"{one.url}/new"
        assert document.metadata["retrieved"].startswith("20")
        assert document.date == ""  # the time of retrieval is no date of the text
        assert one.paths == ["/robots.txt", "/old", "/new"]


# The type decides the format; where it says little, the path does.
@pytest.mark.parametrize(
    ("path", "kind", "body", "text"),
    [
        ("/a", "text/html; charset=utf-8", b"<p>Caf\xc3\xa9", "Café"),
        ("/a.pdf", "text/html", b"<p>Not a PDF.", "Not a PDF."),
        ("/a.cgi", "text/plain", b"<p>", "<p>"),
        ("/a.py", "text/plain", b"x = 1", "```python\nx = 1\n```"),
        ("/a.php", "", b"<p>A page", "A page"),
        ("/a.md", "text/plain", b"---\nx: 1\n---\n# A\n", "# A\n"),
        ("/a.csv", "application/octet-stream", TABLE, ROWS),
        ("/a", "text/csv", TABLE, ROWS),
        ("/a", "", b"<p>No type", "No type"),
        ("/a.html", "text/html; charset=windows-1250", b"<p>\xb9\xeak", "ąęk"),
        ("/a.html", "text/html; charset=nonsense", b"<meta charset=koi8-r><p>\xc1", "а"),
        # The server's word goes before the page's, as in browsers.
        ("/a", "text/html; charset=koi8-r", b"<meta charset=windows-1251><p>\xc1", "а"),
    ],
)
def test_formats(path: str, kind: str, body: bytes, text: str) -> None:
    with site({path: page(body, kind)}) as one:
        assert load(one.url + path).text == text


def test_pdf() -> None:
    with site({"/r": page(pdf("The buyer pays."), "application/pdf")}) as one:
        document = load(f"{one.url}/r")

    assert "The buyer pays." in document.text
    assert document.places[0].name == "page 1"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (page(b"\x89PNG", "image/png"), "is image/png, which is not read"),
        ((404, {}, b""), "(status 404): there is no such page: check the address."),
        ((403, {}, b""), "refuses programs"),
        ((401, {}, b""), "needs a log-in"),
        ((500, {}, b""), "(status 500): try again later."),
        ((304, {}, b""), "(status 304): check the address."),
        (page(b"<script>start()</script>"), "has no text without its scripts"),
        (page(b"  "), "has no text in it"),
        (page(b"\0\1\2\3\4\5\6\7" * 99, "text/plain"), "is binary"),
    ],
)
def test_refused_pages(answer: Answer, reason: str) -> None:
    with site({"/a": answer}) as one:
        assert reason in refusal(f"{one.url}/a")


# A page of which scripts make the text says so.
def test_page_made_by_scripts() -> None:
    with site({"/a": page(b"<p>Loading ...</p><script>x</script>"), "/b": page()}) as one:
        [note] = load(f"{one.url}/a").notes
        assert load(f"{one.url}/b").notes == ()

    assert note.startswith("It has little text without its scripts, which do not run")


def test_compressed_page() -> None:
    answer = page(gzip.compress(HTML), **{"Content-Encoding": "gzip"})
    with site({"/a": answer}) as one:
        assert load(f"{one.url}/a").title == "The mill"


# A source that is an address is read as others are; others of the same call are still read.
def test_sources(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Joan was born.")
    with site({"/a": page()}) as one:
        sources = sources_of([f"{one.url}/a", tmp_path / "a.md", f"{one.url}/b", "ftp://a.org/b"],
                             allow_private=True)  # fmt: skip
        read = [document for source in sources for document in source.documents("c")]
        [private] = [*sources_of([f"{one.url}/a"])[0].documents("c")]

    assert [type(one) for one in read] == [Document, Document, Refused, Refused]
    assert isinstance(private, Refused)
    assert "--allow-private" in private.reason
    assert isinstance(read[3], Refused)
    assert read[3].reason.startswith("ftp://a.org/b is not read: only addresses with http://")


# An upload is a file, whatever its name: no server retrieves an address that others name.
def test_uploads_are_files(tmp_path: Path) -> None:
    (tmp_path / "0.txt").write_text("Only this.")
    with site({"/a": page()}) as one:
        [document] = uploaded(tmp_path / "0.txt", f"{one.url}/a").documents("c")
        assert one.asked == []

    assert isinstance(document, Document)
    assert document.text == "Only this."


# robots.txt


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [
        ((404, {}, b""), True),
        ((403, {}, b""), True),
        (page(b"User-agent: *\nDisallow: /a", "text/plain"), False),
        (page(b"User-agent: graphreader\nDisallow: /\n\nUser-agent: *\nAllow: /"), False),
        (page(b"User-agent: other\nDisallow: /"), True),
        (page(b"User-agent: *\nDisallow: /*?"), False),  # the forms of RFC 9309
        (page(b"User-agent: *\nDisallow: /\nAllow: /a?"), True),
        (page(b"\xef\xbb\xbfUser-agent: *\nDisallow: /"), False),
        (page(b"\xff\0 no robots"), True),
        (to("/rules"), False),
        (to("/robots.txt"), True),  # a circle
        (page(b"User-agent: *\nDisallow: /a\n" + b"# more\n" * 10**6), False),  # its beginning
    ],
)
def test_robots(robots: Answer, allowed: bool) -> None:
    rules = page(b"User-agent: *\nDisallow: /", "text/plain")
    with site({"/robots.txt": robots, "/rules": rules, "/a?x=1": page()}) as one:
        if allowed:
            assert load(f"{one.url}/a?x=1").title == "The mill"
        else:
            assert "closed to programs by 127.0.0.1/robots.txt" in refusal(f"{one.url}/a?x=1")
            assert "/a?x=1" not in one.paths


# Where the rules cannot be read now, nothing is known (RFC 9309, 2.3.1.4).
def test_unreachable_robots() -> None:
    with site({"/robots.txt": (503, {}, b""), "/a": page()}) as one:
        assert "robots.txt cannot be read now (status 503)" in refusal(f"{one.url}/a")
        assert one.paths == ["/robots.txt"]


# The rules of each site on the way are asked.
def test_robots_behind_a_redirect() -> None:
    closed = {"/robots.txt": page(b"User-agent: *\nDisallow: /"), "/b": page()}
    with site(closed) as other, site({"/a": to(f"{other.url}/b")}) as one:
        assert "closed to programs" in refusal(f"{one.url}/a")
        assert other.paths == ["/robots.txt"]


# Addresses

PUBLIC = "93.184.216.34 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::"
PRIVATE = (
    "10.0.0.1 127.0.0.1 127.8.8.8 0.0.0.0 169.254.169.254 100.64.0.1 172.16.0.1 192.168.1.1 "
    "192.0.0.192 198.18.0.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 "
    "168.63.129.16 ::1 :: ::ffff:127.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::808:808 "
    "2002:7f00:1:: 2002:a9fe:a9fe:: 2001:0:808:808:8000:63bf:3fff:fdd2 2001:db8::1 3fff::1 "
    "fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 fec0::1 ff02::1 100::1 "
)


def test_public_addresses() -> None:
    assert [one for one in PUBLIC.split() if not is_public(ip_address(one))] == []
    assert [one for one in PRIVATE.split() if is_public(ip_address(one))] == []


# However an address is written, it ends at the same check; nothing is asked.
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "localhost", "localhost.",
     "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]", "0.0.0.0", "0",
     "①②⑦.⓪.⓪.①", "127。0。0。1"],
)  # fmt: skip
def test_spellings_of_this_machine(host: str) -> None:
    with site({"/a": page()}) as one:
        reason = refusal(f"http://{host}:{one.port}/a", allow_private=False)
        assert one.asked == []

    assert "private network" in reason or "no host" in reason or "no valid address" in reason


# A name with one private address among public ones is refused, however often it is looked up.
@pytest.mark.parametrize("private", PRIVATE.split())
def test_names_of_private_addresses(private: str) -> None:
    for found in ([private], ["93.184.216.34", private]):
        reason = refusal(
            "http://page.test/a", allow_private=False, resolve=lambda *_, found=found: found
        )
        assert reason.startswith("page.test is a machine of this or a private network")


class Sent:
    """The requests that would be sent to addresses, in place of httpx's connections."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *failing: str) -> None:
        self.requests: list[tuple[str, str]] = []  # URL and Host
        sent = self

        class Transport(httpx.AsyncBaseTransport):
            def __init__(self, **options: Any) -> None:
                self.options = options

            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                sent.requests.append((str(request.url), request.headers["Host"]))
                if request.url.host in failing:
                    raise httpx.ConnectError("refused")
                if request.url.path == "/robots.txt":
                    return httpx.Response(404)
                return httpx.Response(200, headers={"Content-Type": "text/html"}, content=HTML)

        monkeypatch.setattr(web.httpx, "AsyncHTTPTransport", Transport)


# Each request is sent to the address that was checked, by number: a second look-up with another
# result (DNS rebinding) cannot redirect it.
def test_rebinding(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Sent(monkeypatch)
    answers = iter([["93.184.216.34"], ["93.184.216.35"], ["127.0.0.1"]])

    document = load(
        "https://page.test:8443/a", allow_private=False, resolve=lambda *_: next(answers)
    )

    assert document.source == "https://page.test:8443/a"
    assert sent.requests == [
        ("https://93.184.216.34:8443/robots.txt", "page.test:8443"),
        ("https://93.184.216.35:8443/a", "page.test:8443"),
    ]
    assert next(answers) == ["127.0.0.1"]  # never looked up in between


def test_next_address(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Sent(monkeypatch, "2606:4700::1111")

    load(
        "http://page.test/", allow_private=False, resolve=lambda *_: ["2606:4700::1111", "8.8.8.8"]
    )

    assert [url for url, _ in sent.requests] == [
        "http://[2606:4700::1111]/robots.txt",
        "http://8.8.8.8/robots.txt",
        "http://[2606:4700::1111]/",
        "http://8.8.8.8/",
    ]


# Redirects are checked as the first address is, also those of robots.txt.
@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("file:///etc/passwd", "is not read: only addresses with http:// or https://"),
        ("gopher://127.0.0.1:70/_x", "is not read: only addresses with http:// or https://"),
        ("javascript:alert(1)", "sends no valid answer"),
        ("http://user:word@page.test/", "has a name or password in it"),
        ("http://private.test/", "private.test is a machine of this or a private network"),
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is a machine of this or"),
        ("//[::ffff:10.0.0.1]/", "is a machine of this or a private network"),
        ("http://[bad/", "There is no host"),
        ("http://\x1b[31m", "sends no valid answer"),
        ("/a", "leads through more than 5 redirects"),
    ],
)  # fmt: skip
def test_redirects(location: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = {"page.test": "93.184.216.34", "private.test": "10.0.0.1"}
    asked = []

    class Transport(httpx.AsyncBaseTransport):
        def __init__(self, **options: Any) -> None: ...

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            asked.append(request.url.host)
            if request.url.path == "/robots.txt":
                return httpx.Response(404)
            return httpx.Response(302, headers={"Location": location})

    monkeypatch.setattr(web.httpx, "AsyncHTTPTransport", Transport)

    def resolve(host: str, port: int) -> list[str]:
        return [addresses.get(host, host)]

    assert reason in refusal("http://page.test/a", allow_private=False, resolve=resolve)
    assert set(asked) == {"93.184.216.34"}


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://", "is not read: only addresses with http:// or https:// and a host are."),
        ("file:///etc/passwd", "is not read: only addresses"),
        ("https://user:word@example.org/", "has a name or password in it"),
        ("http://exa mple.org/", "There is no host exa%20mple.org"),
        ("http://exa\x1bmple.org/", "is no valid address"),
        ("http://a.org:x/", "is no valid address"),
        ("http://a.org:99999999/", "There is no host a.org"),
        ("http://" + "a" * 300 + ".org/", "There is no host"),
    ],
)
def test_bad_addresses(address: str, reason: str) -> None:
    found = refusal(address)

    assert reason in found
    assert "word" not in found.replace("password", "")


def test_unreachable() -> None:
    def nowhere(host: str, port: int) -> list[str]:
        raise OSError

    assert refusal("http://nowhere.test/", resolve=nowhere).startswith("There is no host nowhere.")
    port = closed_port()
    assert "refuses the connection" in refusal(f"http://127.0.0.1:{port}/")


# Certificates are checked for the name, though the connection goes to a number.
def test_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.pem").write_text(KEY_AND_CERTIFICATE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own.pem")
    with site({"/a": page()}, context) as one:
        addresses = {"resolve": lambda *_: ["127.0.0.1"]}
        untrusted = refusal(f"https://page.test:{one.port}/a", **addresses)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
        document = load(f"https://page.test:{one.port}/a", **addresses)
        other = refusal(f"https://other.test:{one.port}/a", **addresses)

    assert document.title == "The mill"
    assert untrusted.startswith("The certificate of page.test is not valid for it, or not trusted")
    assert other.startswith("The certificate of other.test is not valid for it, or not trusted")
    assert one.asked == [(f"page.test:{one.port}", "/robots.txt"), (f"page.test:{one.port}", "/a")]


# Proxies


# A proxy of the environment is asked for the checked address, so it looks nothing up.
def test_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with site({}) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        denied = refusal(
            "https://page.test/a", allow_private=False, resolve=lambda *_: ["93.184.216.34"]
        )
        private = refusal(
            "https://page.test/a", allow_private=False, resolve=lambda *_: ["10.0.0.1"]
        )
        literal = refusal("https://127.0.0.1/a", allow_private=False)

        assert proxy.asked == [("CONNECT", "93.184.216.34:443")]
    assert "cannot be reached through the proxy" in denied
    assert "private network" in private
    assert "private network" in literal


# A plain request would let the proxy look the name up: only where private addresses are allowed.
def test_plain_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with site({"http://page.test/a": page()}) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url.removeprefix("http://"))
        refused = refusal(
            "http://page.test/a", allow_private=False, resolve=lambda *_: ["93.184.216.34"]
        )
        assert proxy.asked == []
        document = load("http://page.test/a", resolve=lambda *_: [])
        monkeypatch.setenv("NO_PROXY", "page.test")
        direct = refusal("http://page.test/a", allow_private=False, resolve=lambda *_: ["::1"])

    assert "use https, or --allow-private" in refused
    assert document.source == "http://page.test/a"
    assert proxy.paths == ["http://page.test/robots.txt", "http://page.test/a"]
    assert "private network" in direct


def test_socks_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")

    assert 'pip install "httpx[socks]"' in refusal("https://page.test/")


# Bodies


def endless(write: Callable[[bytes], None]) -> None:
    while True:
        write(b"<p>more</p>" * 1000)


def slowly(write: Callable[[bytes], None]) -> None:
    for _ in range(100):
        write(b"<p>")
        time.sleep(0.05)


def bomb(write: Callable[[bytes], None]) -> None:
    packer = zlib.compressobj(9, wbits=31)
    for _ in range(200):
        write(packer.compress(b"\0" * 2**20))
    write(packer.flush())


# No body takes more memory or time than the limits.
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (page(endless), "has more than the limit of 1 MiB"),
        (page(bomb, **{"Content-Encoding": "gzip"}), "has more than the limit of 1 MiB"),
        (page(gzip.compress(gzip.compress(HTML)), **{"Content-Encoding": "gzip, gzip"}),
         "is sent packed as gzip, gzip"),
        (page(b"x", **{"Content-Encoding": "br"}), "is sent packed as br"),
        (page(b"no gzip", **{"Content-Encoding": "gzip"}), "sends no valid answer"),
        (page(slowly), "takes more than 1 s"),
        (page(lambda write: time.sleep(0.8)), "sends nothing for 0.5 s"),
        (page(b"", **{"X": "y" * 200_000}), "sends no valid answer"),
        (page(lambda write: write(b"x"), **{"Content-Length": "9"}), "sends no valid answer"),
    ],
)  # fmt: skip
def test_bodies(answer: Answer, reason: str) -> None:
    limits = WebLimits(connect=1.0, read=0.5, whole=1.0, size=2**20)
    with site({"/a": answer}) as one:
        began = time.monotonic()
        found = refusal(f"{one.url}/a", limits=limits)

    assert reason in found
    assert time.monotonic() - began < 5


# Headers that come byte by byte end at the limit of the whole, too.
def test_slow_headers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            taken, _ = server.accept()
            with taken, suppress(OSError):
                for one in b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200:
                    taken.send(bytes([one]))
                    time.sleep(0.05)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        limits = WebLimits(read=0.5, whole=1.0)
        reason = refusal(f"http://127.0.0.1:{server.getsockname()[1]}/", limits=limits)
        thread.join()

    assert "takes more than 1 s" in reason


# A name with escape sequences, or in other letters, does no harm to a terminal or the check.
def test_strange_names() -> None:
    with site({"/%1B%5B31m": page(b"<p>Text")}) as one:
        document = load(f"{one.url}/\x1b[31m".replace("\x1b", "%1B").replace("[", "%5B"))

    assert "\x1b" not in document.title + document.source


KEY_AND_CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg5sEh21Q6EvcTLDuJ
jiVxcCAUR5d7xivdvskeWELygMWhRANCAARfOvOLpnOvHzCCBf6YJmP5kYlzSAW5
OxuROA7xIZFr2OaiPwk2dEloH8JuRqH3u2xiGqFuALapDRxEwPI/EvLW
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBljCCATugAwIBAgIUZ/gpDX6bsnmHnGzwpQtW6ipgSDMwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJcGFnZS50ZXN0MCAXDTI2MTEyNzE0MTAzOVoYDzIxMjYxMTAz
MTQxMDM5WjAUMRIwEAYDVQQDDAlwYWdlLnRlc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARfOvOLpnOvHzCCBf6YJmP5kYlzSAW5OxuROA7xIZFr2OaiPwk2dElo
H8JuRqH3u2xiGqFuALapDRxEwPI/EvLWo2kwZzAdBgNVHQ4EFgQUDNwnhV8oFYNJ
4xk9WbH+cyH8E4QwHwYDVR0jBBgwFoAUDNwnhV8oFYNJ4xk9WbH+cyH8E4QwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglwYWdlLnRlc3QwCgYIKoZIzj0EAwID
SQAwRgIhAM0ACVN4ukpz89IDqchCu1D72sUVXffotusl0u+IcHrlAiEA21EZCBhg
MLVlOTX9ZmOl1va/C97qEzXkbchv7i58eaw=
-----END CERTIFICATE-----
"""
