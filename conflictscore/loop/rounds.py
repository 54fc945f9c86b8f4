"""Decides whether a run may have another round, and finds the round that changed the answer."""

from collections.abc import Sequence, Sized
from itertools import takewhile

from conflictscore.loop.state import (
    RagState,
    RunContext,
    attempts_of,
    searches_of,
)
from conflictscore.records import (
    Attempt,
    ClaimEvidence,
    ConflictReport,
    Label,
    Method,
    differs,
)


def may_look_again(attempts: Sized, context: RunContext) -> bool:
    """Return whether the method and the number of rounds allow another correction."""
    return context.method is Method.REGENERATED_RAG and len(attempts) < context.settings.max_rounds


def to_look_for(state: RagState, context: RunContext) -> tuple[ClaimEvidence, ...]:
    """Return the claims of the last answer that need a further search; disputed claims come first.

    There is at most one search step per round, and at most one search for each claim per run. If
    ``look_further`` is off, only tied claims are searched for, and only in a local folder or
    corpus, where searches cost nothing. The folder or corpus must have more documents than the run.
    A claim is tied if equal numbers of sources contradict and support it (see :func:`_is_tied`).
    """
    ties_alone = context.settings.look_further == "off"
    if ties_alone and not _has_more_at_hand(state, context):
        return ()
    last, earlier_searches = attempts_of(state)[-1], searches_of(state)
    has_searched = any(search.round == last.round for search in earlier_searches)
    # After the last round, no answer is corrected, so a search would be useless. The range stands
    # for the attempts before the last one: only their number matters.
    is_final = not may_look_again(range(last.round), context)
    if is_final or has_searched or last.report is None:
        return ()
    doubtful = _doubtful_claims(last.report, context)
    if ties_alone:
        doubtful = [evidence for evidence in doubtful if _is_tied(evidence, last.report)]
    searched_texts = {search.claim for search in earlier_searches}
    return tuple(each for each in doubtful if each.claim.text not in searched_texts)


def _doubtful_claims(report: ConflictReport, context: RunContext) -> list[ClaimEvidence]:
    """Return the disputed claims, then claims that more documents could make disputed."""
    kinds = set[str]()
    if "refuted" in context.settings.disputed:
        kinds.add("contradicted")  # a second document against the claim would refute it
    if context.settings.look_further == "unsupported":
        kinds.add("unsupported")
    others = [each for each in report.claims if each.claim.number not in report.disputed]
    return [
        *(report.evidence(number) for number in report.disputed),
        *(each for each in others if report.why_disputed(each) in kinds),
    ]


def _has_more_at_hand(state: RagState, context: RunContext) -> bool:
    at_hand = getattr(context.retriever, "at_hand", None) or 0
    # the paper's loop searches only once, and the options of a question are compared as they are
    in_place = context.settings.regeneration == "revise" and not state.get("options")
    return in_place and at_hand > len(state.get("documents", ()))


def _is_tied(evidence: ClaimEvidence, report: ConflictReport) -> bool:
    """Return whether equal numbers of sources, at least one each, support and contradict a claim.

    Copies count once even if they vote, since a copy is not another source. Weights do not count:
    sums of weights are seldom equal, and a search that costs nothing may find a further source for
    either side.
    """
    both = (Label.SUPPORTS, Label.CONTRADICTS)
    sides = [evidence.independent(side, report.duplicates) for side in both]
    return sides[0] == sides[1] > 0


def unexplained(attempts: Sequence[Attempt]) -> bool:
    """Return whether the answer changed without a reason from the model."""
    attempt = flipped_by(attempts)
    return attempt is not None and attempt.answer.justification is None


def flipped_by(attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the attempt that introduced the final answer; None if the first answer was kept."""
    first, last = attempts[0], attempts[-1]
    if not differs(first.answer.text, last.answer.text):
        return None
    as_the_last = takewhile(
        lambda attempt: not differs(attempt.answer.text, last.answer.text), reversed(attempts)
    )
    return list(as_the_last)[-1]
