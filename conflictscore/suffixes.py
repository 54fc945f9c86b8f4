"""Loads Mozilla's Public Suffix List, which says where the name that one can register ends."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


@cache
def load_suffixes() -> "PublicSuffixList":
    """Return the list's ICANN section; it is read from disk once, so load it off the event loop."""
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(only_icann=True)
