"""Puts the winner of a second look into a passage, if possible without a model.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from conflictscore.answering.declining import without_agreement
from conflictscore.answering.languages import language_of
from conflictscore.answering.statements import (
    answer_span,
    is_about,
    telling_terms,
    words_beside_values,
)
from conflictscore.correcting.citing import cited_anew, cites
from conflictscore.correcting.yes_or_no import opposite_answer
from conflictscore.labelers.nli.word_for_word import MONEY
from conflictscore.records import Candidate, Document, SecondLook
from conflictscore.values import StatedValue, values_in

# Words and single signs.
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MOST_TOKENS = 80  # Maximum number of tokens to compare; a comparison takes quadratic time.
_MOST_CHARS = 400
"""Maximum length, in characters, of a span to search for.

At each position of a text, comparing the span may take time proportional to the length of the span.
"""
ENDS = " .!\u3002"
"""Signs at the end of a statement that make no difference to it; \u3002 is the Chinese and Japanese
full stop."""
_STOPS = ".!?\u3002"
"""Signs that end a sentence."""
_MOST_PASSED_OVER = 2
"""Maximum number of informative words of a new passage that its claims may omit. No number may be
omitted. A model rewords claims, so one or two missing words may be synonyms.
"""
# A number with separators between thousands: "12,400", "1 250 000".
_GROUPED = re.compile(r"\d{1,3}(?:([.,' \u00a0\u2009\u202f\u2019])\d{3})+")
# codes of languages that write 12.400 for 12,400
_POINT_GROUPS = ("de", "es", "it", "pt", "nl", "da")


def spliced_span(
    passage: str, claim: str, rival: str, others: Sequence[str] = (), question: str = ""
) -> str | None:
    """Replace the only span of a passage in which its claim differs from the rival.

    The span may be a value with its unit. Return None if the claim and the rival differ in several
    spans. Also return None if the span does not appear exactly once in the passage, or if a
    different claim of the passage contains it.
    """
    if (spans := spliced_spans(passage, claim, rival, others, question)) is None:
        return None
    (start, end), new = spans
    return passage[:start] + new + passage[end:]


def spliced_spans(
    passage: str, claim: str, rival: str, others: Sequence[str] = (), question: str = ""
) -> tuple[tuple[int, int], str] | None:
    """Return the position and the replacement of the span that :func:`spliced_span` replaces."""
    values = exchanged_values(claim, rival, question)
    if values is not None:
        own, new = values
        text = rival[slice(*new.span)]
        if any(each.agrees(own) for statement in others for each in values_in(statement)):
            return None
        places = [each.span for each in values_in(passage) if each.agrees(own)]
        if len(places) == 1:
            old = passage[slice(*places[0])]
            own_language = language_of(passage, claim)
            return places[0], _in_style(text, old, own_language, language_of(rival))
    differing = _differing(claim, rival)
    if differing is None or any(differing[0] in statement for statement in others):
        return None
    place = _only_place(differing[0], passage)
    return None if place is None else (place, differing[1])


def exchanged(look: SecondLook) -> tuple[str, str] | None:
    """Return the span of a claim that the winner replaces, and the new text.

    Return None unless a rival has won and only one span differs. The same span is often replaced in
    two claims of a passage, since models tend to list a fact both alone and as part of a sentence.
    """
    if look.decision != "replace" or look.rival is None:
        return None
    claim, rival = (candidate.statement for candidate in sides_of(look))
    spans = spliced_spans(claim, claim, rival, question=look.question)
    return None if spans is None else (claim[slice(*spans[0])], spans[1])


def with_other_number(claim: str, rival: str, question: str = "") -> str | None:
    """Replace the value in a claim with the rival's value, including unit and magnitude.

    Return None unless the claim and the rival agree in everything but one value. A rival with a
    different verb or unit is not about the number in the claim.
    """
    values = exchanged_values(claim, rival, question)
    if values is None:
        return None
    own, new = values
    old, text = claim[slice(*own.span)], rival[slice(*new.span)]
    text = _in_style(text, old, language_of(claim), language_of(rival))
    return claim[: own.span[0]] + text + claim[own.span[1] :]


def with_other_answer(claim: str, answer: str, question: str) -> str | None:
    """Return a claim with its answer replaced by a bare name or number; None if impossible.

    Suppose that the question is "Who was the map drawn by?", and the claim is "The map was drawn by
    Ida Reeve". Then the answer "By Ada Lowe." becomes "The map was drawn by Ada Lowe". A labeler
    judges a full sentence more accurately, and a report of both sides requires full sentences.
    """
    place, span = answer_span(claim, question), answer_span(answer, question, alone=True)
    if place is None or span is None or not is_about(claim, question):
        return None
    return claim[: place[0]] + answer[slice(*span)] + claim[place[1] :]


def exchanged_values(
    claim: str, rival: str, question: str
) -> tuple[StatedValue, StatedValue] | None:
    """Return the claim's value and the rival's value, if nothing else differs in their texts."""
    claim_values, rival_values = values_in(claim), values_in(rival)
    only_in_claim = [each for each in claim_values if not _is_among(each, rival_values)]
    only_in_rival = [each for each in rival_values if not _is_among(each, claim_values)]
    if len(only_in_claim) != 1 or len(only_in_rival) != 1:
        return None
    own, new = only_in_claim[0], only_in_rival[0]
    if not can_stand_for(own, new):
        return None
    claim_terms = words_beside_values(claim) | telling_terms(question)
    return (own, new) if words_beside_values(rival) <= claim_terms else None


def _is_among(own: StatedValue, stated_values: Sequence[StatedValue]) -> bool:
    return any(own.agrees(each) for each in stated_values)


def can_stand_for(own: StatedValue, new: StatedValue) -> bool:
    """Return whether one value can replace another: both are dates or have the same dimension.

    The same year may be read as a date in one sentence and as a plain number in another. Amounts of
    money may have different currencies.
    """
    both_years = own.is_year and new.is_year
    both_dates_or_neither = (own.date is None) == (new.date is None)
    both_money = own.dimension in MONEY and new.dimension in MONEY
    same_kind = own.dimension == new.dimension or both_money
    return (both_years or both_dates_or_neither) and same_kind


def _in_style(number: str, old: str, language: str | None, source_language: str | None) -> str:
    """Give a number the thousands separator of the number that it replaces, or of its language.

    Args:
        number: The new number.
        old: The number that the new number replaces.
        language: The language of the passage; None if unknown.
        source_language: The language of the statement with the new number; None if unknown.
    """
    match, old_match = _GROUPED.search(number), _GROUPED.search(old)
    if match is None or match[1] not in ".,":
        return number
    # if the old number has thousands, a comma in the new one marks thousands too
    marks_thousands = old_match is not None and match[1] == ","
    is_single = match[0].count(match[1]) == 1 and not marks_thousands
    if is_single and _is_decimal_mark(match[1], source_language or language):
        return number
    mark = match[1]
    if old_match is not None:
        mark = old_match[1]
    elif language is not None:
        mark = "." if language in _POINT_GROUPS else "," if language == "en" else mark
    return number[: match.start()] + match[0].replace(match[1], mark) + number[match.end() :]


def _is_decimal_mark(mark: str, language: str | None) -> bool:
    """Return whether a language uses this decimal separator: English "1.234" is less than two.

    French has a comma too, but groups thousands with spaces.
    """
    return language == "en" if mark == "." else language in (*_POINT_GROUPS, "fr")


def _only_place(old: str, text: str) -> tuple[int, int] | None:
    """Return the position of a span in a text; None unless it appears exactly once."""
    if len(old) > _MOST_CHARS:
        return None
    places = [*re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", text)]
    return places[0].span() if len(places) == 1 else None


def _differing(claim: str, rival: str) -> tuple[str, str] | None:
    """Return the differing words of claim and rival if they form one span in each; else None."""
    texts = claim.strip(ENDS), rival.strip(ENDS)
    claim_spans, rival_spans = ([match.span() for match in _TOKEN.finditer(t)] for t in texts)
    if not all(0 < len(spans) <= _MOST_TOKENS for spans in (claim_spans, rival_spans)):
        return None
    claim_words = [texts[0][start:end].casefold() for start, end in claim_spans]
    rival_words = [texts[1][start:end].casefold() for start, end in rival_spans]
    matcher = SequenceMatcher(None, claim_words, rival_words, autojunk=False)
    differences = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if len(differences) != 1 or differences[0][0] != "replace":
        return None
    _, first, end, rival_first, rival_end = differences[0]
    # if more than half of the words differ, the texts are not the same sentence
    if 2 * (end - first) > len(claim_words):
        return None
    old = texts[0][claim_spans[first][0] : claim_spans[end - 1][1]]
    new = texts[1][rival_spans[rival_first][0] : rival_spans[rival_end - 1][1]]
    return old, new


def replaced(
    passage: str,
    look: SecondLook,
    others: Sequence[str] = (),
    *,
    twins: Sequence[str] = (),
    documents: Sequence[Document] = (),
    alone: bool = False,
) -> str | None:
    """Change a passage to state what the rival says; return None if only a model can do that.

    A yes or no becomes its opposite. If the claim and the rival differ in a single span, the span
    is replaced. If a sentence states only the claim, it is replaced by the rival's sentence. An
    answer is replaced in the same way if it consists of one such passage. A model is needed for
    table cells, headings and lines of code, and for sentences in a distinct style or in a different
    language.

    ``others`` are the other claims of the passage. A span that also occurs in another claim is
    replaced only if that claim is among ``twins``, in which the same span is exchanged. ``alone``
    says that the passage is the whole answer.
    """
    claim, rival = sides_of(look)
    if not others and (opposite_word := opposite_answer(passage, look)) is not None:
        return opposite_word
    passage = cited_anew(without_agreement(passage), claim, rival, documents)
    protected = [statement for statement in others if statement not in twins]
    changed_passage = spliced_span(
        passage, claim.statement, rival.statement, protected, look.question
    )
    sentence = passage.rstrip(" *_)\"'\u201d")[-1:] in _STOPS or cites(passage, documents)
    if changed_passage is not None or others or not (alone or sentence):
        return changed_passage
    if not _is_plain(passage, claim.statement, rival.statement, look.question):
        return None
    stop = "\u3002" if passage.rstrip().endswith("\u3002") else "."
    return f"{rival.statement.rstrip(ENDS)}{stop if sentence else ''}"


def _is_plain(passage: str, claim: str, rival: str, question: str) -> bool:
    """Return whether a passage only states its claim, so that the rival's sentence can replace it.

    The passage may contain one informative word that the claim, question and rival lack. The rival
    must be in the same language as the passage. If either language is unknown, the rival must
    instead share at least half of its words with the claim and the question.
    """
    claim_terms = telling_terms(claim) | telling_terms(question)
    own = telling_terms(passage) - claim_terms - telling_terms(rival)
    # one word is tolerated, since it may be a synonym
    if len(own) > 1:
        return False
    language, rival_language = language_of(passage, claim), language_of(rival)
    if language is not None and rival_language is not None:
        return language == rival_language
    words = words_beside_values(rival)
    return 2 * len(words & claim_terms) >= len(words)


def sides_of(look: SecondLook) -> tuple[Candidate, Candidate]:
    """Return the claim and the rival of a look; raise ValueError if the look has no rival."""
    if look.rival is None:
        raise ValueError("a second look without a rival changes nothing")
    return look.candidates[0], look.candidates[look.rival]


def passed_over(after: str, before: str, claims: Sequence[str], question: str) -> str | None:
    """Return the new words of a change that are missing from the new claims.

    Return None if at most two words are missing and none of them is a number.
    """
    known_terms = telling_terms(before) | telling_terms(question)
    known_terms = known_terms.union(*map(telling_terms, claims))
    new_terms = sorted(telling_terms(after) - known_terms)
    number = any(any(map(str.isdigit, word)) for word in new_terms)
    return ", ".join(new_terms) if number or len(new_terms) > _MOST_PASSED_OVER else None
