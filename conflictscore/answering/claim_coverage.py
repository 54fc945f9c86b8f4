"""Finds parts of an answer that are in no claim, and claims that go beyond the answer.

The model that splits an answer may leave something out. So each number, name, negation and
informative word of a passage must occur in a claim about that passage. Headings, quotations, image
descriptions, and the comments and prose in code are checked as well. Time is linear in the lengths
of the answer and its claims.
"""

import re
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from conflictscore.answering.claim_matching import ClaimsAbout, claims_about, without_labels
from conflictscore.answering.claim_order import is_jumbled
from conflictscore.answering.claim_passages import passages_with_titles, text_of
from conflictscore.answering.claim_places import Placed
from conflictscore.answering.claim_qualifiers import (
    added_hedges,
    missing_qualifiers,
    qualifiers_of,
)
from conflictscore.answering.claim_riders import borrowed_words, topic_of
from conflictscore.answering.claim_roles import exchanged_roles
from conflictscore.answering.claim_statements import (
    MOST_OF_A_LABEL,
    QUESTION_MARKS,
    is_label,
    says_something,
)
from conflictscore.answering.claim_terms import (
    SOURCE,
    WORD_OR_NUMBER,
    Terms,
    numbers_in,
    small_numbers,
    stem_of,
    tells_names,
    terms_of,
)
from conflictscore.json_answers import is_json, json_values, said_by
from conflictscore.markdown import Passage, passages
from conflictscore.records import Gap, GapKind
from conflictscore.records.examined import quoted
from conflictscore.scripts import fold
from conflictscore.word_lists import (
    COURTESIES,
    REFUSALS,
    REMARKS,
    YES,
    negations_in,
)

# Maximum number of informative words in a refusal, apart from the usual ones and those of the
# question: "I cannot say anything about the reactor." With more words, a refusal may also state
# something. Chosen by hand; too small a number only makes an answer count as "partly" checked.
_MOST_LOOSE = 1

# A "yes" or "no" at the beginning or end of a text; in English also elsewhere. Within a sentence,
# words such as "si" and "ja" have other meanings.
_YES_OR_NO = re.compile(
    r"\b(?:yes|ja|oui|s[i\u00ed]|no|nein|non)[,;:.!\u2013\u2014 ]{0,4}$"
    r"|^\W*(?:yes|ja|oui|s[i\u00ed]|no|nein|non)(?=[,;:.!\u2013\u2014])|\b(?:yes|no)\b",
    re.IGNORECASE,
)
_MOST_LISTED = 5  # maximum number of words listed in a note, which should fit into a line or two


class UnclaimedPart(NamedTuple):
    """A passage of the answer that no claim covers fully."""

    start: int
    end: int
    words: tuple[str, ...]
    """Numbers, names, negations and informative words of the passage that its claims lack."""
    in_others: tuple[str, ...] = ()
    """Words that claims contain, but in a different context: the claims were read from other
    passages, or the words have swapped roles."""


class Beyond(NamedTuple):
    """The index of a claim, and the numbers, names or negations in it that the answer lacks."""

    claim: int
    words: tuple[str, ...]


def unclaimed_in(
    answer: str, placed: Sequence[Placed], question: str = ""
) -> tuple[UnclaimedPart, ...]:
    """Call :func:`unclaimed_parts` for claims that are paired with their places."""
    return unclaimed_parts(answer, [t for t, _ in placed], [s for _, s in placed], question)


def gaps_of(
    answer: str,
    placed: Sequence[Placed],
    question: str = "",
    failure: str = "",
    *,
    parts: Sequence[UnclaimedPart] | None = None,
) -> tuple[Gap, ...]:
    """Return the parts of an answer that no claim covers, and the claims that go beyond the answer.

    Args:
        answer: The answer.
        placed: The claims with their places.
        question: The question that the answer replies to.
        failure: Why the model could not be asked about the uncovered parts; it is appended to each
            note.
        parts: The result of :func:`unclaimed_in` for these claims, if already known.
    """
    if not placed:
        if states_nothing(answer, question):
            note = "it states nothing that a document could support or contradict"
            return (Gap(kind=GapKind.STATES_NOTHING, note=note),)
        note = f"it states something, but no claims were read from it{failure}"
        return (Gap(kind=GapKind.NO_CLAIMS, note=note),)
    claims, spans = [text for text, _ in placed], [span for _, span in placed]
    parts = unclaimed_parts(answer, claims, spans, question) if parts is None else parts
    unclaimed = [
        Gap(
            kind=GapKind.UNCLAIMED,
            note=f"no claim covers {_listed([*part.words, *part.in_others])} in"
            f" {quoted(answer[part.start : part.end])}"
            f"{'' if part.words else ', but claims use this wording in another context'}{failure}",
            passage=(part.start, part.end),
        )
        for part in parts
    ]
    beyond = [
        Gap(
            kind=GapKind.CLAIM_BEYOND_ANSWER,
            note=f"the claim {quoted(claims[index])} has"
            f" {_listed(_as_written(words, claims[index]))}, which the answer lacks",
            passage=spans[index],
        )
        for index, words in claims_beyond(answer, claims, spans, question)
    ]
    return (*unclaimed, *beyond)


def _listed(words: Sequence[str]) -> str:
    few = ", ".join(f"“{word}”" for word in words[:_MOST_LISTED])
    return f"{few}, …" if len(words) > _MOST_LISTED else few


def unclaimed_parts(
    answer: str, claims: Sequence[str], spans: Sequence[tuple[int, int] | None], question: str = ""
) -> tuple[UnclaimedPart, ...]:
    """Return, in order, the passages of an answer that no claim covers fully.

    Args:
        answer: The answer, in Markdown.
        claims: Its claims.
        spans: For each claim, the start and end of the passage that it was read from; None if
            unknown.
        question: The question. Informative words that a passage repeats from the question need not
            occur in a claim, unless they are numbers or negations.
    """
    parts = passages_with_titles(answer)
    verbatim = {*map(str.strip, claims)}
    # nothing can be missing; this is the usual case if sentences were taken as claims
    if verbatim == {answer[part.start : part.end].strip() for part in parts}:
        return ()
    names = tells_names(answer)
    terms = [terms_of(claim, names=names) for claim in claims]
    asked = terms_of(question, names=names).words
    # a claim with more than half of the question's words is about the question
    on_question = {n for n, each in enumerate(terms) if 2 * len(each.words & asked) > len(asked)}
    listed = _Claims(claims, terms, verbatim, asked, on_question, topic_of(terms) | asked)
    jumbled = {n for n, claim in enumerate(claims) if is_jumbled(claim, answer)}
    about = _claims_about(answer, parts, terms, spans, asked)
    found = (
        _left_of(answer, part, listed, near - jumbled, own - jumbled)
        for part, (near, own) in zip(parts, about, strict=True)
    )
    return tuple(part for part in found if part is not None)


class _Claims(NamedTuple):
    """The claims of an answer, for comparison with its passages.

    Attributes:
        texts: The claims.
        terms: Their terms.
        verbatim: The claims without spaces around them.
        asked: The informative words of the question.
        on_question: The indices of the claims about the question's words.
        common: The words of the topic and of the question.
    """

    texts: Sequence[str]
    terms: Sequence[Terms]
    verbatim: Set[str]
    asked: frozenset[str]
    on_question: Set[int]
    common: frozenset[str]

    def terms_of(self, indices: Iterable[int]) -> list[Terms]:
        """Return the terms of some claims."""
        return [self.terms[n] for n in indices]


def _left_of(
    answer: str, part: Passage, claims: _Claims, near: Set[int], own: Set[int]
) -> UnclaimedPart | None:
    """Return a passage with the words that its claims omit; None if they omit nothing."""
    passage = answer[part.start : part.end]
    is_repeated = passage.strip() in claims.verbatim
    if is_repeated and len(own) < 2:
        return None  # a claim that repeats the passage has all its words and qualifiers
    # a second claim of the passage may still swap its roles
    exchanged = [word for n in own for word in exchanged_roles(claims.texts[n], passage)]
    if is_repeated and not exchanged:
        return None
    # claims say a "yes" in the words of the question, so every claim on the question may cover it
    answers = bool(claims.on_question) and bool(_YES_OR_NO.search(passage))
    near = near | claims.on_question if answers else near
    known = claims.asked | YES if answers else claims.asked
    text = text_of(answer, part, known)
    of_part = claims.terms_of(near)
    unclaimed = _unclaimed(answer, part, text, of_part, known)
    stems = frozenset[str]().union(*(terms.words for terms in of_part))
    qualifying = missing_qualifiers(text, [qualifiers_of(claims.texts[n]) for n in near], stems)
    others = claims.terms_of(near - own)
    borrowed = borrowed_words(text, claims.terms_of(own), others, claims.common)
    in_others = _as_written({*borrowed, *exchanged}, text)
    return _with_words(unclaimed, part, qualifying, in_others)


def _with_words(
    unclaimed: UnclaimedPart | None, part: Passage, words: Iterable[str], in_others: Iterable[str]
) -> UnclaimedPart | None:
    """Extend an unclaimed part with the words of a passage that none of its claims contains."""
    listed = unclaimed.words if unclaimed else ()
    # a qualifier such as "5 km" is not added if its number is already listed
    new = (word for word in words if not {*listed}.intersection(word.split()))
    missing = (*listed, *dict.fromkeys(new))
    elsewhere = tuple(word for word in in_others if word not in missing)
    is_missing = missing or elsewhere
    return UnclaimedPart(part.start, part.end, missing, elsewhere) if is_missing else None


def claims_beyond(
    answer: str, claims: Sequence[str], spans: Sequence[tuple[int, int] | None], question: str = ""
) -> tuple[Beyond, ...]:
    """Return the claims with a number, a name, a negation or a hedge that the answer lacks."""
    if all(claim in answer for claim in claims):
        return ()  # claims in the answer's own words cannot go beyond it
    names = tells_names(answer)
    claims = without_labels(claims, answer)
    # only the words and numbers of these two are used below, so no names are needed
    whole, asked = terms_of(answer, names=False), terms_of(question, names=False)
    # these include "one" and "first", which `terms_of` does not read as numbers
    small = small_numbers(answer) | small_numbers(question)
    found = []
    claim_terms = [terms_of(claim, names=names) for claim in claims]
    denying = _about_denials(answer, claim_terms, spans, asked.words)
    for index, terms in enumerate(claim_terms):
        extra = {n for n in terms.numbers - whole.numbers - asked.numbers if n not in small}
        extra |= terms.names - whole.words - asked.words
        extra |= {*added_hedges(claims[index], answer)}
        span = spans[index]
        said = answer[slice(*span)] if span else answer
        is_denied = negations_in(said) or negations_in(question) or index in denying
        extra |= frozenset[str]() if is_denied else terms.negations
        if extra:
            found.append(Beyond(index, tuple(sorted(extra))))
    return tuple(found)


def _about_denials(
    answer: str,
    claims: Sequence[Terms],
    spans: Sequence[tuple[int, int] | None],
    asked: frozenset[str],
) -> frozenset[int]:
    """Return the indices of claims about passages with a denial."""
    if not any(terms.negations for terms in claims) or not negations_in(answer):
        return frozenset()
    parts = passages(answer)
    about = _claims_about(answer, parts, claims, spans, asked)
    denying = [
        numbers.all
        for part, numbers in zip(parts, about, strict=True)
        if negations_in(answer[part.start : part.end])
    ]
    return frozenset[int]().union(*denying)


def states_nothing(answer: str, question: str) -> bool:
    """Return whether an answer is only a greeting, a refusal or a question, with nothing to check.

    Every number and name in such an answer is also in the question. The negations in such an answer
    occur only in refusals, and its other words are usual in greetings, refusals and questions. An
    answer in JSON states nothing if none of its values states anything; a number and a boolean
    always state something.
    """
    if is_json(answer):
        return _data_states_nothing(answer, question)
    names = tells_names(answer)
    asked = terms_of(question, names=names)
    for part in passages(answer):
        terms = terms_of(text_of(answer, part), names=names)
        if terms.numbers - asked.numbers or terms.names - asked.words:
            return False
        own = terms.words - asked.words - COURTESIES
        if answer[part.end - 1] in QUESTION_MARKS and len(own) <= MOST_OF_A_LABEL:
            continue
        refuses = bool(terms.words & REFUSALS)
        if own and not (refuses and len(own) <= _MOST_LOOSE):
            return False
        if terms.negations and not refuses:
            return False
    return True


def _data_states_nothing(answer: str, question: str) -> bool:
    """Return whether an answer in JSON states nothing in any of its values."""
    values = json_values(answer) or ()
    # an empty object or list has one bracket; more may be nested too deeply to be read
    if not values and answer.count("{") + answer.count("[") > 1:
        return False
    literals = [answer[value.start : value.end] for value in values]
    return all(
        literal.startswith('"') and states_nothing(said_by(literal), question)
        for literal in literals
    )


def _unclaimed(
    answer: str, part: Passage, text: str, about: Sequence[Terms], asked: frozenset[str]
) -> UnclaimedPart | None:
    """Return a passage with the terms that its claims lack; None if they lack no term."""
    own = terms_of(text, names=tells_names(answer))
    claimed = frozenset[str]().union(*(terms.words for terms in about)) | asked
    missing = _missing(own, about, claimed)
    if not about and not own.numbers and is_label(answer, part):
        missing -= own.names  # the names in a heading are its topic
    loose = own.words - claimed - COURTESIES
    if SOURCE.search(answer, part.start, part.end):  # remarks may follow a citation
        loose -= REMARKS
    if not says_something(answer, part, text, own, loose):
        loose = frozenset()
    if not missing and not loose:
        return None
    return UnclaimedPart(part.start, part.end, _as_written(missing | loose, text))


def _missing(own: Terms, about: Sequence[Terms], claimed: frozenset[str]) -> frozenset[str]:
    """Return the numbers, names and negations of a passage that the claims about it lack."""
    numbers = frozenset[str]().union(*(terms.numbers for terms in about))
    missing = (own.numbers - numbers) | (own.names - claimed)
    if own.negations and not any(terms.negations for terms in about):
        missing |= own.negations
    return missing


def _as_written(terms: Iterable[str], text: str) -> tuple[str, ...]:
    """Return terms in the spelling and order of a text; terms that the text lacks come last."""
    left = dict.fromkeys(sorted(terms))
    written = []
    for match in WORD_OR_NUMBER.finditer(text):
        term = match[0]
        forms = (term, stem_of(term), fold(term), *numbers_in(term))
        if form := next((form for form in forms if form in left), None):
            written.append(term)
            del left[form]
    return (*written, *left)


def _claims_about(
    answer: str,
    parts: Sequence[Passage],
    claims: Sequence[Terms],
    spans: Sequence[tuple[int, int] | None],
    asked: frozenset[str],
) -> list[ClaimsAbout]:
    words = [terms_of(text_of(answer, part), names=False).of_a_place for part in parts]
    return claims_about(words, [part.start for part in parts], claims, spans, asked)
