"""Refuses a change to an answer if the evidence does not support the change."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conflictscore.active_content import added_active_content
from conflictscore.answering.languages import language_of
from conflictscore.answering.question_terms import base_forms
from conflictscore.answering.statements import (
    restates,
    same_answer,
    telling_terms,
)
from conflictscore.correcting.citing import IN_WORDS
from conflictscore.correcting.telling import told_evidence
from conflictscore.correcting.wording import with_other_number
from conflictscore.correcting.yes_or_no import opposite_answer
from conflictscore.metric import balance, better_evidence, coverage
from conflictscore.records import (
    Candidate,
    Change,
    ClaimEvidence,
    ConflictReport,
    RevisionAction,
    SecondLook,
)
from conflictscore.values import values_in

_OUTNUMBERED = "more documents contradict than support"
_FEWER_LABELS = "fewer of its pairs have a label than before"
# Citations such as "[3]", "[3](https://…)" and "(Docs 1, 2)", with addresses as long as in
# ``citing``. Other links may be names in the sentence, so their text counts as part of the passage.
_CITED = re.compile(rf"\[\d{{1,3}}\](?:\([^()\s]{{1,500}}\))?|{IN_WORDS}")
_CLAIMS_NOTHING = "it makes no claim in place of the old one"


def judge_change(change: Change, before: ConflictReport, now: ConflictReport) -> Change:
    """Return the change with the guard's verdict: whether it is accepted and, if not, the reason.

    A second look is a new examination of one disputed claim (``look.py``). If second looks proposed
    the change, the change must state what they decided. A whole new answer is accepted only if its
    evidence is better than the evidence of the previous answer. A change with a note is refused for
    the reason in the note. If the new answer has no scores, the scoring error is the reason.
    """
    claims_by_text = {evidence.claim.text: evidence for evidence in now.claims}
    case = _Case(
        change,
        old=[e for e in before.claims if change.whole or change.holds(e.claim)],
        new=list(now.claims) if change.whole else [claims_by_text[t] for t in change.new_claims],
        report=now,
    )
    why = change.note or now.error
    if why is None:
        why = _refusal_of_looks(case) if change.looks else _refusal_of_whole(case)
    figures: dict[str, Any] = {
        "balance_before": case.balances(case.old),
        "balance_after": case.balances(case.new),
    }
    return change.model_copy(update=figures | {"accepted": why is None, "note": why})


def refusal(
    change: Change, old: Sequence[ClaimEvidence], new: Sequence[ClaimEvidence], now: ConflictReport
) -> str | None:
    """Return why a change proposed by second looks is refused; None if it is accepted.

    An accepted change meets three conditions. First, the change was decided by a second look.
    Second, the change states the winner and no longer states the loser; a hedge instead states both
    sides, each supported by a document. Third, each further claim that it adds is supported by at
    least one document. If the claim adds a number or several informative words, a document that did
    not vote for the winner must support it. At least as many documents must support the claim as
    contradict it, unless the claim states a part of the winner.
    """
    return _refusal_of_looks(_Case(change, old, new, now))


@dataclass(frozen=True)
class _Case:
    """A change to judge, with the passage's old and new claims and the scores of the new answer."""

    change: Change
    old: Sequence[ClaimEvidence]
    new: Sequence[ClaimEvidence]
    report: ConflictReport

    def balance(self, claim: ClaimEvidence) -> float:
        """Return the :func:`balance` of a claim, under the run's rules for copies and weights."""
        copies = {} if self.report.duplicates_vote else self.report.duplicates
        return balance(claim, copies, self.report.weights)

    def balances(self, claims: Sequence[ClaimEvidence]) -> tuple[float, ...]:
        """Return the balances of several claims, the worst first."""
        return tuple(sorted(map(self.balance, claims)))

    @property
    def trusted(self) -> list[ClaimEvidence]:
        """The new claims, without the labels of documents whose weight is 0."""
        return [claim.excluding_zero_weight(self.report.weights) for claim in self.new]

    @property
    def loses_coverage(self) -> bool:
        """Return whether the share of labelled pairs of the passage has fallen."""
        return (coverage(self.new) or 0.0) < (coverage(self.old) or 0.0)

    def is_added(self, claim: ClaimEvidence) -> bool:
        """Return whether the change adds this claim, which the old passage did not make."""
        return claim.claim.text not in {each.claim.text for each in self.old}


_NOT_BETTER = "the documents do not support the new text better than the old text"


def _refusal_of_whole(case: _Case) -> str | None:
    """Return why a whole new answer, made without second looks, is refused; None if accepted."""
    # without a look, nothing says which statement won, so only the balances of the claims count
    before, after = case.balances(case.old), case.balances(case.new)
    # without claims there are no pairs, which is not a loss of labels
    if case.new and case.loses_coverage:
        return _FEWER_LABELS
    if not better_evidence(before, after):
        balances_shown = f"{_shown(before)} before, {_shown(after)} after"
        return f"{_NOT_BETTER} ({balances_shown})"
    if case.change.action is not RevisionAction.REPLACE:
        return None  # any other action retracts what the answer stated, and states nothing new
    if not case.new:
        return _CLAIMS_NOTHING
    if not any(claim.supports for claim in case.trusted):
        return "no document supports what the change says"
    added_claims = filter(case.is_added, case.new)
    if any(case.balance(claim) < 0 for claim in added_claims):
        has_weights = case.report.weights
        what = "documents with more weight contradict than support" if has_weights else _OUTNUMBERED
        return f"{what} a claim that the change makes"
    return None


def _shown(balances: Sequence[float]) -> str:
    return ", ".join(f"{figure:+.2f}" for figure in balances) or "no claim"


def _refusal_of_looks(case: _Case) -> str | None:
    """Return why a change proposed by second looks is refused; see :func:`refusal`."""
    change = case.change
    if kind := added_active_content(change.before, change.after):
        return f"the change adds {kind} that the passage did not have"
    deciding_looks = [look for look in change.looks if look.decision != "keep"]
    if not deciding_looks:
        return "neither the vote nor the weighing decided it"
    if not change.after:
        elsewhere = case.report.claims
        return next(filter(None, (_unsaid(look, elsewhere) for look in deciding_looks)), None)
    if not case.new:
        return _CLAIMS_NOTHING
    for look in deciding_looks:
        if why := _misstated(look, change.before, change.after, case.new):
            return why
    if case.loses_coverage:
        return _FEWER_LABELS
    riders = (_refusal_of_rider(claim, case, deciding_looks) for claim in case.trusted)
    return next(filter(None, riders), None)


def _refusal_of_rider(
    claim: ClaimEvidence, case: _Case, deciding_looks: Sequence[SecondLook]
) -> str | None:
    """Return why a further claim of a change is refused; None if it is accepted."""
    text = claim.claim.text
    if not case.is_added(claim) or any(_is_stated_by(text, look) for look in deciding_looks):
        return None
    if not claim.supports:
        return f"no document supports “{text}”, which the change adds"
    if _is_backed_by_its_source(claim, case, deciding_looks):
        return f"only the winner's own documents support “{text}”, which the change adds"
    is_part = any(_is_part_of(claim, look) for look in deciding_looks)
    if case.balance(claim) < 0 and not is_part:
        return f"more documents contradict than support “{text}”, which the change adds"
    return None


def _is_backed_by_its_source(
    claim: ClaimEvidence, case: _Case, deciding_looks: Sequence[SecondLook]
) -> bool:
    """Return whether a claim says more than the winner, and only the winner's documents support it.

    A document's answer may contain an additional statement that was not asked for.
    """
    look_texts = [side.claim.text for look in deciding_looks for side in look.sides]
    old_texts = [each.claim.text for each in case.old]
    questions = [look.question for look in deciding_looks]
    known_texts = (case.change.before, *look_texts, *old_texts, *questions)
    new_terms = telling_terms(claim.claim.text).difference(*map(telling_terms, known_texts))
    behind = {n for look in deciding_looks for n in look.counterpart.votes}
    # a single new word may be a synonym or a foreign function word, but a number is neither
    has_number = any(map(str.isdigit, "".join(new_terms)))
    return (has_number or len(new_terms) > 1) and behind.issuperset(claim.supports)


def _unsaid(look: SecondLook, elsewhere: Sequence[ClaimEvidence]) -> str | None:
    """Return why a passage must not be removed; None if the answer states the winner elsewhere."""
    winner = look.counterpart.statement
    says = (c for c in elsewhere if restates(c.claim.text, winner, look.question))
    return None if any(c.supports for c in says) else f"nothing else in the answer says “{winner}”"


def _misstated(
    look: SecondLook, before: str, after: str, new: Sequence[ClaimEvidence]
) -> str | None:
    """Return why a passage does not state what a second look decided; None if it does."""
    if look.tells_several:
        return _untold_side(look, before, after)
    own, rival = look.candidates[0], look.counterpart
    texts = [claim.claim.text for claim in new]
    terms = base_forms(telling_terms(after) | telling_terms(look.question))
    states = any(restates(text, rival.statement, look.question) for text in texts)
    # a claim may be worded too freely to restate the winner, so the passage's own words count, too
    if not (
        states
        or after.strip() == opposite_answer(before, look)
        or base_forms(telling_terms(rival.statement)) <= terms
        or _says_in_another_language(after, rival, own, new)
    ):
        return f"the change does not say what the evidence settled: “{rival.statement}”"
    # only an identical claim counts: a claim that gives the winner in more detail may also restate
    # the loser
    if any(text == own.statement for text in texts):
        return f"the change still says “{own.statement}”"
    return None


def _says_in_another_language(
    after: str, rival: Candidate, own: Candidate, new: Sequence[ClaimEvidence]
) -> bool:
    """Return whether a passage states what a document in a different language states.

    The passage must contain the names and numbers that are in the rival but not in the claim. A
    document that votes for the rival must also support one of the claims of the passage.
    """
    languages = {language_of(after), language_of(rival.statement)}
    if None in languages or len(languages) == 1:
        # the language of a bare name is unknown, so it does not count as a translation
        return False
    names = {word for word in re.findall(r"\w+", rival.statement) if not word.islower()}
    new_names = telling_terms(" ".join(names)) - telling_terms(own.statement)
    is_backed = any(not set(rival.votes).isdisjoint(claim.supports) for claim in new)
    return bool(new_names) and new_names <= telling_terms(after) and is_backed


def _untold_side(look: SecondLook, before: str, after: str) -> str | None:
    """Return why a passage is refused as a report of both sides; None if it is accepted."""
    other_word = opposite_answer(before, look)  # "No." for "Yes."
    terms = telling_terms(after) | telling_terms(look.question)
    for place, side in enumerate(look.sides):
        if not side.supports:
            return f"no document supports “{side.claim.text}”, which the change names as one side"
        # the answer's own side is worded as in its passage, which may contain citations
        words = side.claim.text if place else _CITED.sub(" ", before)
        # if the answer is a yes or no and is hedged, the other side is the opposite word
        if place and other_word is not None and look.decision == "hedge":
            words = other_word
        if not telling_terms(words) <= terms and not _has_values_of(after, words, place, look):
            return f"the change does not name both sides: “{side.claim.text}” is missing"
    return None


def _has_values_of(after: str, statement: str, place: int, look: SecondLook) -> bool:
    """Return whether a passage contains each value that only this side has, in any notation."""
    # the answer's own side (place 0) must differ by a value alone from every other side
    own, *others = (side.claim.text for side in look.sides)
    differing = [statement] if place else others
    side_values = values_in(statement)
    stated_values = values_in(after)
    has_all = bool(side_values) and all(
        any(v.agrees(each) for each in stated_values) for v in side_values
    )
    return has_all and all(with_other_number(own, each, look.question) for each in differing)


def _is_stated_by(text: str, look: SecondLook) -> bool:
    """Return whether a claim states what a second look decided, or reports an unsettled dispute."""
    if look.tells_several:
        return text == told_evidence(look).claim.text
    return restates(text, look.counterpart.statement, look.question)


def _is_part_of(claim: ClaimEvidence, look: SecondLook) -> bool:
    """Return whether a claim states part of the winner, and a voter for the winner supports it."""
    winner = look.counterpart
    part = same_answer(claim.claim.text, winner.statement, look.question)
    return part and not set(winner.votes).isdisjoint(claim.supports)
