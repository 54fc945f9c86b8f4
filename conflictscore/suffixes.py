"""Loads Mozilla's Public Suffix List, which says where the name that one can register ends."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


@cache
def load_suffixes() -> "PublicSuffixList":
    """Return the ICANN section of the list; ``retrieval/domains.py`` says why only this section.

    The first call reads the list from disk, so make it outside an event loop.
    """
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(only_icann=True)
