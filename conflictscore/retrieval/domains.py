"""Whose documents they are: one registrable domain is one voice, however many pages it has.

A registrable domain is what somebody has registered with a registry, such as ``example.co.uk``, by
the ICANN section of Mozilla's Public Suffix List as it is bundled with ``publicsuffixlist``. The
list's private section is left out: a page at ``alice.github.io`` costs nothing, so all that
``github.io`` hosts is one voice.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from conflictscore.records import Document

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

__all__ = ["registrable_domain", "voices"]


def registrable_domain(url: str) -> str | None:
    """The registrable domain of a web address, in ASCII and small letters.

    A host that has none, such as an IP address or ``localhost``, stands for itself.

    Returns:
        None for a path and whatever else is no web address.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        if parts.scheme not in ("http", "https") or not host:
            return None
    except ValueError:
        return None
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        host = host.encode("idna").decode()
    except UnicodeError:
        return host
    return _suffixes().privatesuffix(host) or host


def voices(documents: Sequence[Document]) -> dict[int, int]:
    """Which documents speak with one voice: near-copies, and those of one registrable domain.

    A text that stands at several domains is counted for the one that has the fewest texts here, the
    first on a tie. So nobody who copies the texts of others makes one voice of them all. A document
    without a web address is a voice of its own.

    Args:
        documents: The documents of one question, with their near-duplicates marked.

    Returns:
        For each document that is not the first of its voice the number of the first.
    """
    domain_of = {d.number: registrable_domain(d.url) or f"document {d.number}" for d in documents}
    copies: dict[int, list[int]] = defaultdict(list)
    texts: dict[str, set[int]] = defaultdict(set)
    for document in documents:
        text = document.duplicate_of or document.number
        copies[text].append(document.number)
        texts[domain_of[document.number]].add(text)
    groups: dict[str, list[int]] = defaultdict(list)
    for numbers in copies.values():
        owner = min((domain_of[number] for number in numbers), key=lambda name: len(texts[name]))
        groups[owner].extend(numbers)
    return {
        number: min(numbers)
        for numbers in groups.values()
        for number in sorted(numbers)
        if number != min(numbers)
    }


@cache
def _suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(only_icann=True)
