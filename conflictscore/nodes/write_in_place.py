"""Writing an answer in place: each disputed passage is looked at again, and all else stays."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from conflictscore.errors import BudgetError, ContextWindowError, ProviderError
from conflictscore.markdown import Passage, misfit, passages, spliced
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import answerer_of, before_stop
from conflictscore.nodes.conflict_details import sourced_details
from conflictscore.nodes.replies import (
    Revised,
    cited_documents,
    copied,
    of_the_task,
    read_revision,
    unframed,
)
from conflictscore.nodes.state import RagState, RunContext, documents_of, weights_of
from conflictscore.nodes.written import Written
from conflictscore.prompts import material
from conflictscore.records import (
    Answer,
    Attempt,
    Change,
    ClaimEvidence,
    Document,
    RevisionAction,
    differs,
)
from conflictscore.threads import in_time, together
from conflictscore.tokens import count_tokens

__all__ = ["excerpt", "explained", "write_in_place"]

_FEW = 2
"""An answer of so few passages is looked at as a whole."""
_AROUND_CHARS = 1500
"""How much of the answer is shown before a passage, and after it."""
_MOST_CLAIMS = 4
"""The most disputed claims of a passage that are shown with their evidence."""
_LEAST_TOKENS, _MOST_TOKENS = 320, 4096
_EXCERPT_CHARS = 60


class _Disputed(NamedTuple):
    """A passage with its disputed claims, those with most at stake first."""

    passage: Passage
    claims: tuple[ClaimEvidence, ...]


async def write_in_place(
    last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> Written:
    """Ask for a replacement of each disputed passage, and put it in the passage's place.

    The passages are asked for side by side, the one with most at stake first. A replacement that
    fails, does not fit, or comes after the run's time leaves the passage as it is, with a note.

    Args:
        last: The answer to correct, with a report that disputes a claim.
        state: The run's.
        context: The run's.
        meter: Counts the calls.
    """
    disputed = _disputed(last)
    looked: dict[int, Change] = {}

    async def look(number: int) -> None:
        looked[number] = await _look(disputed[number], last, state, context, meter)

    async with together() as start:
        for number in range(len(disputed)):
            start(partial(look, number))
    changes = _without_overlaps(looked.values())
    notes = tuple(
        f"the passage “{excerpt(change.before)}” stands: {change.note}"
        for change in changes
        if change.note
    )
    if all(change.note for change in changes):
        return Written(tuple(changes), notes=notes if len(notes) > 1 else ())
    text = spliced(last.answer.text, [(c.start, c.end, c.after) for c in changes])
    answer = explained(Answer(text=text), changes, documents_of(state))
    return Written(tuple(_with_kept_claims(changes)), answer, notes)


def _without_overlaps(changes: Iterable[Change]) -> list[Change]:
    """Changes in the order of the answer; white space that two would take goes with the first."""
    apart: list[Change] = []
    for one in sorted(changes, key=lambda change: change.start):
        by = max(0, apart[-1].end - one.start) if apart else 0
        update = {"start": one.start + by, "before": one.before[by:]}
        apart.append(one.model_copy(update=update) if by else one)
    return apart


def _with_kept_claims(changes: Sequence[Change]) -> Iterable[Change]:
    """Changes that are about the claims they change; of a whole answer, the others are kept.

    A whole answer is shown with all its disputed claims. The statements that still stand in it,
    letter by letter, are not what changed: their passages were looked at and kept.
    """
    for change in changes:
        spans = [(claim, claim.claim.passage) for claim in change.claims]
        kept = [
            (claim, span)
            for claim, span in spans
            if change.whole and span and change.before[slice(*span)] in change.after
        ]
        if not change.differs or not kept or len(kept) == len(spans):
            yield change
            continue
        about = tuple(claim for claim, span in spans if (claim, span) not in kept)
        yield change.model_copy(update={"claims": about})
        for claim, (start, end) in kept:
            before = change.before[start:end]
            span = {"start": start, "end": end, "before": before, "after": before}
            update = {"action": RevisionAction.KEEP, "whole": False, "claims": (claim,)}
            yield change.model_copy(update=span | update | {"reason": None})


def explained(answer: Answer, changes: Sequence[Change], documents: Sequence[Document]) -> Answer:
    """An answer with the reasons of the changes that were applied to it."""
    reasons = dict.fromkeys(change.reason for change in changes if change.applied and change.reason)
    if not reasons:
        return answer
    reason = " ".join(reasons)
    cited = cited_documents(reason, [document.number for document in documents])
    return answer.model_copy(update={"justification": reason, "cited": cited})


def excerpt(passage: str) -> str:
    """The beginning of a passage, on one line."""
    folded = " ".join(passage.split())
    return folded if len(folded) <= _EXCERPT_CHARS else f"{folded[:_EXCERPT_CHARS]}…"


def _disputed(last: Attempt) -> list[_Disputed]:
    """The passages with disputed claims, the one with most at stake first, or the whole answer.

    The whole is looked at where it is one or two passages, where the disputed ones are more than
    half of it, and where no disputed claim was found in it.
    """
    if last.report is None or not last.report.disputed:
        raise ValueError("an answer is written again only where a claim is disputed")
    answer, weights = last.answer.text, last.report.weights
    claims = [
        last.report.evidence(number).excluding_zero_weight(weights)
        for number in last.report.disputed
    ]
    whole = _Disputed(Passage(0, len(answer), "whole", (0, len(answer))), tuple(claims))
    known = passages(answer)
    held = {
        p: tuple(c for c in claims if c.claim.passage and p.start <= c.claim.passage[0] < p.end)
        for p in known
    }
    disputed = [_Disputed(passage, claims) for passage, claims in held.items() if claims]
    length = sum(p.end - p.start for p, _ in disputed)
    if len(known) <= _FEW or not disputed or 2 * length > sum(p.end - p.start for p in known):
        return [whole]
    return sorted(disputed, key=lambda one: claims.index(one.claims[0]))


async def _look(
    disputed: _Disputed, last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> Change:
    answer, passage = last.answer.text, disputed.passage
    actions = _actions(passage, context)
    fields = ("question", "before", "after", "passage", "disputes", "ways")
    ours = context.prompts.render("revise", **dict.fromkeys(fields, ""))

    def read(reply: str) -> Revised:
        revised = read_revision(reply, actions)
        text = unframed(revised.text, before := answer[passage.start : passage.end])
        if copied(text, ours, before):
            raise ValueError(f"the new passage, “{excerpt(text)}”, is copied from the request")
        if of_the_task(text, before):
            raise ValueError(f"the new passage, “{excerpt(text)}”, speaks of the passage itself")
        text = before_stop(text, context.answer_parameters).rstrip()
        if revised.text and not text:
            raise ValueError("a stop word of the caller leaves nothing of it")
        text = text.replace("\n", "\r\n") if "\r\n" in answer else text
        keeps = revised.action is RevisionAction.KEEP
        if not keeps and (problem := misfit(answer, passage, text)):
            raise ValueError(problem)
        return revised._replace(text=text)

    length = count_tokens(answer[passage.start : passage.end], context.generator.name).n
    try:
        async with in_time("the model"):
            revised = await answerer_of(context).reply(
                state,
                _prompt(disputed, actions, answer, state, context),
                read,
                meter,
                max_tokens=min(_MOST_TOKENS, _LEAST_TOKENS + 2 * length),
            )
    except (ProviderError, ContextWindowError, BudgetError) as error:
        return _kept(disputed, last, str(error))
    kept = _kept(disputed, last, None)
    # small models say REPLACE and repeat the passage
    repeated = revised.action is not RevisionAction.REMOVE and not differs(
        kept.before, revised.text
    )
    if revised.action is RevisionAction.KEEP or repeated:
        return kept.model_copy(update={"reason": revised.reason})
    removed = revised.action is RevisionAction.REMOVE
    start, end = passage.cut if removed else (passage.start, passage.end)
    update = {"start": start, "end": end, "before": answer[start:end], "after": revised.text}
    return kept.model_copy(update=update | {"action": revised.action, "reason": revised.reason})


def _kept(disputed: _Disputed, last: Attempt, note: str | None) -> Change:
    """The passage as it stands, with the reason where its look failed."""
    passage = disputed.passage
    before = last.answer.text[passage.start : passage.end]
    return Change(
        round=last.round + 1,
        start=passage.start,
        end=passage.end,
        before=before,
        after=before,
        action=RevisionAction.KEEP,
        whole=passage.kind == "whole",
        claims=disputed.claims,
        accepted=note is None,
        note=note,
    )


def _actions(passage: Passage, context: RunContext) -> list[RevisionAction]:
    """The actions that the model may choose from; a whole answer is never removed."""
    actions = [
        RevisionAction.REPLACE,
        RevisionAction.HEDGE,
        RevisionAction.REMOVE,
        RevisionAction.KEEP,
    ]
    if context.settings.unsettled == "keep":
        actions.remove(RevisionAction.HEDGE)
    if passage.kind == "whole":
        actions.remove(RevisionAction.REMOVE)
    return actions


def _prompt(
    disputed: _Disputed,
    actions: Sequence[RevisionAction],
    answer: str,
    state: RagState,
    context: RunContext,
) -> str:
    passage, prompts, documents = disputed.passage, context.prompts, documents_of(state)
    before, after = answer[: passage.start], answer[passage.end :]
    disputes = [
        prompts.render(
            "revise_claim",
            claim=material(claim.claim.text),
            evidence=sourced_details(claim, documents, prompts, weights_of(state)),
        )
        for claim in disputed.claims[:_MOST_CLAIMS]
    ]
    return prompts.render(
        "revise",
        question=material(state["question"]),
        before=material(before[-_AROUND_CHARS:]),
        after=material(after[:_AROUND_CHARS]),
        passage=material(answer[passage.start : passage.end]),
        disputes="\n\n".join(disputes),
        ways="\n".join(
            prompts.render(
                "revise_keep_unsettled"
                if action is RevisionAction.KEEP and RevisionAction.HEDGE not in actions
                else f"revise_{action}"
            )
            for action in actions
        ),
    )
