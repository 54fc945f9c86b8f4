"""decompose: split an answer into atomic claims (paper, section 3, step 1; Table 6).

An answer that was edited in place keeps the claims of its unchanged passages; only replacement
texts are decomposed.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from conflictscore.answering.claim_asking import AnswerClaims, claims_of_answer, claims_of_passage
from conflictscore.answering.claim_places import claims_in_place, gaps_in_place, placed_claims
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
    with_changes,
)
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Attempt, Change, Claim, Gap, SecondLook
from conflictscore.scripts import words_in
from conflictscore.threads import at_once

_LEAST_WORDS = 3  # a passage this long may say more than the winning statement
_ENDS = " .*_"


async def decompose(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Decompose the draft; in multiple choice the text of the chosen option is the only claim.

    If decomposition fails, the failure is recorded and the answer has no score. If it fails for a
    changed passage, the change is noted as unchecked.
    """
    answer, meter, error = draft_of(state), UsageMeter(), None
    judge, changes = runtime.context.judge(meter), changes_in(state, len(state.get("attempts", ())))
    claims: tuple[Claim, ...] = ()
    notes = [*state.get("notes", [])]
    gaps: tuple[Gap, ...] = ()
    if answer.option is not None:
        claims = placed_claims([(answer.text, None)])
    elif changes and not changes[0].whole:
        claims, changes = await _claims_after(changes, state, judge)
        gaps = gaps_in_place(attempts_of(state)[-1].gaps, changes)
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
    """A note on sentences that documents cannot confirm, and whether nothing else was checked."""
    [first, *more] = split.asserting_nothing
    others = f" and {len(more)} more" if more else ""
    end = "" if split.claims else ", so nothing was checked"
    return f"“{first}”{others} states nothing about the world{end}"


async def _claims_after(
    changes: Sequence[Change], state: RagState, judge: Reader
) -> tuple[tuple[Claim, ...], tuple[Change, ...]]:
    """The claims of an answer that was edited in place, and its changes with their new claims.

    A replacement that equals the winning statement is not decomposed, since its claim is already
    labelled. A replacement that cannot be fully decomposed gets a note, and the guard refuses it.
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
                # its statement is known and already labelled
                update = {"new_claims": tuple(_winners(change))}
            else:
                texts = await claims_of_passage(before, change.after, judge)
                update = {"new_claims": texts}
                question = state.get("question", "")
                missing_words = passed_over(change.after, change.before, texts, question)
                if missing_words and change.looks:
                    update["note"] = _not_as_a_whole(missing_words)
        except (ProviderError, BudgetError) as failure:
            update = {"note": f"it could not be split into claims: {failure}"}
        return change.model_copy(update=update)

    new_changes = await at_once(partial(take_apart, change) for change in changes)
    before = [evidence.claim for evidence in last.report.claims] if last.report else []
    return claims_in_place(before, [c for c in new_changes if c.differs]), new_changes


def _is_known(change: Change) -> bool:
    """Whether a passage says no more than the winner: "No.", "1874", or the claim's own words.

    A document's words may say more than the answer to the question.
    """
    if len(words_in(change.after)) < _LEAST_WORDS:
        return True
    [winner, *more], own = [*_winners(change), ""], change.looks[0].candidates[0].statement
    return (
        not any(more)
        and change.after.strip(_ENDS) == winner.strip(_ENDS)
        and with_other_number(own, winner) == winner
    )


def _winners(change: Change) -> Iterator[str]:
    for look in change.looks:
        if look.decision == "replace" and look.rival is not None:
            yield look.candidates[look.rival].statement


async def _claims_of_told(
    change: Change, telling: Sequence[SecondLook], last: Attempt, judge: Reader
) -> dict[str, Any]:
    """The claims of a passage with several answers: one for these, plus everything else it says.

    Only the documents' statements are new in it. A statement is decomposed, since it may say more
    than the answer, unless it repeats the claim's own words with a different value.
    """
    sentences, riders = list[str](), list[str]()
    for look in telling:
        own, *others = (side.claim.text for side in look.sides)
        for statement in others:
            if with_other_number(own, statement) == statement:
                continue
            texts = await claims_of_passage("", statement, judge)
            riders += [text for text in texts if not restates(text, statement, look.question)]
            if missing_words := passed_over(statement, change.before, texts, look.question):
                return {"note": _not_as_a_whole(missing_words)}
        sentences.append(told_evidence(look).claim.text)
    disputed_texts = {look.candidates[0].statement for look in telling}
    report = last.report
    before = [e.claim for e in report.claims if change.holds(e.claim)] if report else []
    undisputed_texts = [claim.text for claim in before if claim.text not in disputed_texts]
    return {"new_claims": tuple(dict.fromkeys([*undisputed_texts, *sentences, *riders]))}


def _not_as_a_whole(missing_words: str) -> str:
    return f"it was not completely split into claims: {missing_words}"
