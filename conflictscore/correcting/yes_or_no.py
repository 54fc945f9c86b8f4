"""Compares a claim that answers a yes-or-no question with its opposite.

A small reader that writes its answer says yes to nearly every such question. The reader's
probabilities of the words "Yes" and "No" tell more. They separate a yes from a no as well as the
encoders do: the area under the curve is .80 for the probabilities and .77 for the encoders. It was
measured on 160 documents of cases that the encoders were not trained on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum

from conflictscore.answering.languages import opposite_word, yes_or_no
from conflictscore.answering.statements import affirms, is_about, opposite
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.readers import asking
from conflictscore.errors import ProviderError
from conflictscore.labelers.denials import denial_of
from conflictscore.loop.state import Reader
from conflictscore.records import (
    Claim,
    ClaimEvidence,
    Document,
    DroppedReply,
    EvidenceLabel,
    Label,
    SecondLook,
)
from conflictscore.threads import at_once

_WORDS = ("Yes", "No")  # the words that the template "ask_yes_or_no" offers
_STOPS = ",.;:!\u2013\u2014"  # punctuation after a yes or no that is a sentence by itself
_MARKS = "*_\"'"  # emphasis and quotation marks around a first word
# Minimum sum of the log-odds against a claim, over the documents that may contradict it. It was
# measured with the claims of 75 cases that are disputed by their labels, and chosen on the cases of
# two authors. There it keeps 12 of 36 wrong claims and 1 of 20 correct ones. On the cases of two
# other authors, it keeps 6 of 18 wrong claims and 0 of 2 correct ones.
_LEAST_OPPOSITION = 1.5
# P(CONTRADICTS) from which a document may contradict a claim: the probability of each label if all
# three are equally likely.
_LEAST_CONTRADICTION = 1 / 3
_SWAPPED = {Label.SUPPORTS: Label.CONTRADICTS, Label.CONTRADICTS: Label.SUPPORTS}


@dataclass(frozen=True)
class Readings:
    """A reader's answers to a yes-or-no question, by document.

    Attributes:
        odds: For each document, the natural log-odds of yes.
        dropped: The documents that could not be queried.
    """

    odds: Mapping[int, float]
    dropped: tuple[DroppedReply, ...] = ()

    def oppose(self, claim: ClaimEvidence, *, is_yes: bool) -> bool:
        """Return whether the documents that may contradict a claim seem to state its opposite.

        ``is_yes`` says whether the claim says yes.
        """
        against = (
            max(0.0, -odds if is_yes else odds)
            for pair in claim.labels
            if (pair.probabilities or {}).get(Label.CONTRADICTS, 0.0) >= _LEAST_CONTRADICTION
            and (odds := self.odds.get(pair.document)) is not None
        )
        return fsum(against) >= _LEAST_OPPOSITION

    def saying(self, side: bool) -> tuple[int, ...]:
        """Return the documents that say yes (or no, if ``side`` is false), in ascending order."""
        return tuple(sorted(number for number, odds in self.odds.items() if (odds > 0) is side))


def opposite_answer(passage: str, look: SecondLook) -> str | None:
    """Return the opposite of a passage that says yes or no; None for any other passage.

    The passage may be a bare "Yes.". The passage may also give a reason ("Yes, since the lamp
    burns."), if the look's rival denies its claim.
    """
    bare = opposite(passage, look.question)
    if bare is not None or look.rival is None:
        return bare
    rival = look.candidates[look.rival].statement
    if rival != denial_of(look.candidates[0].statement):
        return None
    first = _first_word(passage)
    word = first and opposite_word(first, [look.question, passage])
    return f"{word[:1].upper()}{word[1:]}." if word else None


def is_answer_to_yes_or_no(claim: str, passage: str, looking: Looking) -> bool:
    """Return whether a claim says yes or no to the question, so that its opposite may be its rival.

    If embedded models read the documents, a passage counts even if it says more than a bare "Yes.".
    A capable reader also says what is true instead, so there only a bare answer counts.
    """
    if opposite(passage, looking.question) is not None:
        return True
    if not (looking.is_read_by_embedded and looking.reader.model.has_grammars):
        return False
    first = _first_word(passage)
    if not first or not looking.is_question_clear or not _is_first(passage, looking.answer):
        return False
    is_answer = looking.only_claim or _first_word(claim) == first
    return is_answer or is_about(claim, looking.question)


def says_yes(passage: str, question: str) -> bool:
    """Return whether a passage for which :func:`is_answer_to_yes_or_no` is true says yes."""
    if opposite(passage, question) is not None:
        return affirms(passage, question)
    return bool(yes_or_no(_first_word(passage), passage))


def is_led_to_yes(passage: str, rival: str, looking: Looking, *, is_denied: bool) -> bool:
    """Return whether a rival turns a no into a yes, and depends only on embedded models.

    The embedded labeler and reader are both biased towards yes. On NatConfQA, votes that turned a
    no into a yes were wrong as often as they were correct. ``is_denied`` says whether the rival is
    the opposite of the claim.
    """
    if not looking.is_read_by_embedded:
        return False
    if is_denied:
        return not says_yes(passage, looking.question)
    sides = [_yes_or_no_before(text, passage) for text in (passage, rival)]
    return sides == [False, True]


def begins_with_yes_or_no(passage: str) -> bool:
    """Return whether a passage begins with yes or no.

    The documents that support it must then be read, to see whether the reader says yes to all of
    them; see :func:`is_led_to_yes`.
    """
    return _yes_or_no_before(passage, passage) is not None


def _yes_or_no_before(text: str, passage: str) -> bool | None:
    """Return True if a text begins with yes, False if it begins with no, and None otherwise.

    The words for yes and no are in the language of ``passage``.
    """
    return yes_or_no(text.partition(" ")[0].strip(_STOPS + _MARKS), passage)


def denied(claim: ClaimEvidence) -> ClaimEvidence:
    """Return the opposite of a yes-or-no claim; its labels swap SUPPORTS and CONTRADICTS."""

    def swapped(pair: EvidenceLabel) -> EvidenceLabel:
        likely = pair.probabilities
        probabilities = likely and {_SWAPPED.get(label, label): p for label, p in likely.items()}
        update = {"label": _SWAPPED.get(pair.label, pair.label), "probabilities": probabilities}
        return pair.model_copy(update=update)

    opposite_claim = Claim(number=claim.claim.number, text=denial_of(claim.claim.text))
    return ClaimEvidence(claim=opposite_claim, labels=tuple(map(swapped, claim.labels)))


async def read_yes_or_no(
    question: str,
    documents: Sequence[Document],
    reader: Reader,
    *,
    quotations: Mapping[int, str],
) -> Readings:
    """Ask each document separately how likely a yes is.

    The model's server must return log-probabilities. A long document is cut as in
    :func:`~conflictscore.correcting.readers.ask_documents`.

    Raises:
        ProviderError: No document could be queried.
    """

    def log_odds(logprobs: Mapping[str, float]) -> float:
        yes, no = (logprobs[word] for word in _WORDS)
        return yes - no

    ask = asking(
        "ask_yes_or_no",
        question,
        reader,
        quotations,
        send=partial(
            reader.model.ask_letter,
            letters=_WORDS,
            read=log_odds,
            prompts=reader.prompts,
            meter=reader.meter,
        ),
        reply_tokens=1,
    )
    replies = await at_once(partial(ask, document) for document in documents)
    odds, dropped_replies = dict[int, float](), list[DroppedReply]()
    for document, reply in zip(documents, replies, strict=True):
        if isinstance(reply, DroppedReply):
            dropped_replies.append(reply)
        else:
            odds[document.number] = reply
    if dropped_replies and not odds:
        raise ProviderError(dropped_replies[0].why, provider=reader.model.name)
    return Readings(odds, tuple(dropped_replies))


def _first_word(text: str) -> str:
    """Return the yes or no with which a text begins, before punctuation; empty if there is none."""
    first = text.lstrip(f" \u201c{_MARKS}").partition(" ")[0]
    word = first.strip(_STOPS + _MARKS)
    is_marked = first.rstrip(_MARKS).endswith(tuple(_STOPS)) or first == text.strip()
    return word.casefold() if is_marked and yes_or_no(word, text) is not None else ""


def _is_first(passage: str, answer: str) -> bool:
    return not answer or answer.lstrip().startswith(passage.strip())
