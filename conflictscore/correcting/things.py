"""Finds the words by which documents distinguish things that share a name.

"Dallas County Courthouse (Iowa)" and "Dallas County Courthouse in Dallas, Texas" are two different
things, and so are "the 1951 novel" and "a 1977 album". A document describes its subject by words
next to the name: in parentheses, after a comma, after "is a", or as a place after "in". Two
documents are about different things only if both describe their subjects and the two descriptions
have no word in common.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from conflictscore.answering.statements import telling_terms
from conflictscore.records import Document
from conflictscore.scripts import word_set

# Number of characters of a document that are searched for a description. Documents introduce their
# subject near the beginning.
_LOOKED_AT = 6000
# Capitalised words, perhaps joined by words such as "of" ("Bank of England").
_NAME = re.compile(
    r"[A-Z\u00c0-\u00de][\w'\u2019.-]*"
    r"(?: (?:(?:of|the|and|de|la|von|van|for) )?[A-Z0-9][\w'\u2019.-]*)*"
)
_MOST_WORDS = 8  # Maximum number of words in a description; a longer one reads like a sentence.
_MOST_NAMES = 4  # Maximum number of names to search for; each needs a separate search.

# Repetitions are bounded, so that a search through a hostile text takes linear time.
_WORDS = r"(?P<words>[^\n.;:()\[\]|]{3,140})"
# A description after "is a", perhaps after an apposition or brackets.
_IS_A = (
    r"(?:,[^,.\n]{1,80},|\s?\([^()\n]{1,120}\))?\s+(?:is|was|are|were)\s+(?:an?|the|one of the)"
    rf"\s+{_WORDS}"
)
_BRACKET = r"\s?\(\s?(?P<words>[^()\n]{3,60}?)\s?\)"
_APPOSITION = rf",\s+(?:an?|the)\s+{_WORDS}"
_IN = r",?\s+(?:in|at|of)\s+(?P<words>[A-Z][\w'-]+(?:,? [A-Z][\w'-]+){0,3})"
# Words that describe things of many kinds, so they do not show that two things differ.
_GENERAL = word_set(
    "name person people place first second part former known used made located city town county"
    " state article list page wikipedia disambiguation born died refer"
)


class Thing(NamedTuple):
    """The description of a thing in a document.

    Attributes:
        words: The description in the document, of at most eight words.
        terms: The informative words of the description, without the name itself.
    """

    words: str
    terms: frozenset[str]


def told_apart(
    own: Sequence[Document], others: Sequence[Document], names: str
) -> tuple[Thing, Thing] | None:
    """Return the things that two groups of documents describe, if they have no words in common.

    Otherwise return None.

    Args:
        own: Documents that support a claim.
        others: Documents that give a different answer.
        names: The question and the claim, which contain the name.
    """
    own_things = [*_things(own, names)]
    other_things = [*_things(others, names)]
    if not own_things or not other_things:
        return None
    own_terms = frozenset[str]().union(*(namesake.terms for namesake in own_things))
    other_terms = frozenset[str]().union(*(namesake.terms for namesake in other_things))
    return None if own_terms & other_terms else (own_things[0], other_things[0])


def has_longer_name(document: Document, question: str, own: Sequence[Document]) -> bool:
    """Return whether a document is about a thing with a longer name than the question's.

    "The Kite Pro reaches 25 km/h" is not about the Kite. The result is true if a capitalised word
    or a number follows the name wherever the document mentions it. Neither the question nor the
    documents in ``own``, which support the claim, may have this word after the name.
    """
    name_terms = telling_terms(question)
    for name in names_in(question.partition(" ")[2])[:1]:
        further = _words_after(name, document) - name_terms
        if further and None not in further:
            return all(further.isdisjoint(_words_after(name, each)) for each in own)
    return False


def _words_after(name: str, document: Document) -> frozenset[str | None]:
    """Return the stems of capitalised words and numbers right after a name; None if none follow.

    The name may be in capitals in a title.
    """
    text = f"{document.title}\n{document.text[:_LOOKED_AT]}"
    pattern = rf"\b{re.escape(name)}\b(?:[ -](?P<further>[A-Z0-9][\w.-]{{0,30}}))?"
    found = set[str | None]()
    for match in re.finditer(pattern, text):
        found |= {*telling_terms(match["further"] or "")} or {None}
    return frozenset(found)


def _things(documents: Iterable[Document], names: str) -> Iterable[Thing]:
    for document in documents:
        yield from things_in(f"{document.title}\n{document.text[:_LOOKED_AT]}", names)


@lru_cache(maxsize=256)  # the disputed claims of an answer are compared with the same documents
def things_in(text: str, names: str) -> tuple[Thing, ...]:
    """Return the descriptions that a text gives of things with one of the names."""
    name_terms = telling_terms(names)
    things = list[Thing]()
    for name in names_in(names):
        # a correction uses the first description, so brackets, as in titles, are searched first
        for form in (_BRACKET, _IS_A, _APPOSITION, _IN):
            for match in re.finditer(rf"{re.escape(name)}{form}", text):
                words = " ".join(match["words"].split()[:_MOST_WORDS]).strip(" ,-–'\"")
                terms = telling_terms(words) - name_terms - _GENERAL
                if terms:
                    things.append(Thing(words, frozenset(terms)))
                    break  # the first match of a pattern is where the text introduces the thing
    return tuple(things)


@lru_cache(maxsize=64)  # each document is searched for the same names
def names_in(text: str) -> tuple[str, ...]:
    """Return the capitalised names of at least four letters in a text, the longest first."""
    names = {match[0].strip(" .'’") for match in _NAME.finditer(text)}
    # shorter names are initials and codes, which many things share
    several = [name for name in names if len(name) > 3]
    return tuple(sorted(several, key=len, reverse=True)[:_MOST_NAMES])
