import asyncio
import gzip
import ssl
import tracemalloc
import zlib
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

import pytest
import trustme
from pydantic import ValidationError

from conflictscore.errors import ConfigurationError
from conflictscore.retrieval.pages.fetch import PageFetcher
from conflictscore.retrieval.pages.page import FetchedPage, FetchSettings, UnreadableError
from tests.fakes.web_pages import (
    HTML,
    Exchange,
    Reply,
    WebServer,
    drip,
    endless,
    hang,
    head,
    page,
    raw,
    redirect,
    reset,
)
from tests.retrieval.pages.conftest import PUBLIC, Network

LOOPBACK = (ip_network("127.0.0.0/8"),)
START = head(content_type=HTML)
ZEROS = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
GZIP_START = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
MEGABYTE = ZEROS.compress(bytes(1_000_000)) + ZEROS.flush(zlib.Z_FULL_FLUSH)
"""A thousand bytes of deflate that unpack to a megabyte, and can be repeated without end."""


async def fetch(url: str, **settings: object) -> FetchedPage:
    given = FetchSettings(**{"allowed_networks": LOOPBACK, **settings})  # type: ignore[arg-type]
    async with PageFetcher(given) as fetcher:
        return await fetcher.fetch(url)


async def failure(reply: Reply, **settings: object) -> str:
    with WebServer({"/": reply}) as web, pytest.raises(UnreadableError) as caught:
        async with asyncio.timeout(9):
            await fetch(web.url(), **settings)
    return str(caught.value)


async def test_a_page_comes_with_its_address_and_type() -> None:
    with WebServer({"/sky?a=1": page("<p>blü</p>", "Text/HTML; Charset=UTF-8")}) as web:
        found = await fetch(web.url("/sky?a=1#part"))
        assert found == FetchedPage(
            url=web.url("/sky?a=1#part"),
            final_url=web.url("/sky?a=1"),
            content_type="text/html",
            charset="utf-8",
            body="<p>blü</p>".encode(),
        )


async def test_the_request_says_who_asks_and_nothing_about_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with WebServer({"/": page("<p>x</p>")}) as web:
        await fetch(web.url())
        (visit,) = web.visits
        known = {"host", "accept", "accept-encoding", "connection", "user-agent"}
        assert visit.headers.keys() == known
        assert visit.headers["host"] == f"127.0.0.1:{web.port}"
        assert visit.headers["user-agent"].startswith("conflictscore/")


async def test_no_cookie_is_kept_from_one_hop_to_the_next() -> None:
    pages = {"/": redirect("/next", set_cookie="id=1; Path=/"), "/next": page("<p>x</p>")}
    with WebServer(pages) as web:
        await fetch(web.url())
        assert [visit.path for visit in web.visits] == ["/", "/next"]
        assert all("cookie" not in visit.headers for visit in web.visits)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_to_their_end(status: int) -> None:
    pages = {"/a": redirect("b", status), "/b": redirect("/c", status), "/c": page("<p>end</p>")}
    with WebServer(pages) as web:
        found = await fetch(web.url("/a"))
        assert (found.url, found.final_url) == (web.url("/a"), web.url("/c"))


async def test_a_redirect_loop_ends() -> None:
    with WebServer({"/a": redirect("/b"), "/b": redirect("/a")}) as web:
        with pytest.raises(UnreadableError, match="redirects more than 3 times"):
            await fetch(web.url("/a"))
        assert len(web.visits) == 4


@pytest.mark.parametrize("status", [204, 304, 403, 404, 410, 429, 500, 503])
async def test_only_success_is_read(status: int) -> None:
    reason = (
        "does not state its content type" if status == 204 else f"answered with status {status}"
    )
    assert await failure(raw(head(status, content_length="0"))) == reason


@pytest.mark.parametrize(
    ("content_type", "reason"),
    [
        ("application/pdf", "is application/pdf"),
        ("APPLICATION/JSON; charset=utf-8", "is application/json"),
        ("", "does not state its content type"),
        ("\x1b[31m/\u00ff", "does not state its content type"),
        ("a/" + "b" * 5000, "is a/" + "b" * 58),
    ],
)
async def test_another_type_is_left_and_its_body_is_not_read(
    content_type: str, reason: str
) -> None:
    before = head(content_type=content_type)
    with WebServer({"/": endless(before, b"x" * 65536)}) as web:
        with pytest.raises(UnreadableError) as caught:
            await fetch(web.url())
        assert str(caught.value) == reason
        assert web.sent < 20_000_000


@pytest.mark.parametrize("content_type", ["text/plain", "application/xhtml+xml", "text/html,x/y"])
async def test_text_and_xhtml_are_read_too(content_type: str) -> None:
    with WebServer({"/": page("It is blue.", content_type)}) as web:
        assert (await fetch(web.url())).body == b"It is blue."


SLOW = {
    "silence": hang(),
    "half a header": hang(b"HTTP/1.1 200 OK\r\nContent-Type: te"),
    "half a body": hang(START + b"<p>the beginning"),
    "letter by letter": drip(),
    "a slow body": drip(START),
    "slow chunks": drip(head(content_type=HTML, transfer_encoding="chunked"), b"1\r\nx\r\n"),
    "hints without end": endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
}


@pytest.mark.parametrize("reply", SLOW.values(), ids=SLOW.keys())
async def test_a_server_that_takes_its_time_is_left(reply: Reply) -> None:
    assert await failure(reply, timeout=0.3) == "did not arrive within 0.3 s"


async def test_a_number_that_does_not_answer_is_left_for_the_next_one(network: Network) -> None:
    network.name("site.example", ["93.184.215.13", PUBLIC])
    with WebServer({"/": page("<p>second</p>")}) as web:
        network.servers[PUBLIC] = web.port
        async with PageFetcher() as fetcher:
            assert (await fetcher.fetch("http://site.example/")).body == b"<p>second</p>"
    assert network.attempts == ["93.184.215.13", PUBLIC]


async def test_a_name_with_many_numbers_is_tried_at_four(network: Network) -> None:
    network.name("site.example", [f"93.184.215.{n}" for n in range(20)])
    async with PageFetcher() as fetcher:
        with pytest.raises(UnreadableError, match="is on a server that cannot be reached"):
            await fetcher.fetch("http://site.example/")
    assert network.attempts == [f"93.184.215.{n}" for n in range(4)]


async def test_a_name_server_that_does_not_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait(*_args: object, **_options: object) -> None:
        asyncio.run_coroutine_threadsafe(stuck.wait(), loop).result()

    monkeypatch.setattr("socket.getaddrinfo", wait)
    with pytest.raises(UnreadableError, match=r"did not arrive within 0\.2 s"):
        await fetch("http://site.example/", timeout=0.2)
    stuck.set()


@pytest.mark.parametrize(
    "reply",
    [
        *(raw(b""), raw(b"SSH-2.0-OpenSSH_9.6\r\n"), reset(), reset(START + b"<p>half")),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: minus one\r\n\r\n"),
        raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000),
        raw(head(content_type=HTML, content_length="1000") + b"<p>short"),
        raw(head(content_type=HTML, transfer_encoding="chunked") + b"5\r\nab"),
        raw(head(content_type=HTML, transfer_encoding="chunked") + b"zz\r\n"),
    ],
)
async def test_a_reply_that_is_not_whole_is_left(reply: Reply) -> None:
    assert await failure(reply) == "was cut off"


@pytest.mark.parametrize(
    "reply",
    [
        page(b"x" * 50_000_000),
        endless(START, b"x" * 65536),
        endless(head(content_type=HTML, content_length="1" * 18), b"x" * 65536),
        endless(head(content_type=HTML, transfer_encoding="chunked"), b"ffff\r\n%65535d\r\n" % 1),
    ],
    ids=["50 MB", "endless", "a lying length", "endless chunks"],
)
async def test_reading_stops_at_the_limit(reply: Reply) -> None:
    with WebServer({"/": reply}) as web:
        found = await fetch(web.url(), max_bytes=100_000)
        assert (len(found.body), found.truncated) == (100_000, True)
        assert web.sent < 20_000_000  # the content of the system's own buffers


async def test_a_page_just_as_long_as_the_limit_is_whole() -> None:
    packed = gzip.compress(b"x" * 1000)
    for body, encoding in ((b"x" * 1000, "identity"), (packed, "gzip")):
        with WebServer({"/": page(body, content_encoding=encoding)}) as web:
            found = await fetch(web.url(), max_bytes=1000)
            assert (found.body, found.truncated) == (b"x" * 1000, False)
            found = await fetch(web.url(), max_bytes=999)
            assert (found.body, found.truncated) == (b"x" * 999, True)


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("X-GZIP", gzip.compress),
        (
            "gzip",
            lambda text: b"".join(gzip.compress(text[n : n + 9]) for n in range(0, len(text), 9)),
        ),
        ("identity", bytes),
    ],
)
async def test_a_compressed_page_is_unpacked(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    text = b"<p>The sky is blue.</p>" * 9999
    with WebServer({"/": page(pack(text), content_encoding=encoding)}) as web:
        found = await fetch(web.url())
        assert (found.body, found.truncated) == (text, False)
        assert web.visits[0].headers["accept-encoding"] == "gzip"


async def test_a_compressed_bomb_is_not_unpacked_beyond_the_limit() -> None:
    """Each kilobyte on the wire is a megabyte in memory, and the wire does not end."""
    before = head(content_type=HTML, content_encoding="gzip") + GZIP_START
    with WebServer({"/": endless(before, MEGABYTE * 64)}) as web:
        await fetch(web.url(), max_bytes=1)  # load modules first, which are not the page's memory
        tracemalloc.start()
        try:
            found = await fetch(web.url(), max_bytes=1_000_000)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (found.body, found.truncated) == (bytes(1_000_000), True)
    assert peak < 10_000_000


async def test_a_compressed_nothing_without_end_is_cut_off() -> None:
    """Blocks that unpack to nothing never reach a limit on unpacked bytes."""
    before = head(content_type=HTML, content_encoding="gzip") + GZIP_START
    empty = b"\x00\x00\x00\xff\xff" * 10_000
    with WebServer({"/": endless(before, empty)}) as web:
        found = await fetch(web.url(), max_bytes=100_000)
        assert (found.body, found.truncated) == (b"", True)


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "compress", "\u00ff"])
async def test_a_packing_that_was_not_offered_is_left(encoding: str) -> None:
    """Brotli and zstd pack a gigabyte into a kilobyte, and unpack in one piece."""
    before = head(content_type=HTML, content_encoding=encoding)
    assert await failure(raw(before + b"x")) == "uses a compression that was not requested"


PACKED = gzip.compress(bytes(range(256)) * 99, mtime=0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"not packed at all", "is compressed and cannot be decompressed"),
        (PACKED[:200] + b"\xff" * 50, "is compressed and cannot be decompressed"),
        (PACKED[:-20], "was cut off"),
    ],
    ids=["another form", "a wrong block", "half of it"],
)
async def test_a_damaged_packing_is_left(data: bytes, reason: str) -> None:
    assert await failure(page(data, content_encoding="gzip")) == reason


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


@pytest.mark.usefixtures("trusted")
async def test_a_certificate_is_checked_for_the_name_and_not_for_the_number(
    network: Network, authority: trustme.CA
) -> None:
    """Two sites at one IP address, each requested by its own name."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("site.example").configure_cert(tls)
    network.name("site.example", [PUBLIC])
    network.name("other.example", [PUBLIC])
    with WebServer({"/": page("<p>safe</p>")}, tls=tls) as web:
        network.servers[PUBLIC] = web.port
        async with PageFetcher() as fetcher:
            for url in ("https://site.example/", "https://site.example./"):
                assert (await fetcher.fetch(url)).body == b"<p>safe</p>"
            with pytest.raises(UnreadableError, match="certificate is not valid"):
                await fetcher.fetch("https://other.example/")
        assert [visit.headers["host"] for visit in web.visits] == ["site.example", "site.example."]


def test_authorities_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file.pem")
    with pytest.raises(ConfigurationError, match="SSL_CERT_FILE or SSL_CERT_DIR"):
        PageFetcher()


async def test_a_server_without_tls_fails_at_it() -> None:
    with (
        WebServer({"/": page("<p>plain</p>")}) as web,
        pytest.raises(UnreadableError, match="that cannot be reached"),
    ):
        await fetch(web.url().replace("http:", "https:"))


async def test_a_server_is_left_as_soon_as_it_has_said_enough() -> None:
    """Only the head of a redirect is read, and no more of a page than the limit."""
    loop, left = asyncio.get_running_loop(), asyncio.Semaphore(0)

    def until_left(reply: Reply) -> Reply:
        def replying(exchange: Exchange) -> None:
            try:
                reply(exchange)
                exchange.connection.recv(1)  # no data comes any more, only the end
            finally:
                loop.call_soon_threadsafe(left.release)

        return replying

    pages = {
        "/": until_left(raw(head(302, location="/large", content_length="9"))),
        "/large": until_left(endless(START, b"x" * 65536)),
    }
    with WebServer(pages) as web:
        async with PageFetcher(FetchSettings(allowed_networks=LOOPBACK)) as fetcher:
            assert (await fetcher.fetch(web.url())).truncated
            async with asyncio.timeout(9):
                await left.acquire()
                await left.acquire()


@pytest.mark.parametrize(
    ("setting", "value"),
    [("timeout", 0.0), ("timeout", float("nan")), ("max_bytes", 0), ("max_bites", 1)],
)
def test_a_limit_out_of_range_is_named(setting: str, value: float) -> None:
    with pytest.raises(ValidationError, match=setting):
        FetchSettings(**{setting: value})  # type: ignore[arg-type]
