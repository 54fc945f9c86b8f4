"""decompose: split an answer into atomic claims (paper, section 3, step 1; Table 6).

If an answer was edited in place, only the new passages are decomposed. The claims of the unchanged
passages are kept.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from conflictscore.answering.claim_asking import AnswerClaims, claims_of_answer, claims_of_passage
from conflictscore.answering.claim_places import placed_claims
from conflictscore.answering.claims_after_changes import claims_after, with_the_rest
from conflictscore.answering.statements import restates
from conflictscore.correcting.telling import told_evidence
from conflictscore.correcting.wording import passed_over, with_other_number
from conflictscore.errors import BudgetError, ProviderError
from conflictscore.json_answers import is_json
from conflictscore.loop.state import (
    RagState,
    Reader,
    RunRuntime,
    attempts_of,
    changes_in,
    draft_of,
    may_be_given_up,
    plain_records,
    spent,
    unheard,
    with_changes,
)
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Attempt, Change, Claim, Gap, SecondLook
from conflictscore.scripts import words_in
from conflictscore.threads import at_once

# A passage with fewer words, such as "No." or "1874", has room for a value and nothing else.
_LEAST_WORDS = 3

# A full stop or emphasis at the ends of a passage does not change what it states.
_ENDS = " .*_"


async def decompose(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Decompose the draft; if the question has options, the chosen one is the only claim.

    If an answer cannot be decomposed, the state holds the error and the answer gets no score. If a
    changed passage cannot be decomposed, the change gets a note and the guard refuses it. If the
    run's budget is used up, the run ends with an error, unless it can keep its previous answer.
    """
    answer, meter, error = draft_of(state), UsageMeter(), None
    # the number of earlier attempts is the round of the draft
    judge, changes = runtime.context.judge(meter), changes_in(state, len(state.get("attempts", ())))
    claims: tuple[Claim, ...] = ()
    notes = [*state.get("notes", [])]
    gaps: tuple[Gap, ...] = ()
    if answer.option is not None:
        claims = placed_claims([(answer.text, None)])
    elif changes and not changes[0].whole:
        claims, gaps, changes = await _claims_after(changes, state, judge)
    else:
        try:
            split = await claims_of_answer(answer.text, state, runtime.context, judge)
            claims, gaps = split.claims, split.gaps
            if split.asserting_nothing:
                notes.append(_asserts_nothing(split))
        except (ProviderError, BudgetError) as failure:
            if isinstance(failure, BudgetError) and not may_be_given_up(state, runtime.context):
                raise
            error = f"the answer could not be split into claims: {failure}"
    if runtime.stream_writer is not unheard:
        runtime.stream_writer({"event": "claims", "claims": [c.to_json() for c in claims]})
    return {
        "claims": plain_records(state, "claims", claims),
        "decomposition_error": error,
        "gaps": [gap.to_json() for gap in gaps],
        "notes": notes,
        "changes": with_changes(state, changes),
        "usage": spent(state, meter.usage),
    }


def _asserts_nothing(split: AnswerClaims) -> str:
    """Return a note on sentences that no document can confirm.

    If the answer has no other claims, the note adds that nothing was checked.
    """
    [first, *more] = split.asserting_nothing
    others = "1 more sentence" if len(more) == 1 else f"{len(more)} more sentences"
    sentences = f"“{first}” and {others} state" if more else f"“{first}” states"
    end = "" if split.claims else ", so nothing was checked"
    return f"{sentences} nothing that a document could confirm{end}"


async def _claims_after(
    changes: Sequence[Change], state: RagState, judge: Reader
) -> tuple[tuple[Claim, ...], tuple[Gap, ...], tuple[Change, ...]]:
    """Return the claims and gaps of an answer edited in place, and its changes with their claims.

    If a new passage equals the statement that won, it is not decomposed, because that statement is
    already labelled. If a new passage cannot be fully decomposed, its change gets a note, and the
    guard refuses the change.
    """
    last = attempts_of(state)[-1]
    in_json = is_json(last.answer.text)

    async def take_apart(change: Change) -> Change:
        if not change.differs or not change.after:
            return change
        before = last.answer.text[: change.start]
        telling = [look for look in change.looks if look.tells_several]
        update: dict[str, Any]
        try:
            if telling:
                update = await _claims_of_told(change, telling, last, judge)
            elif change.looks and (in_json or _is_known(change)):
                # The second look has already labelled the statement. A value of a JSON answer
                # cannot be decomposed, since it is no sentence. Its statement stands for it.
                update = {"new_claims": tuple(_winners(change))}
            else:
                texts = await claims_of_passage(before, change.after, judge)
                update = {"new_claims": texts}
                question = state.get("question", "")
                missing_words = passed_over(change.after, change.before, texts, question)
                if missing_words:
                    update["note"] = _not_as_a_whole(missing_words)
        except (ProviderError, BudgetError) as failure:
            update = {"note": f"it could not be split into claims: {failure}"}
        return change.model_copy(update=update)

    new_changes = await at_once(partial(take_apart, change) for change in changes)
    own = [evidence.claim for evidence in last.report.claims] if last.report else []
    answer, question = draft_of(state).text, state.get("question", "")
    claims = claims_after(own, new_changes, last.answer.text, answer)
    claims, gaps = await with_the_rest(claims, new_changes, last.gaps, answer, question, judge)
    return claims, gaps, new_changes


def _is_known(change: Change) -> bool:
    """Return whether a new passage says no more than the statement that won the second look.

    The result is True for short replies such as "No." or "1874". The result is also True if the
    passage is the old claim with only its value replaced. A passage in a document's own words may
    say more than the answer to the question.
    """
    if len(words_in(change.after)) < _LEAST_WORDS:
        return True
    # without a winner, the empty string at the end serves as one, and equals no passage
    [winner, *more], own = [*_winners(change), ""], change.looks[0].candidates[0].statement
    return (
        not any(more)
        and change.after.strip(_ENDS) == winner.strip(_ENDS)
        and with_other_number(own, winner) == winner
    )


def _winners(change: Change) -> Iterator[str]:
    """Yield the statements that replace disputed claims of a passage."""
    for look in change.looks:
        if look.decision == "replace" and look.rival is not None:
            yield look.candidates[look.rival].statement


async def _claims_of_told(
    change: Change, telling: Sequence[SecondLook], last: Attempt, judge: Reader
) -> dict[str, Any]:
    """Return the claims of a passage that reports several answers.

    For each second look, one claim is the sentence that reports the answers ("Sources disagree:
    …"); its label follows from the labels of the answers. The other claims cover everything else in
    the passage: its undisputed claims, and whatever the documents' statements say in addition. So
    these statements are decomposed, unless they repeat the words of the claim with a different
    value.
    """
    sentences, extra_claims = list[str](), list[str]()
    for look in telling:
        own, *others = (side.claim.text for side in look.sides)
        for statement in others:
            if with_other_number(own, statement) == statement:
                continue
            texts = await claims_of_passage("", statement, judge)
            extra_claims += [t for t in texts if not restates(t, statement, look.question)]
            if missing_words := passed_over(statement, change.before, texts, look.question):
                return {"note": _not_as_a_whole(missing_words)}
        sentences.append(told_evidence(look).claim.text)
    disputed_texts = {look.candidates[0].statement for look in telling}
    report = last.report
    before = [e.claim for e in report.claims if change.holds(e.claim)] if report else []
    undisputed_texts = [claim.text for claim in before if claim.text not in disputed_texts]
    return {"new_claims": tuple(dict.fromkeys([*undisputed_texts, *sentences, *extra_claims]))}


def _not_as_a_whole(missing_words: str) -> str:
    return f"it was not completely split into claims: {missing_words}"
