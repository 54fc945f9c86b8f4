"""Tests, by words, whether an embedded reader's answer is about the fact that a claim states.

The reader is the model that answers a question from a document. A small reader answers every
question, whatever the document says. If a small reader is asked when a mine was closed, it turns
"opened in 1887" into "closed in 1887". A small labeler does not notice such an error. In 84 test
statements, the value of one fact is attributed to a different fact. The bundled encoder labels 51
of these statements as supported, and the mean of both encoders labels 41 as supported. So the
document must contain the words of the claim's question.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterable, Sequence
from math import isclose

from conflictscore.answering.languages import language_of
from conflictscore.answering.question_terms import base_forms, predicate_terms
from conflictscore.answering.statements import (
    telling_terms,
    words_beside_values,
)
from conflictscore.labelers.nli.pitfalls import has_bound
from conflictscore.labelers.nli.word_for_word import sentences_of
from conflictscore.records import Document
from conflictscore.values import DECADE, StatedValue, all_values_in, values_in

# Maximum number of characters of a document to search. In a longer text, words of the question
# also occur by chance, far from the fact.
_LOOKED_AT = 2000
_ROUNDED = 0.05
"""Maximum relative difference between a quantity and its rounded value; chosen by hand."""
_ROUNDED_YEARS = 5  # Maximum difference between a year and its rounded value.
_OTHER_SCALE, _OTHER_NUMBER = 10.0, 3.0
"""Minimum ratios at which a quantity is out of scale with the claim's quantity: for quantities with
units, and for bare numbers. Of 201 pairs of quantities in the corpus that contradict each other, 12
exceed the first ratio. In all but one of these, the numbers are nearly equal, or one text is read
in two ways ("€412 million" and "391" in a table).
"""
_SECONDS_A_YEAR = 365.25 * 86400  # years are not converted to months, whose lengths differ
_MONTH = "(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]{0,7}"
# Words by which a sentence says that a quantity holds only in some cases, held in the past, or may
# hold in the future.
_LIMITED = re.compile(
    r"\b(?:if|unless|when|whenever|provided|until|till|formerly|previously|used to|wenn"
    r"|falls|sofern|früher|damals|lorsque|quand|jusqu['\u2019](?:à|en|au)|autrefois"
    r"|cuando|hasta|antiguamente|quando|fino a|un tempo|during|at night|will|shall|planned|"
    r"geplant|soll(?:en)?|sera|seront|será|serán|sarà|saranno|(?:in|im|en) (?:the )?"
    r"(?:winter|summer|spring|autumn|sommer|frühling|herbst|hiver|été|automne|invierno|verano|otoño)"
    r"|on (?:weekends|holidays|(?:mon|tues|wednes|thurs|fri|satur|sun)days)|nachts|während"
    rf"|from {_MONTH} (?:to|until|till|through) {_MONTH})\b",
    re.IGNORECASE,
)
# Words that, in such a sentence, may introduce a general or current statement.
_GENERAL = re.compile(
    r"\b(?:now|today|currently|otherwise|normally|jetzt|heute|sonst|maintenant|aujourd['\u2019]hui"
    r"|actuellement|sinon|ahora|hoy|adesso|oggi|agora|hoje)\b",
    re.IGNORECASE,
)
# Common verbs in the past and in the present, which tell an earlier state from the current one.
_PAST = re.compile(
    r"\b(?:had|was|were|hatten?|waren?|wurden?|avait|avaient|était|étaient|tenía|tenían|era|eran|fue"
    r"|aveva|avevano|erano|tinha|tinham)\b",
    re.IGNORECASE,
)
# Verbs in the present tense, in the same languages.
_PRESENT = re.compile(
    r"\b(?:has|have|is|are|hat|haben|ist|sind|est|sont|ont|tiene|tienen|es|son|ha|hanno|è|tem|têm)\b",
    re.IGNORECASE,
)


def question_for_value(claim: str, question: str, *more: str) -> str | None:
    """Turn a claim into a question about its value, if it adds only this value to the question.

    "The bridge has 9 arches" becomes "The bridge has how many arches?". Return None if the claim
    adds no value, or several, or if it is not in English. If neither the claim nor the question
    reveals the language, the texts in ``more``, such as the documents, decide.
    """
    # the words put into the question ("how many") are English
    if language_of(claim, question, *more) not in (None, "en"):
        return None
    own = _beyond(values_in(claim), values_in(question))
    if len(own) != 1:
        return None
    start, end = own[0].span
    number = claim[start:end]
    if own[0].date is not None or own[0].is_year:
        gap = "which year" if own[0].is_year else "which date"
    elif own[0].dimension == DECADE:
        gap = "which decade"
    else:
        unit = number.lstrip("+-\u22120123456789.,' \u00a0\u2009\u202f")
        gap = f"how many {unit}".rstrip() if unit != number else "how many"
    return f"{claim[:start]}{gap}{claim[end:].rstrip(' .!')}?"


def is_told_beside(rival: str, claim: str, claim_question: str, answer: str) -> bool:
    """Return whether a different part of the answer already contains the value of a rival.

    If it does, the rival's value belongs to a different fact, which the answer already states.
    """
    new_values = _beyond(values_in(rival), [*values_in(claim), *values_in(claim_question)])
    if new_values:
        answer_values = values_in(answer)
        return all(_agrees_with_any(each, answer_values) for each in new_values)
    words = words_beside_values(rival) - telling_terms(claim) - telling_terms(claim_question)
    return bool(words) and words <= telling_terms(answer)


def is_within_bounds(rival: str, claim: str) -> bool:
    """Return whether a rival's quantity fits the rounded quantity or the range of a claim.

    "The tower is 98 m tall" fits "about 100 m", and "45 minutes" fits "40 to 60 minutes".
    """
    own, new = values_in(claim), _beyond(values_in(rival), values_in(claim))
    if len(new) != 1 or new[0].date is not None or any(each.date for each in own):
        return False
    [value] = new
    if len(own) == 2 and _is_range(claim, own):
        return _is_between(value, *own)
    if value.is_year:
        return any(_is_near_year(value, each, claim) for each in own if each.is_year)
    return has_bound(claim) and any(_is_rounded(value, each) for each in own)


def _is_rounded(new: StatedValue, own: StatedValue) -> bool:
    """Return whether two quantities of the same kind are equal if they are rounded."""
    pairs = ((a, b) for a in own.readings for b in new.readings)
    return own.dimension == new.dimension and any(isclose(a, b, rel_tol=_ROUNDED) for a, b in pairs)


def _is_near_year(new: StatedValue, own: StatedValue, claim: str) -> bool:
    """Return whether a year fits a claim's rounded year: "1872" fits "about 1870", "1850" does not.

    The words just before the claim's year must say that the year is rounded: "a book about Kant,
    1967" is no rounded year.
    """
    start, end = own.span
    years = ((a, b) for a in new.readings for b in own.readings)
    is_near = any(abs(a - b) <= _ROUNDED_YEARS for a, b in years)
    return is_near and has_bound(" ".join(claim[:start].split()[-2:]) + f" {claim[start:end]}")


def _is_range(claim: str, ends: Sequence[StatedValue]) -> bool:
    between = claim[ends[0].span[1] : ends[1].span[0]].strip().casefold()
    return between in {"to", "-", "–", "bis", "à", "a", "and", "und", "et", "y"}


def _is_between(new: StatedValue, low: StatedValue, high: StatedValue) -> bool:
    """Return whether a quantity is in a range, in which only the second end may have a unit."""
    if new.dimension != high.dimension:
        return False
    lowest, amount, highest = (min(each.readings) for each in (low, new, high))
    if low.dimension is None and min(high.bare):
        lowest *= highest / min(high.bare)
    return lowest <= amount <= highest


def holds_only_in_part(document: Document, rival: str, claim: str, question: str) -> bool:
    """Return whether a document states a rival's quantity only for other cases or a different time.

    "When it rains, the limit is 30 km/h" does not contradict "The limit is 50 km/h", and "In 1985,
    the school had 90 pupils" does not contradict "The school has 240 pupils". A rival that states a
    date is not examined, since that date itself would make its sentence look like one about the
    past.
    """
    context = f"{claim} {question}"
    own_values = values_in(context)
    new = [each for each in values_in(rival) if not _agrees_with_any(each, own_values)]
    if not new or any(each.date or each.is_year for each in new) or _LIMITED.search(context):
        return False
    is_present = bool(_PRESENT.search(claim)) and not _PAST.search(context)
    stating = [
        sentence
        for sentence in sentences_of(document.text)
        if all(_agrees_with_any(each, all_values_in(sentence)) for each in new)
    ]
    return bool(stating) and all(_is_limited(each, is_present=is_present) for each in stating)


def _is_limited(sentence: str, *, is_present: bool) -> bool:
    """Return whether a sentence is only about some cases, or about a past year.

    ``is_present`` says whether the claim is about the present.
    """
    if _GENERAL.search(sentence):
        return False
    if _LIMITED.search(sentence):
        return True
    is_past = is_present and bool(_PAST.search(sentence))
    return is_past and any(each.is_year for each in all_values_in(sentence))


def is_out_of_scale(rival: str, claim: str, claim_question: str) -> bool:
    """Return whether a rival's quantity is on a different scale from a claim's: "30 h", "3 years".

    A small reader often takes such a quantity from a statement about something else. "50 g" for
    "50 mg" is not out of scale, since the numbers agree.
    """
    own, other = (_only_quantity(text, claim_question) for text in (claim, rival))
    if own is None or other is None:
        return False
    numbers = (_number_of(claim, own), _number_of(rival, other))
    return _ratio(_size(own), _size(other)) > _OTHER_SCALE and _ratio(*numbers) > _OTHER_NUMBER


def _only_quantity(text: str, question: str) -> StatedValue | None:
    """Return the only quantity that a text adds to its question; None for a date or temperature.

    A scale of temperatures has no natural zero, so their ratio means nothing.
    """
    added = _beyond(values_in(text), values_in(question))
    if len(added) != 1 or added[0].date is not None or added[0].is_year:
        return None
    return None if added[0].dimension == "temperature" else added[0]


def _size(value: StatedValue) -> float:
    size = max(value.readings, default=0.0)
    return size * _SECONDS_A_YEAR if value.dimension == "years" else size


def _number_of(text: str, value: StatedValue) -> float:
    """Return a quantity's number as written, without its magnitude: 412 for "412 million"."""
    digits = re.match(r"\D{0,10}(\d+)", text[slice(*value.span)].replace(",", ""))
    return float(digits[1]) if digits else max(value.bare, default=0.0)


def _ratio(first: float, second: float) -> float:
    """Return how many times larger the larger number is; 1 if a number is not positive."""
    smaller, larger = sorted((first, second))
    return larger / smaller if smaller > 0 else 1.0


def tells_own_fact(
    document: Document, claim_question: str, question: str, claim: str, behind: Sequence[Document]
) -> bool:
    """Return whether a document has words for the fact that a claim's question asks for.

    Args:
        document: A document whose answer differs from the claim.
        claim_question: The question that was put to the document.
        question: The user's question. If it differs from ``claim_question``, the two questions ask
            for different facts. Then the document must contain half of the words that are only in
            ``claim_question``.
        claim: The claim, which answers ``claim_question``.
        behind: Documents that support the claim. If there are any, the document must contain one of
            their words for the fact. Otherwise, the document must contain one of the question's
            words for the fact.
    """
    terms = _terms_of(document)
    if claim_question != question:
        apart = base_forms(telling_terms(claim_question)) & base_forms(telling_terms(claim))
        apart -= base_forms(telling_terms(question))
        # half suffices, since the document may use other words for the same thing; chosen by hand
        return _has_numbers(terms, apart) and 2 * len(apart & terms) >= len(apart)
    fact = predicate_terms(claim_question, claim)
    if behind:
        fact &= frozenset[str]().union(*map(_terms_of, behind))
    words = frozenset(term for term in fact if not term[0].isdigit())
    return _has_numbers(terms, fact) and (not words or not words.isdisjoint(terms))


def _has_numbers(terms: frozenset[str], fact: Iterable[str]) -> bool:
    return all(term in terms for term in fact if term[0].isdigit())


def _terms_of(document: Document) -> frozenset[str]:
    date = document.metadata.get("date") or ""
    return base_forms(telling_terms(f"{document.title} {date} {document.text[:_LOOKED_AT]}"))


def _beyond(
    stated_values: Iterable[StatedValue], known_values: Sequence[StatedValue]
) -> list[StatedValue]:
    return [each for each in stated_values if not _agrees_with_any(each, known_values)]


def _agrees_with_any(own: StatedValue, others: Iterable[StatedValue]) -> bool:
    return any(own.agrees(each) for each in others)
