"""Groups documents by registrable domain, so that all pages of a domain count as one source.

In this module, a "voice" is a source that counts only once, however many documents it has. A
registrable domain is a name that anyone can register, such as ``example.co.uk``. Registrable
domains are determined with the ICANN section of Mozilla's Public Suffix List, which the package
``publicsuffixlist`` contains. The list's private section is ignored: since anyone can create a page
such as ``alice.github.io`` for free, all of ``github.io`` is one source.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from conflictscore.records import Document
from conflictscore.suffixes import load_suffixes

_HOST = re.compile(r"[\w.\x80-\U0010ffff-]+")
"""The characters of a host name. With others, such as "%", programs disagree on the host."""


def registrable_domain(url: str) -> str | None:
    """Return the registrable domain of a web address, in lower-case ASCII.

    A host without such a domain, such as an IP address or ``localhost``, is returned unchanged. The
    result is None for paths and for anything else that is not a web address.
    """
    host = host_of(url)
    if host is None or _is_address(host):
        return host
    with suppress(UnicodeError):  # a host name that cannot exist is its own domain
        return load_suffixes().privatesuffix(host) or host
    return host


def host_of(url: str) -> str | None:
    """Return the host of a web address in lower case, and in ASCII if IDNA can encode it."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        # browsers end the host at a backslash, so such an address has no clear host
        if parts.scheme not in ("http", "https") or not host or "\\" in parts.netloc:
            return None
    except ValueError:  # for example, a bracket of an IPv6 address is missing
        return None
    if _is_address(host):
        return str(ip_address(host))
    if not _HOST.fullmatch(host):
        return None
    with suppress(UnicodeError):
        return host.encode("idna").decode()
    return host


def voices(documents: Sequence[Document]) -> dict[int, int]:
    """Map each later document of a source to the first document of that source.

    A source is a registrable domain. Several domains with exactly the same texts form a single
    source; near-copies count as the same text. A domain therefore never counts as two sources, and
    a domain that copies the texts of several sources does not merge those sources into one. A
    document without a web address counts as its own domain.
    """
    domain_of = {d.number: registrable_domain(d.url) or d.number for d in documents}
    texts: dict[str | int, set[int]] = defaultdict(set)
    for one in documents:
        texts[domain_of[one.number]].add(one.duplicate_of or one.number)
    first: dict[frozenset[int], int] = {}
    for number in sorted(domain_of):
        first.setdefault(frozenset(texts[domain_of[number]]), number)
    voice_of = {number: first[frozenset(texts[domain])] for number, domain in domain_of.items()}
    return {number: voice for number, voice in voice_of.items() if number != voice}


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        ip_address(host)
        return True
    return False
