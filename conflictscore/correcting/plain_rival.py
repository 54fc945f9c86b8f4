"""Finds the plain rival of a refuted claim: the claim itself, with a different quantity.

If a sentence of a document says "Adults take 50 mg", and the claim says "Adults take 50 g", this
sentence is the rival. Embedded models are too small to be trusted with such a difference, but a
comparison of words shows it. The rules are strict, since spoiling a correct answer is worse than
leaving a wrong one. When in doubt, no plain rival is assumed, and the documents are queried as
usual.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from math import isclose
from typing import NamedTuple

from conflictscore.answering.statements import opposite, telling_terms
from conflictscore.correcting.looking import Looking
from conflictscore.labelers.nli.pitfalls import has_bound, is_stated_plainly
from conflictscore.labelers.nli.word_for_word import (
    are_comparable,
    differing_values,
    sentences_of,
)
from conflictscore.records import ClaimEvidence, Document
from conflictscore.scripts import fold, word_set
from conflictscore.values import StatedValue, all_values_in, values_in

_CLOSE = 0.1
"""Maximum relative difference between values in different units that may be the same value,
rounded, such as "60 miles" and "100 km". The number was chosen by hand."""
_WORD = re.compile(r"[^\W_]+")
# Words that may follow an amount. Any other word may be a noun that the amount describes, as in
# "the 5 km race", where the amount only says which race is meant.
_MAY_FOLLOW = word_set(
    """of a an per each every in on at by for to from with before after and or than daily weekly
    long tall high wide deep old thick away apart above below
    pro je am im in an auf von für zu nach vor bei und lang hoch breit tief alt dick schwer weit
    par en de du des à au aux pour avant après dans sur et
    por al el la a para antes después y con
    al per di da prima dopo e"""
)
# Words before an amount that say which thing is meant: "the 5 km race".
_DETERMINERS = word_set(
    """the this that these those its his her their our your der die das dem den dieser diese dieses
    le la les ce cette ces el los las este esta il lo gli i questo questa"""
)
# Questions that ask for a number of things.
_ASKS_HOW_MANY = re.compile(
    r"\b(?:how many|number of|wie ?viele?|anzahl|combien|nombre de|cu[aá]nt[oa]s|quant[ie]|quantos"
    r"|quantas|hoeveel)\b",
    re.IGNORECASE,
)
_PRONOUNS = word_set("it he she they this that these those we you i er sie es wir il elle ils ça")


class PlainRival(NamedTuple):
    """A claim with a different quantity, and the documents that state it in the claim's words."""

    statement: str
    given_by: tuple[int, ...]


async def plain_rival_of(claim: ClaimEvidence, passage: str, looking: Looking) -> PlainRival | None:
    """Return the plain rival of a claim that documents refute; None if there is none.

    All documents that contradict the claim must state the same new quantity, each in a sentence
    that otherwise repeats the whole claim word for word. No document may support or repeat the
    claim, and every document must have a label.
    """
    text = claim.claim.text
    is_refuted = claim.contradicts and not claim.supports and not claim.unlabelled
    # a yes or no states no quantity itself
    if not is_refuted or opposite(passage, looking.question) is not None:
        return None
    # another quantity may agree with "about 100 m", and a pronoun may stand for any subject
    if has_bound(text) or fold(next(iter(_WORD.findall(text)), "")) in _PRONOUNS:
        return None
    # all documents are searched, and long ones would block the event loop
    return await asyncio.to_thread(_plain_rival, claim, looking)


def _plain_rival(claim: ClaimEvidence, looking: Looking) -> PlainRival | None:
    text, against = claim.claim.text, claim.contradicts
    repetitions = {
        document.number: [*_repetitions(text, document)]
        for document in looking.documents
        if looking.weights.get(document.number, 1.0) > 0
    }
    by_others = (each for number, each in repetitions.items() if number not in against)
    if any(by_others):
        return None
    agreed = _agreed_by([repetitions.get(number, []) for number in against])
    if agreed is None or not _is_amount_of(text, agreed, looking.question):
        return None
    documents = [looking.documents_by_number[number] for number in against]
    if any(_states(document, agreed.own) for document in documents):
        return None
    if not all(_has_subject(document, text, looking.question) for document in documents):
        return None
    start, end = agreed.own.span
    return PlainRival(text[:start] + agreed.written + text[end:], against)


class _Repetition(NamedTuple):
    """A claim's value, and the value that replaces it in a sentence that repeats the claim."""

    own: StatedValue
    new: StatedValue
    written: str


def _repetitions(claim: str, document: Document) -> Iterator[_Repetition | None]:
    """Yield the sentences of a document that repeat a whole claim, whatever their values.

    Yield None for a sentence that has the claim's own values, or that does not state the claim
    plainly (for example, a question).
    """
    for sentence in sentences_of(document.text):
        pairs = differing_values(claim, sentence)
        if pairs is None:
            continue
        is_plain = is_stated_plainly(claim, sentence) and not has_bound(sentence)
        if len(pairs) == 1 and is_plain and are_comparable(*pairs[0]):
            own, new = pairs[0]
            yield _Repetition(own, new, sentence[slice(*new.span)])
        else:
            yield None


def _agreed_by(of_documents: Sequence[Sequence[_Repetition | None]]) -> _Repetition | None:
    """Return the value that all documents give in place of a claim's; None if they differ."""
    if not all(of_documents):
        return None
    first, *more = (each for of_document in of_documents for each in of_document)
    if first is None:
        return None
    agree = (each and each.own == first.own and each.new.agrees(first.new) for each in more)
    return first if all(agree) else None


def _states(document: Document, own: StatedValue) -> bool:
    """Return whether a document states the claim's value anywhere, even about something else."""
    return any(own.agrees(each) for each in all_values_in(f"{document.title}. {document.text}"))


def _has_subject(document: Document, claim: str, question: str) -> bool:
    """Return whether a document has all names of the question that are not in the claim.

    Return False if neither the claim nor the question has a name, since "The dose is 50 mg" may be
    about any medicine.
    """
    of_claim, of_question = _names_in(claim), _names_in(question)
    text = fold(f"{document.title} {document.text}")
    return bool(of_claim or of_question) and all(name in text for name in of_question - of_claim)


def _names_in(text: str) -> frozenset[str]:
    """Return the capitalised words after the first word, folded; in German, also nouns."""
    words = _WORD.findall(text)[1:]
    return frozenset(fold(word) for word in words if word[0].isupper() and telling_terms(word))


def _is_amount_of(claim: str, change: _Repetition, question: str) -> bool:
    """Return whether a claim asserts a value, and does not use it in a name or description.

    A date may be the date of a different event, so dates are not amounts. The result is False for a
    claim with a second amount, since the two may be the ends of a range. The claim may also contain
    a date.
    """
    own, new = change.own, change.new
    if _is_time(own) or _is_time(new):
        return False
    if not all(_is_time(each) for each in values_in(claim) if each.span != own.span):
        return False
    before, after = (_WORD.findall(text) for text in (claim[: own.span[0]], claim[own.span[1] :]))
    if before and fold(before[-1]) in _DETERMINERS:
        return False
    next_word = fold(after[0]) if after else ""
    if own.dimension is None or new.dimension is None:
        return _is_counted(next_word, question)
    return not _may_be_rounded(own, new) and (not next_word or next_word in _MAY_FOLLOW)


def _is_time(stated: StatedValue) -> bool:
    return stated.date is not None or stated.is_year


def _is_counted(word: str, question: str) -> bool:
    """Return whether a question asks how many things of the named kind there are.

    If it does not, a number without a unit may be a name, as in "Route 7".
    """
    counted = telling_terms(word)
    is_asked = bool(_ASKS_HOW_MANY.search(question))
    return is_asked and bool(counted) and counted <= telling_terms(question)


def _may_be_rounded(own: StatedValue, new: StatedValue) -> bool:
    """Return whether two values in different units may be the same value, rounded.

    Rounding changes the digits. So values with the same digits, such as "50 g" and "50 mg", differ.
    """
    if own.dimension != new.dimension or own.unit == new.unit or own.digits == new.digits:
        return False
    pairs = ((a, b) for a in own.readings for b in new.readings)
    return any(isclose(a, b, rel_tol=_CLOSE) for a, b in pairs)
