"""Keeps claims that may address the judge away from other claims.

In a shared call, such a claim could influence the verdicts on the other claims. A claim with a
typical phrase of an order is labelled alone. An order that is reworded, translated or encoded needs
words that the documents do not contain, at least in one clause. So a claim is also kept away from
claims on the documents' subject if most words of a clause are foreign to the documents. A false
positive costs one call for each document.

Limits without a stated reason were chosen by hand.
"""

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from functools import partial

from conflictscore.labelers.protocol import Pair
from conflictscore.prompts import neutral
from conflictscore.prompts.material import without_invisibles
from conflictscore.records import Claim
from conflictscore.scripts import term_sets
from conflictscore.threads import LONG_CHARS, read_in_thread
from conflictscore.word_lists import FUNCTION_WORDS, NEGATIONS

# A claim longer than this many characters is not read, since claims are single sentences.
_LONGEST_READ = 2000
_CLAIM_WORDS = (
    r"(?:ids?|claims?|supports?|supported|contradicts?|contradicted|irrelevant|true|false)"
)
# Repetitions are bounded, so that a search through a hostile text takes linear time.
_ORDER = re.compile(
    r"SUPPORTS|CONTRADICTS|IRRELEVANT"  # labels in capitals, which prose does not contain
    r"|(?i:\b(?:all|any|each|every|other|these|those|following|previous)(?: of the)?"
    r" (?:other )?(?:claims?|ids?|verdicts?|labels?)\b"
    r"|\bto (?:the|any|every) (?:judge|grader|labell?er|checker|model|assistant)\b"
    r"|\b(?:ignore|disregard|override|forget)\b.{0,60}"
    r"\b(?:above|instructions?|rules?|documents?|claims?|prompt)\b"
    r"|(?:^|[.:;,!?—–-] ?|\bplease |\bmust |\bshould |\bto )"
    r"(?:label|mark|answer|reply|respond|output|treat|rate|rule)\b.{0,60}\b" + _CLAIM_WORDS + r"\b)"
)


def reads_like_an_order(claim: Claim) -> bool:
    """Return whether a claim contains a typical phrase of an order to the judge.

    For a very long claim, the result is true without a search.
    """
    if len(claim.text) > _LONGEST_READ:
        return True
    text = unicodedata.normalize("NFKC", without_invisibles(neutral(claim.text)))
    return _ORDER.search(text) is not None


# A claim with fewer bytes than this is too short for an order. Bytes are counted, since an order in
# a script without spaces has fewer characters, but more bytes in each.
_LEAST_ORDER = 16
_MOST_ALONE = 3
"""Maximum number of claims on other subjects that get a call each, since calls are costly."""
_LEAST_CLAUSE = 3
"""Minimum number of informative words in a clause that is compared separately."""
_TERM_LETTERS = 5
"""Number of letters at the beginning of a word that are compared, since endings may be inflected.
"""
_WITNESSES = 2
"""Number of documents that must contain a word to show that it belongs to the subject.

One document is not enough, since a document that demands a hostile claim contains the words of the
claim.
"""
_FOREIGN, _FOREIGN_IN_CLAUSE = 0.75, 0.7
"""A claim is about something else than the documents if more than the first share of its
informative words does not occur in them. The second share is for the words of a single clause. The
shares were chosen on one half of the orders and claims in ``measurements/orders.toml``.
"""
_UNINFORMATIVE = FUNCTION_WORDS | NEGATIONS
# A full stop ends a clause only before a space, since it may also be within a number.
_CLAUSE_ENDS = re.compile(
    "[,;:()\u2013\u2014\u060c\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]|[.!?] "
)
_DIGIT = re.compile(r"\d")
_Clauses = list[frozenset[str]]
"""The informative words of a claim, and of each of its longer clauses. The list is empty for short
claims, and for mere numbers such as "about 0.5 °C"."""


async def groups(pairs: Sequence[Pair]) -> dict[int, list[list[Claim]]]:
    """Return the groups of claims that may share a call, by the number of the document.

    A claim that reads like an order gets a group of its own. All claims on the documents' subject
    share a group. If there are few claims on other subjects, each of them is in a group of its own.
    Many claims on other subjects share a second group; this happens, for example, if the answer is
    in another language than the documents. Short claims, such as "Yes.", count as being on the
    subject. Long documents are read off the event loop.
    """
    claims = {claim.number: claim for claim, _ in pairs}
    documents = {document.number: document for _, document in pairs}
    asked: dict[int, list[Claim]] = {number: [] for number in documents}
    for claim, document in pairs:
        asked[document.number].append(claim)
    if len(claims) == 1:  # a single claim can influence no other claim
        return {number: [asked_claims] for number, asked_claims in asked.items()}
    orders = {number for number, claim in claims.items() if reads_like_an_order(claim)}
    clauses = {n: _clauses(claim.text) for n, claim in claims.items() if n not in orders}
    texts = {number: f"{document.title} {document.text}" for number, document in documents.items()}
    work = partial(_strangers, clauses, texts)
    chars = sum(map(len, texts.values()))
    strangers = work() if chars <= LONG_CHARS else await read_in_thread(work, chars)
    return {
        number: _grouped(asked_claims, orders, strangers[number])
        for number, asked_claims in asked.items()
    }


def _grouped(claims: Sequence[Claim], orders: Set[int], strangers: Set[int]) -> list[list[Claim]]:
    alone = orders | strangers if len(strangers) <= _MOST_ALONE else orders
    groups = [[claim] for claim in claims if claim.number in alone]
    others = [claim for claim in claims if claim.number not in alone]
    groups.append([claim for claim in others if claim.number in strangers])
    groups.append([claim for claim in others if claim.number not in strangers])
    return [group for group in groups if group]


def _clauses(text: str) -> _Clauses:
    whole = _informative(text)
    if len(text.encode()) < _LEAST_ORDER or (not whole and _DIGIT.search(text)):
        return []
    parts = list(map(_informative, filter(str.strip, _CLAUSE_ENDS.split(text))))
    return [whole, *(part for part in parts if len(part) >= _LEAST_CLAUSE and part != whole)]


def _strangers(clauses: Mapping[int, _Clauses], texts: Mapping[int, str]) -> dict[int, set[int]]:
    """Return the claims that are about something else than the documents, for each document.

    A word belongs to the subject if it occurs in the document, in two other documents, or in
    another claim on the subject.
    """
    vocabulary = frozenset[str]().union(*itertools.chain(*clauses.values()))
    words_of = {number: vocabulary & _informative(text) for number, text in texts.items()}
    counts = Counter(itertools.chain(*words_of.values()))
    common = {word for word, count in counts.items() if count >= _WITNESSES}
    strangers = {}
    for number, words in words_of.items():
        home = words | common
        far = {claim for claim, parts in clauses.items() if _is_foreign(parts, home)}
        near = home.union(
            *(p for claim, parts in clauses.items() if claim not in far for p in parts)
        )
        strangers[number] = {claim for claim in far if _is_foreign(clauses[claim], near)}
    return strangers


def _is_foreign(clauses: _Clauses, home: Set[str]) -> bool:
    if not clauses:
        return False
    whole, *parts = clauses
    if not whole:  # the text has no word that could show its subject
        return True
    shares = [(whole, _FOREIGN), *((words, _FOREIGN_IN_CLAUSE) for words in parts)]
    return any(len(words - home) > share * len(words) for words, share in shares)


def _informative(text: str) -> frozenset[str]:
    """Return the beginnings of a text's informative words."""
    [words] = term_sets([text])
    words -= _UNINFORMATIVE
    return frozenset(word[:_TERM_LETTERS] for word in words if len(word) > 1)
