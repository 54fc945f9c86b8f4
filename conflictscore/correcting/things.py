"""Finds the words by which documents distinguish things that share a name.

"Dallas County Courthouse (Iowa)" and "Dallas County Courthouse in Dallas, Texas" are two different
things. "The 1951 novel" and "a 1977 album" are two different things, too. A document describes its
subject by words next to the name: in parentheses, after a comma, after "is a", or as a place after
"in". Two groups of documents count as being about different things under two conditions. Both
groups describe their subjects, and no description of one group shares a word with a description of
the other. One description in each group suffices, since most documents never describe their
subject.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from conflictscore.answering.statements import telling_terms
from conflictscore.records import Document
from conflictscore.scripts import fold, word_set
from conflictscore.word_lists import STEM

# Number of characters of a document that are searched for a description. Documents introduce their
# subject near the beginning.
_LOOKED_AT = 6000
# Capital letters of the scripts that have them: Latin, Greek, Cyrillic and a few rare scripts.
_CAPITALS = "".join(letter for letter in map(chr, range(0x2000)) if letter.isupper())
_REST_OF_WORD = r"(?:[\w'\u2019-]|\.(?=\w))*"
# Capitalised words, perhaps joined by words such as "of" ("Bank of England"). One small letter may
# come first ("iPhone"). A full stop before a space is part of a name only after at most three
# letters ("St. Paul"); otherwise it ends a sentence.
_NAME = re.compile(
    rf"\b[a-z]?[{_CAPITALS}]{_REST_OF_WORD}"
    r"(?:(?:(?<!\w{4})\.)? (?:(?:of|the|and|de|la|von|van|for) )?"
    rf"[{_CAPITALS}0-9]{_REST_OF_WORD})*"
)
# Folded words that begin a question and are no part of the name after them. Articles are left
# out, since they begin names such as "La Paz".
_ASKING = word_set(
    "what when where which who whom whose why how does do did is are was were has have had can"
    " could will would should in at on during name tell give list describe explain please"
    " wann wer was wo wie quand qui que quel quelle cuando quien quando dove chi"
    " когда где кто какой kdy kde kdo kiedy gdzie kto ποτε που ποιος"
)
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_MOST_WORDS = 8  # Maximum number of words in a description; a longer one reads like a sentence.
_MOST_NAMES = 4  # Maximum number of names to search for; each needs a separate search.

# Repetitions are bounded, so that a search through a hostile text takes linear time.
# The words in the patterns are English. In other languages, only brackets and longer names tell
# things apart.
_WORDS = r"(?P<words>[^\n.;:()\[\]|]{3,140})"
# A description after "is a", perhaps after an apposition or brackets.
_IS_A = (
    r"(?:,[^,.\n]{1,80},|\s?\([^()\n]{1,120}\))?\s+(?:is|was|are|were)\s+(?:an?|the|one of the)"
    rf"\s+{_WORDS}"
)
_BRACKET = r"\s?\(\s?(?P<words>[^()\n]{3,60}?)\s?\)"
_APPOSITION = rf",\s+(?:an?|the)\s+{_WORDS}"
_IN = r",?\s+(?:in|at|of)\s+(?P<words>[A-Z][\w'-]+(?:,? [A-Z][\w'-]+){0,3})"
# Stems of words that describe things of many kinds, so they do not show that two things differ.
_GENERAL = frozenset(
    word[:STEM]
    for word in word_set(
        "name person people place first second part former known used made located city town county"
        " state article list page wikipedia disambiguation born died refer"
    )
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
    # A capitalised first word is part of a name only if a second one follows, unlike "Describe".
    first, _, rest = question.partition(" ")
    may_be_name = fold(first) not in _ASKING and telling_terms(first)
    names = names_in(question if may_be_name and rest[:1].isupper() else rest)
    if not names and may_be_name:
        names = names_in(first)
    # Only the longest name is looked at, since the question is about the thing that it names. The
    # others may be places or people, and a longer form of their names shows nothing.
    for name in names[:1]:
        further = _words_after(name, document) - name_terms
        if further and None not in further:
            return all(further.isdisjoint(_words_after(name, each)) for each in own)
    return False


def _words_after(name: str, document: Document) -> frozenset[str | None]:
    """Return the stems of capitalised words and numbers right after a name; None if none follow.

    The name may be in capitals, as in a title.
    """
    text = f"{document.title}\n{document.text[:_LOOKED_AT]}"
    pattern = (
        rf"\b(?:{re.escape(name)}|{re.escape(name.upper())})\b"
        rf"(?:[ -](?P<further>[{_CAPITALS}0-9][\w.-]{{0,30}}))?"
    )
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
            for match in re.finditer(rf"\b{re.escape(name)}(?:['\u2019]s)?{form}", text):
                words = " ".join(match["words"].split()[:_MOST_WORDS]).strip(" ,-–'\"")
                terms = telling_terms(words) - name_terms - _GENERAL
                if terms and not _is_abbreviation(words, name):
                    things.append(Thing(words, frozenset(terms)))
                    break  # the first match of a pattern is where the text introduces the thing
    return tuple(things)


@lru_cache(maxsize=64)  # each document is searched for the same names
def names_in(text: str) -> tuple[str, ...]:
    """Return the capitalised names of at least four letters in a text, the longest first."""
    # A dictionary keeps the order of the text, so names of equal length have a fixed order.
    names = dict.fromkeys(_bare_name(match) for match in _NAME.finditer(text))
    # shorter names are initials and codes, which many things share
    several = [name for name in names if len(name) > 3]
    return tuple(sorted(several, key=len, reverse=True)[:_MOST_NAMES])


def _bare_name(match: re.Match[str]) -> str:
    """Return a name without a possessive ending or a first word such as "Does".

    Without a name after it, such a word is left out at the beginning of the text. Elsewhere, it may
    be a name itself, as "Will" is.
    """
    first, _, rest = match[0].partition(" ")
    is_asking = fold(first) in _ASKING and (rest or not match.start())
    return _POSSESSIVE.sub("", rest if is_asking else match[0])


def _is_abbreviation(words: str, name: str) -> bool:
    """Return whether a description is only the initials of the name, as "WHO" is."""
    return words == "".join(word[0] for word in name.split() if word[0].isupper())
