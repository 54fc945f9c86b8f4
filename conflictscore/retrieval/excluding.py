"""Documents that a benchmark must not be answered from, left out."""

import threading
from collections import Counter
from collections.abc import Mapping
from urllib.parse import urlsplit

from langchain_core.documents import Document
from pydantic import Field, PrivateAttr, field_validator

from conflictscore.errors import InputError
from conflictscore.retrieval.base import WrappingRetriever
from conflictscore.retrieval.search_notes import note
from conflictscore.scripts import words_in

__all__ = ["ExcludingRetriever"]

_OF_SITES = "of excluded sites"
_QUOTING = "that hold the question beside a reference answer"
_LEAST_WORDS = 3
"""Words of a reference answer that nobody writes beside a question by chance."""


class ExcludingRetriever(WrappingRetriever):
    """Leaves out documents of some sites, and those that give a benchmark's answers away.

    Nothing is searched for in their place: what is left of the top ``k`` is what remains.

    Attributes:
        retriever: Finds the documents.
        k: See the base.
        sites: Domains; their subdomains are left out too.
        references: A benchmark's questions with their reference answers, right and wrong. A
            document is left out that holds the words of its own question in a row, and those of
            one of these answers, of three words at least and one that the question lacks; case and
            punctuation aside.
        left_out: How many documents were left out since it was opened, by the reason.

    Raises:
        InputError: A site is no domain.
    """

    sites: tuple[str, ...] = ()
    references: Mapping[str, tuple[str, ...]] = Field(default_factory=dict, repr=False)
    left_out: Counter[str] = Field(default_factory=Counter, repr=False)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @field_validator("sites")
    @classmethod
    def _are_domains(cls, sites: tuple[str, ...]) -> tuple[str, ...]:
        for site in sites:
            if not site or any(letter in site for letter in "/: @"):
                raise InputError(f"exclude_sites: {site!r} is no domain, such as example.org")
        return tuple(site.lower().strip(".") for site in sites)

    def change(self, query: str, found: list[Document]) -> list[Document]:
        """See the base; here there may be fewer, and the search's notes say how many."""
        kept = [one for one in found if not self._of_a_site(one)]
        clean = [one for one in kept if not self._gives_away(query, one)]
        for why, before, after in ((_OF_SITES, found, kept), (_QUOTING, kept, clean)):
            if left_out := len(before) - len(after):
                note(f"documents left out {why}: {left_out}")
                with self._lock:
                    self.left_out[why] += left_out
        return clean

    async def achange(self, query: str, found: list[Document]) -> list[Document]:
        """See the base."""
        return self.change(query, found)

    def _of_a_site(self, document: Document) -> bool:
        source = document.metadata.get("url") or document.metadata.get("source") or ""
        try:
            host = (urlsplit(str(source)).hostname or "").rstrip(".")
        except ValueError:
            return False
        return any(host == site or host.endswith(f".{site}") for site in self.sites)

    def _gives_away(self, question: str, document: Document) -> bool:
        references = self.references.get(question, ())
        if not references:
            return False
        text = _in_a_row(document.page_content)
        if _in_a_row(question) not in text:
            return False
        asked = set(words_in(question))
        return any(
            _in_a_row(answer) in text
            for answer in references
            if len(words := words_in(answer)) >= _LEAST_WORDS and not asked.issuperset(words)
        )


def _in_a_row(text: str) -> str:
    return f" {' '.join(words_in(text))} "
