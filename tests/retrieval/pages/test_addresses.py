"""No address, however it is written or reached, leads a fetch to a host that is not public."""

from ipaddress import ip_address, ip_network
from itertools import product

import pytest

from conflictscore.retrieval.pages.fetch import PageFetcher, admitted
from conflictscore.retrieval.pages.page import FetchSettings, UnreadableError
from tests.fakes.web_pages import WebServer, page, redirect
from tests.retrieval.pages.conftest import PUBLIC, Network


def _wide(text: str, but: str = "") -> str:
    """The text in fullwidth forms, which a careless reader takes for the same characters."""
    return "".join(c if c in but else chr(ord(c) + 0xFEE0) for c in text)


INSIDE = {
    # Loopback, in the forms that a resolver understands.
    "dotted": "127.0.0.1",
    "decimal": "2130706433",
    "octal": "0177.0.0.1",
    "hexadecimal": "0x7f.0x0.0x0.0x1",
    "hexadecimal, one number": "0x7f000001",
    "two parts": "127.1",
    "zero": "0",
    "this host": "0.0.0.0",
    "trailing dot": "127.0.0.1.",
    # Loopback, as other characters that are read as these digits and dots.
    "circled digits": "①②⑦.⓪.⓪.①",
    "fullwidth digits": _wide("127.0.0.1", but="."),
    "ideographic dots": "127。0。0。1",
    "arabic digits": "\u0661\u0662\u0667.\u0660.\u0660.\u0661",
    "percent-encoded dots": "127%2e0%2e0%2e1",
    "a soft hyphen": "127.0.0.1\u00ad",
    "a null": "127.0.0.1%00.example.com",
    # Names of loopback.
    "localhost": "localhost",
    "localhost percent-encoded": "loc%61lhost",
    "localhost in fullwidth": _wide("localhost"),
    "localhost with a long s": "localho\u017ft",
    "a public name of loopback": "localtest.example",
    "a name inside and outside": "both.example",
    # IPv6, short and long, and IPv4 inside it.
    "IPv6 loopback": "[::1]",
    "IPv6 unspecified": "[::]",
    "IPv4-mapped": "[::ffff:127.0.0.1]",
    "IPv4-mapped in hexadecimal": "[::ffff:7f00:1]",
    "IPv4-mapped public": f"[::ffff:{PUBLIC}]",
    "IPv4-compatible": "[::127.0.0.1]",
    "IPv4-translated": "[::ffff:0:127.0.0.1]",
    "NAT64": "[64:ff9b::127.0.0.1]",
    "NAT64 public": f"[64:ff9b::{PUBLIC}]",
    "NAT64, local prefix": "[64:ff9b:1::7f00:1]",
    "6to4": "[2002:7f00:1::]",
    "Teredo": "[2001:0:53aa:64c:0:0:80ff:fffe]",
    "link-local": "[fe80::1]",
    "link-local with a zone": "[fe80::1%25lo]",
    "loopback with a zone": "[::1%25lo]",
    "public with a zone": "[2606:4700::1111%25lo]",
    "site-local": "[fec0::1]",
    "unique local": "[fc00::1]",
    "IPv6 multicast": "[ff02::1]",
    "IPv6 documentation": "[2001:db8::1]",
    "IPv6 documentation, new": "[3fff::1]",
    "IPv6 discard": "[100::1]",
    "IPv6 segment routing": "[5f00::1]",
    "IPv6 outside what is in use": "[4000::1]",
    # Private and special IPv4.
    "private 10": "10.0.0.1",
    "private 172": "172.16.0.1",
    "private 192": "192.168.1.1",
    "carrier's network": "100.64.0.1",
    "link-local 169": "169.254.1.1",
    "protocol assignments": "192.0.0.9",
    "documentation": "192.0.2.1",
    "6to4 relay": "192.88.99.1",
    "benchmarking": "198.18.0.1",
    "multicast": "224.0.0.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    # Metadata addresses of clouds.
    "metadata": "169.254.169.254",
    "metadata in octal": "0251.0376.0251.0376",
    "metadata, mapped": "[::ffff:169.254.169.254]",
    "metadata over IPv6": "[fd00:ec2::254]",
    "metadata in a carrier's network": "100.100.100.200",
    "metadata at a public number": "168.63.129.16",
    "metadata by name": "metadata.google.internal",
    # User names that look like hosts.
    "public user, private host": f"{PUBLIC}@127.0.0.1",
    "public name and a password": "site.example:80@127.0.0.1",
    "a backslash": "127.0.0.1\\@site.example",
    "an empty user": "@127.0.0.1",
}
"""Hosts that lead to the inside, or hide that they do."""


@pytest.fixture
def inside(network: Network) -> Network:
    """Every name of the table is known, and so is a public site."""
    network.name("localtest.example", ["127.0.0.1"])
    network.name("both.example", [PUBLIC, "127.0.0.1"])
    network.name("metadata.google.internal", ["169.254.169.254"])
    network.name("site.example", [PUBLIC])
    return network


async def refused(url: str, settings: FetchSettings | None = None) -> str:
    async with PageFetcher(settings) as fetcher:
        with pytest.raises(UnreadableError) as caught:
            await fetcher.fetch(url)
    return str(caught.value)


async def test_an_address_that_leads_inside_is_never_connected_to(inside: Network) -> None:
    with WebServer({"/": page("<p>the secret</p>")}) as web:
        async with PageFetcher() as fetcher:
            for scheme, host in product(("http", "https"), INSIDE.values()):
                with pytest.raises(UnreadableError):
                    await fetcher.fetch(f"{scheme}://{host}:{web.port}/")
                assert (inside.attempts, web.connections) == ([], 0), host


@pytest.mark.parametrize("host", INSIDE.values(), ids=INSIDE.keys())
async def test_a_redirect_to_it_is_never_followed(inside: Network, host: str) -> None:
    with WebServer({"/": page("<p>the secret</p>")}) as web:
        inside.servers[PUBLIC] = web.port
        web.pages["/start"] = redirect(f"http://{host}:{web.port}/")
        web.pages["/relative"] = redirect(f"//{host}:{web.port}/")
        await refused("http://site.example/start")
        await refused("http://site.example/relative")
        assert [visit.path for visit in web.visits] == ["/start", "/relative"]
        assert (inside.attempts, web.connections) == ([PUBLIC] * 2, 2)


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        *product(
            ("127%2e0%2e0%2e1", "loc%61lhost", "[2606:4700::1111%1]", "%00"), ["that is not a URL"]
        ),
        ("user:password@site.example", "with a user name in it"),
    ],
)
async def test_escapes_and_user_names_are_sent_nowhere(
    inside: Network, host: str, reason: str
) -> None:
    assert await refused(f"http://{host}/") == f"has an address {reason}"
    assert inside.lookups == []


async def test_the_same_fetch_reaches_a_public_site(inside: Network) -> None:
    """Proves that the tests above refuse the address, and not everything."""
    with WebServer({"/": page("<p>public</p>"), "/start": redirect("//site.example/")}) as web:
        inside.servers[PUBLIC] = web.port
        async with PageFetcher() as fetcher:
            found = await fetcher.fetch("http://site.example/start")
    assert (found.body, found.final_url) == (b"<p>public</p>", "http://site.example/")
    assert inside.attempts == [PUBLIC] * 2


async def test_a_network_that_is_allowed_is_reached_and_no_other(inside: Network) -> None:
    allowed = FetchSettings(allowed_networks=(ip_network("127.0.0.0/30"),))
    with WebServer({"/": page("<p>the intranet</p>")}) as web:
        async with PageFetcher(allowed) as fetcher:
            found = await fetcher.fetch(web.url())
            assert found.body == b"<p>the intranet</p>"
        for host in ("127.8.9.10", "10.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]"):
            await refused(f"http://{host}:{web.port}/", allowed)
    assert inside.attempts == ["127.0.0.1"]


async def test_a_name_that_turns_inside_at_the_second_look_is_asked_at_its_first_number(
    inside: Network,
) -> None:
    """DNS rebinding: looking up a name twice would connect to an address that was not checked."""
    inside.name("rebinding.example", [PUBLIC], ["127.0.0.1"])
    with WebServer({"/": page("<p>public</p>")}) as web:
        inside.servers[PUBLIC] = web.port
        async with PageFetcher() as fetcher:
            await fetcher.fetch("http://rebinding.example/")
            with pytest.raises(UnreadableError, match="not public"):
                await fetcher.fetch(f"http://rebinding.example:{web.port}/")
    assert inside.lookups == ["rebinding.example"] * 2
    assert inside.attempts == [PUBLIC]


async def test_a_name_that_turns_inside_between_two_hops_is_refused(inside: Network) -> None:
    inside.name("rebinding.example", [PUBLIC], ["169.254.169.254"])
    with WebServer({"/": redirect("http://rebinding.example/latest")}) as web:
        inside.servers[PUBLIC] = web.port
        assert await refused("http://rebinding.example/") == "is at an address that is not public"
    assert inside.attempts == [PUBLIC]


@pytest.mark.parametrize(
    "location",
    [
        *("file:///etc/hostname", "ftp://site.example/", "gopher://site.example/", "about:blank"),
        *("data:text/html,hello", "javascript:alert(1)", "unix:///var/run/docker.sock"),
    ],
)
async def test_only_http_and_https_are_spoken(inside: Network, location: str) -> None:
    with WebServer({"/": redirect(location)}) as web:
        inside.servers[PUBLIC] = web.port
        reason = "an address that is neither http nor https"
        assert await refused("http://site.example/") == f"redirects to {reason}"
        assert await refused(location) == f"has {reason}"
    assert inside.attempts == [PUBLIC]


@pytest.mark.parametrize(
    "url",
    [
        *("", "x", "//x/", "http://", "http:///x"),
        "http://site.example:0/",
        "http://site.example:99999/",
        "http://site.example:x/",
        "http://site.example/" + "a" * 70000,
        "http://[::1/",
        "http://a b/",
        "http://..../",
        "http://" + "a" * 70 + ".example/",
        "http://x\r\nHost: y/",
    ],
)
async def test_an_invalid_address_is_refused(inside: Network, url: str) -> None:
    await refused(url)
    assert inside.attempts == []


async def test_an_unknown_name_does_not_crash(inside: Network) -> None:
    assert await refused("http://gone.example/") == "has a host name that cannot be found"


@pytest.mark.parametrize(
    "number",
    [
        *("8.8.8.8", "100.128.0.1", "168.63.129.17", "172.32.0.1", "192.167.255.255"),
        *("223.255.255.255", "2001:4860:4860::8888", "2606:4700::1111", "2a00:1450:4001::1"),
    ],
)
def test_public_numbers_next_to_special_ones_are_public(number: str) -> None:
    assert admitted(ip_address(number))
